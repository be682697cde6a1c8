// Element types: ONNX's numbers and names, and the two 16-bit floats that C++20 lacks.
//
//   static_assert(dtype_of<float16> == DType::float16);
//   float one = to_float(float16{0x3c00});
#pragma once

#include <algorithm>
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
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
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

/// Holds an 8-bit float, for storage: 1 sign bit, E exponent bits with this bias, M fraction bits. "FN" has no infinity;
/// "UZ" has one zero and one NaN (ONNX, float stored in 8 bits).
template <int E, int M, int Bias, bool Infinity, bool UnsignedZero>
struct Float8 {
  static constexpr int exponent_bits = E, fraction_bits = M, bias = Bias;
  static constexpr bool infinity = Infinity, unsigned_zero = UnsignedZero;
  static constexpr uint8_t nan = UnsignedZero ? 0x80 : 0x7f;
  /// The largest finite number.
  static constexpr uint8_t largest = UnsignedZero ? 0x7f : Infinity ? 0x7b : 0x7e;

  uint8_t bits;
  friend constexpr bool operator==(Float8, Float8) = default;
};
using float8e4m3fn = Float8<4, 3, 7, false, false>;
using float8e4m3fnuz = Float8<4, 3, 8, false, true>;
using float8e5m2 = Float8<5, 2, 15, true, false>;
using float8e5m2fnuz = Float8<5, 2, 16, false, true>;

namespace detail {
/// Gives 2^exponent, for exponents of normal floats.
constexpr float power_of_two(int exponent) { return std::bit_cast<float>(uint32_t(exponent + 127) << 23); }
}  // namespace detail

/// Converts exactly.
template <int E, int M, int B, bool I, bool U>
constexpr float to_float(Float8<E, M, B, I, U> h) {
  const int magnitude = h.bits & 0x7f, exponent = magnitude >> M, fraction = magnitude & ((1 << M) - 1);
  if (U ? h.bits == 0x80 : I ? exponent == (1 << E) - 1 && fraction != 0 : magnitude == 0x7f) return __builtin_nanf("");
  const float sign = h.bits & 0x80 ? -1.f : 1.f;
  if (I && exponent == (1 << E) - 1) return sign * __builtin_inff();
  return exponent ? sign * float((1 << M) + fraction) * detail::power_of_two(exponent - B - M)
                  : sign * float(fraction) * detail::power_of_two(1 - B - M);
}

/// Rounds to nearest, ties to even; what is too large becomes the largest finite number, as ONNX's Cast does, a NaN a NaN.
template <class T>
constexpr T to_float8(float f) {
  constexpr int M = T::fraction_bits;
  if (f != f) return {T::nan};
  const uint32_t u = std::bit_cast<uint32_t>(f);
  const uint8_t sign = uint8_t((u >> 24) & 0x80u);
  const float a = std::bit_cast<float>(u & 0x7fffffffu);
  if (a >= to_float(T{T::largest})) return {uint8_t(sign | T::largest)};
  const int exponent = std::max(int((u >> 23) & 0xffu) - 127, 1 - T::bias);
  int unit = exponent - M;  // one step between neighbours is 2^unit
  const float steps = (a * detail::power_of_two(-unit) + 12582912.f) - 12582912.f;  // rounded by the adder
  int n = int(steps);
  if (n == 2 << M) n >>= 1, ++unit;
  const int code = n >= (1 << M) ? ((unit + M + T::bias) << M) + (n - (1 << M)) : n;
  return {uint8_t(code == 0 && T::unsigned_zero ? 0 : code | sign)};
}

/// Names the 4-bit integers as elements: two share a byte, so an In<int4> gives values and an Out<int4> is written by
/// `set`. They hold -8 to 7 and 0 to 15.
struct int4 {};
struct uint4 {};

namespace detail {
template <class T>
constexpr DType find_dtype() {
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  else if constexpr (std::is_same_v<T, double>) return DType::float64;
  else if constexpr (std::is_same_v<T, float16>) return DType::float16;
  else if constexpr (std::is_same_v<T, bfloat16>) return DType::bfloat16;
  else if constexpr (std::is_same_v<T, float8e4m3fn>) return DType::float8e4m3fn;
  else if constexpr (std::is_same_v<T, float8e4m3fnuz>) return DType::float8e4m3fnuz;
  else if constexpr (std::is_same_v<T, float8e5m2>) return DType::float8e5m2;
  else if constexpr (std::is_same_v<T, float8e5m2fnuz>) return DType::float8e5m2fnuz;
  else if constexpr (std::is_same_v<T, int4>) return DType::int4;
  else if constexpr (std::is_same_v<T, uint4>) return DType::uint4;
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
    case DType::float8e4m3fn: return "float8e4m3fn";
    case DType::float8e4m3fnuz: return "float8e4m3fnuz";
    case DType::float8e5m2: return "float8e5m2";
    case DType::float8e5m2fnuz: return "float8e5m2fnuz";
    case DType::uint4: return "uint4";
    case DType::int4: return "int4";
  }
  return "unknown";
}

/// Gives the bits of one element; 0 for strings, whose elements are objects.
constexpr size_t dtype_bits(DType dtype) {
  switch (dtype) {
    case DType::none:
    case DType::string: return 0;
    case DType::uint4:
    case DType::int4: return 4;
    case DType::boolean:
    case DType::int8:
    case DType::uint8:
    case DType::float8e4m3fn:
    case DType::float8e4m3fnuz:
    case DType::float8e5m2:
    case DType::float8e5m2fnuz: return 8;
    case DType::float16:
    case DType::bfloat16:
    case DType::int16:
    case DType::uint16: return 16;
    case DType::float32:
    case DType::int32:
    case DType::uint32: return 32;
    case DType::float64:
    case DType::int64:
    case DType::uint64: return 64;
  }
  return 0;
}

/// Is a type whose elements are stored, and computed with only after a conversion of the operator's own.
template <class T>
inline constexpr bool is_storage_only = dtype_of<T> >= DType::float8e4m3fn;

/// Is the type that an element is computed in: float for float16 and bfloat16, else the element itself.
template <class T>
using compute_t = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

}  // namespace graft
