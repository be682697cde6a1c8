#include "runtime/tensor.h"

#include <fmt/format.h>
#include <graft/dtype.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace graft::runtime {
namespace {

struct TypeRow {
  DataType type;
  std::string_view name;
  size_t size;
};

constexpr TypeRow type_rows[] = {
    {DataType::float32, "float", 4},
    {DataType::uint8, "uint8", 1},
    {DataType::int8, "int8", 1},
    {DataType::uint16, "uint16", 2},
    {DataType::int16, "int16", 2},
    {DataType::int32, "int32", 4},
    {DataType::int64, "int64", 8},
    {DataType::string, "string", 0},
    {DataType::boolean, "bool", 1},
    {DataType::float16, "float16", 2},
    {DataType::float64, "double", 8},
    {DataType::uint32, "uint32", 4},
    {DataType::uint64, "uint64", 8},
    {DataType::complex64, "complex64", 8},
    {DataType::complex128, "complex128", 16},
    {DataType::bfloat16, "bfloat16", 2},
    {DataType::float8e4m3fn, "float8e4m3fn", 1},
    {DataType::float8e4m3fnuz, "float8e4m3fnuz", 1},
    {DataType::float8e5m2, "float8e5m2", 1},
    {DataType::float8e5m2fnuz, "float8e5m2fnuz", 1},
    {DataType::uint4, "uint4", 0},
    {DataType::int4, "int4", 0},
};

/// Calls `use` with a zero of the C++ type that stores the elements; 16-bit floats and bool have no number of
/// their own.
template <class Use> bool with_integer_or_float(DataType type, Use use) {
  switch (type) {
    case DataType::float32:
      use(float{});
      return true;
    case DataType::float64:
      use(double{});
      return true;
    case DataType::int8:
      use(int8_t{});
      return true;
    case DataType::uint8:
      use(uint8_t{});
      return true;
    case DataType::int16:
      use(int16_t{});
      return true;
    case DataType::uint16:
      use(uint16_t{});
      return true;
    case DataType::int32:
      use(int32_t{});
      return true;
    case DataType::uint32:
      use(uint32_t{});
      return true;
    case DataType::int64:
      use(int64_t{});
      return true;
    case DataType::uint64:
      use(uint64_t{});
      return true;
    default:
      return false;
  }
}

/// Calls `use` with the C++ type of an 8-bit float.
template <class Use> bool with_float8(DataType type, Use use) {
  switch (type) {
    case DataType::float8e4m3fn:
      use(graft::float8e4m3fn{});
      return true;
    case DataType::float8e4m3fnuz:
      use(graft::float8e4m3fnuz{});
      return true;
    case DataType::float8e5m2:
      use(graft::float8e5m2{});
      return true;
    case DataType::float8e5m2fnuz:
      use(graft::float8e5m2fnuz{});
      return true;
    default:
      return false;
  }
}

/// Gives one of the two 4-bit integers of a byte; the first lies in the low bits.
int nibble(const Tensor& tensor, size_t index) {
  const auto bits = static_cast<int>(tensor.bytes[index / 2]) >> (index % 2 * 4) & 0xf;
  return tensor.type == DataType::int4 && bits > 7 ? bits - 16 : bits;
}

void set_nibble(Tensor& tensor, size_t index, double value) {
  const bool is_signed = tensor.type == DataType::int4;
  const double whole =
      std::isnan(value) ? 0 : std::clamp(std::trunc(value), is_signed ? -8.0 : 0.0, is_signed ? 7.0 : 15.0);
  const auto bits = static_cast<unsigned>(static_cast<int>(whole)) & 0xfu;
  const auto shift = static_cast<unsigned>(index % 2 * 4);
  std::byte& both = tensor.bytes[index / 2];
  both = (both & ~(std::byte{0xf} << shift)) | (static_cast<std::byte>(bits) << shift);
}

[[noreturn]] void refuse(DataType type) {
  throw std::invalid_argument(fmt::format("elements of type {} are no numbers here", type_name(type)));
}

/// Rounds a double to an integer type: towards zero as a cast does, at the ends instead of wrapping round.
template <class T> T to_integer(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

/// Rounds a double to a 16-bit format once: a float in between would round twice, so it is made odd where it
/// is not exact (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
float rounded_to_odd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(nearest) || static_cast<double>(nearest) == value) return nearest;
  if (std::abs(static_cast<double>(nearest)) > std::abs(value))
    nearest = std::nextafter(nearest, 0.0f);  // now truncated
  return std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) | 1u);
}

}  // namespace

