// Element types: ONNX's numbers and names, and the two 16-bit floats that C++20 lacks.
//
//   static_assert(dtype_of<float16> == DType::float16);
//   float one = to_float(float16{0x3c00});
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace graft {

/// Names the element types with the numbers of ONNX's TensorProto.DataType, which are ORT's too.
enum class DType : int32_t {
  none = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16,
};

/// Holds an IEEE 754 binary16 value. Arithmetic is done in float.
struct float16 {
  uint16_t bits;
  friend constexpr bool operator==(float16, float16) = default;
};

/// Holds the upper half of an IEEE 754 binary32 value. Arithmetic is done in float.
struct bfloat16 {
  uint16_t bits;
  friend constexpr bool operator==(bfloat16, bfloat16) = default;
};

/// Converts exactly.
constexpr float to_float(bfloat16 h) { return std::bit_cast<float>(uint32_t{h.bits} << 16); }

/// Converts exactly, subnormals, infinities and NaN included.
constexpr float to_float(float16 h) {
  const uint32_t sign = uint32_t(h.bits & 0x8000u) << 16;
  const uint32_t magnitude = uint32_t(h.bits & 0x7fffu) << 13;
  // Multiplying by 2^112 rebiases the exponent and normalises subnormals; infinity and NaN are put back by hand.
  uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  bits = magnitude >= 0x0f800000u ? (0x7f800000u | (magnitude & 0x7fffffu)) : bits;
  return std::bit_cast<float>(bits | sign);
}

/// Rounds to nearest, ties to even; a NaN stays a NaN.
constexpr bfloat16 to_bfloat16(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  const uint32_t rounded = u + 0x7fffu + ((u >> 16) & 1u);
  u = (u & 0x7fffffffu) > 0x7f800000u ? (u | 0x400000u) : rounded;
  return {uint16_t(u >> 16)};
}

/// Rounds to nearest, ties to even; too large becomes infinity, a NaN stays a NaN.
constexpr float16 to_float16(float f) {
  const uint32_t u = std::bit_cast<uint32_t>(f);
  const uint32_t sign = u & 0x80000000u;
  const uint32_t a = u ^ sign;
  const uint32_t normal = (a + 0xfffu + ((a >> 13) & 1u) - 0x38000000u) >> 13;
  // Adding 0.5 lets the float adder round to the subnormal grid of 2^-24.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(a) + 0.5f) - 0x3f000000u;
  uint32_t r = a < 0x38800000u ? subnormal : normal;
  r = a >= 0x477ff000u ? 0x7c00u : r;
  r = a > 0x7f800000u ? (0x7e00u | ((a >> 13) & 0x3ffu)) : r;
  return {uint16_t(r | (sign >> 16))};
}

namespace detail {
template <class T>
constexpr DType find_dtype() {
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  else if constexpr (std::is_same_v<T, double>) return DType::float64;
  else if constexpr (std::is_same_v<T, float16>) return DType::float16;
  else if constexpr (std::is_same_v<T, bfloat16>) return DType::bfloat16;
  else if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  else if constexpr (std::is_same_v<T, std::string>) return DType::string;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 1 ? DType::int8 : sizeof(T) == 2 ? DType::int16 : sizeof(T) == 4 ? DType::int32 : DType::int64;
  else if constexpr (std::is_integral_v<T>)
    return sizeof(T) == 1 ? DType::uint8 : sizeof(T) == 2 ? DType::uint16 : sizeof(T) == 4 ? DType::uint32 : DType::uint64;
  else return DType::none;
}
}  // namespace detail

/// Is the element type that holds a T; DType::none when no tensor can hold one.
template <class T>
inline constexpr DType dtype_of = detail::find_dtype<T>();

/// A type that is an element of a tensor.
template <class T>
concept Element = dtype_of<T> != DType::none;

/// Gives the name that ORT and ONNX print in `tensor(...)`: "float", "double", "int64", ...
constexpr std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::none: return "none";
    case DType::float32: return "float";
    case DType::uint8: return "uint8";
    case DType::int8: return "int8";
    case DType::uint16: return "uint16";
    case DType::int16: return "int16";
    case DType::int32: return "int32";
    case DType::int64: return "int64";
    case DType::string: return "string";
    case DType::boolean: return "bool";
    case DType::float16: return "float16";
    case DType::float64: return "double";
    case DType::uint32: return "uint32";
    case DType::uint64: return "uint64";
    case DType::bfloat16: return "bfloat16";
  }
  return "unknown";
}

/// Gives the bytes of one element; 0 for strings, whose elements are objects.
constexpr size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::none:
    case DType::string: return 0;
    case DType::boolean:
    case DType::int8:
    case DType::uint8: return 1;
    case DType::float16:
    case DType::bfloat16:
    case DType::int16:
    case DType::uint16: return 2;
    case DType::float32:
    case DType::int32:
    case DType::uint32: return 4;
    case DType::float64:
    case DType::int64:
    case DType::uint64: return 8;
  }
  return 0;
}

/// Is the type that an element is computed in: float for float16 and bfloat16, else the element itself.
template <class T>
using compute_t = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

}  // namespace graft