std::string_view type_name(DataType type) {
  for (const TypeRow& row : type_rows) {
    if (row.type == type) return row.name;
  }
  return "undefined";
}

DataType type_from_name(std::string_view name) {
  for (const TypeRow& row : type_rows) {
    if (row.name == name) return row.type;
  }
  return DataType::undefined;
}

size_t element_size(DataType type) {
  for (const TypeRow& row : type_rows) {
    if (row.type == type) return row.size;
  }
  return 0;
}

bool is_floating(DataType type) {
  switch (type) {
    case DataType::float32:
    case DataType::float64:
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
      return true;
    default:
      return false;
  }
}

size_t element_count(const Shape& shape) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

Tensor Tensor::zeros(DataType type, Shape shape) {
  Tensor tensor{type, std::move(shape), {}, {}};
  if (type == DataType::string) {
    tensor.strings.resize(tensor.count());
  } else if (type == DataType::uint4 || type == DataType::int4) {
    tensor.bytes.resize((tensor.count() + 1) / 2);
  } else {
    tensor.bytes.resize(tensor.count() * element_size(type));
  }
  return tensor;
}

float float16_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in float
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

uint16_t float_to_float16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const float magnitude = std::abs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00u | ((bits >> 13) & 0x1ffu));
  if (magnitude >= 65520.0f) return sign | 0x7c00u;  // halfway beyond the largest finite 65504
  if (magnitude < 0x1p-14f) {  // subnormal: a multiple of 2^-24, nearbyint rounds ties to even
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24f)));
  }
  const uint32_t shifted = std::bit_cast<uint32_t>(magnitude) - (112u << 23);
  const uint32_t rounded = shifted + 0xfffu + ((shifted >> 13) & 1u);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

double element_as_double(const Tensor& tensor, size_t index) {
  double value = 0;
  if (with_integer_or_float(tensor.type, [&](auto zero) {
        value = static_cast<double>(tensor.values<decltype(zero)>()[index]);
      })) {
    return value;
  }
  if (with_float8(tensor.type, [&](auto zero) {
        using T = decltype(zero);
        value = static_cast<double>(graft::to_float(T{static_cast<uint8_t>(tensor.bytes[index])}));
      })) {
    return value;
  }
  switch (tensor.type) {
    case DataType::uint4:
    case DataType::int4:
      return nibble(tensor, index);
    case DataType::boolean:
      return tensor.values<uint8_t>()[index] != 0 ? 1 : 0;
    case DataType::float16:
      return static_cast<double>(float16_to_float(tensor.values<uint16_t>()[index]));
    case DataType::bfloat16:
      return static_cast<double>(bfloat16_to_float(tensor.values<uint16_t>()[index]));
    case DataType::string:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      refuse(tensor.type);
  }
}

void set_element(Tensor& tensor, size_t index, double value) {
  const bool done = with_integer_or_float(tensor.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      tensor.values<T>()[index] = static_cast<T>(value);
    } else {
      tensor.values<T>()[index] = to_integer<T>(value);
    }
  });
  if (done) return;
  if (with_float8(tensor.type, [&](auto zero) {
        using T = decltype(zero);
        tensor.bytes[index] = static_cast<std::byte>(graft::to_float8<T>(rounded_to_odd(value)).bits);
      }))
    return;
  switch (tensor.type) {
    case DataType::uint4:
    case DataType::int4:
      set_nibble(tensor, index, value);
      break;
    case DataType::boolean:
      tensor.values<uint8_t>()[index] = value != 0;
      break;
    case DataType::float16:
      tensor.values<uint16_t>()[index] = float_to_float16(rounded_to_odd(value));
      break;
    case DataType::bfloat16:
      tensor.values<uint16_t>()[index] = float_to_bfloat16(rounded_to_odd(value));
      break;
    default:
      refuse(tensor.type);
  }
}

Tensor convert(const Tensor& tensor, DataType type) {
  if (tensor.type == type) return tensor;
  Tensor result = Tensor::zeros(type, tensor.shape);
  if (tensor.type == DataType::string || type == DataType::string) refuse(DataType::string);
  const size_t count = tensor.count();
  for (size_t i = 0; i < count; ++i) set_element(result, i, element_as_double(tensor, i));
  return result;
}

}  // namespace graft::runtime
