// Arithmetic that has a result for all numbers of a type: integers wrap, and division by zero gives 0. mod and fmod.
//
//   constexpr int32_t column(int32_t i, int32_t width) { return graft::mod(i, width); }    // of negative i too
#pragma once

#include <cmath>
#include <type_traits>

#include "graft/math/parts.h"

namespace graft {

namespace math_detail {
template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
/// Is what an integer is computed in, so that it wraps: no smaller than unsigned, which is not promoted.
template <class T>
using wrapping_t = std::conditional_t<sizeof(T) == 8, u64, u32>;

template <class T> GRAFT_INLINE constexpr T add(T a, T b) {
  if constexpr (Integer<T>) return T(wrapping_t<T>(a) + wrapping_t<T>(b));
  else return a + b;
}
template <class T> GRAFT_INLINE constexpr T subtract(T a, T b) {
  if constexpr (Integer<T>) return T(wrapping_t<T>(a) - wrapping_t<T>(b));
  else return a - b;
}
template <class T> GRAFT_INLINE constexpr T multiply(T a, T b) {
  if constexpr (Integer<T>) return T(wrapping_t<T>(a) * wrapping_t<T>(b));
  else return a * b;
}
template <class T> GRAFT_INLINE constexpr T negate(T a) {
  if constexpr (Integer<T>) return T(wrapping_t<T>(0) - wrapping_t<T>(a));
  else return -a;
}
/// Says whether b is -1: the least integer has no quotient by it, and the processor stops there.
template <class T> GRAFT_INLINE constexpr bool is_minus_one(T b) {
  if constexpr (std::is_signed_v<T>) return b == T(-1);
  else return false;
}
/// Divides towards zero by what is neither 0 nor -1. No processor here divides vectors of integers, but all divide vectors
/// of doubles, and the quotient of integers of 32 bits is exact after its rounding.
template <class T> GRAFT_INLINE constexpr T quotient(T a, T b) {
  if constexpr (sizeof(T) <= 4) return T(double(a) / double(b));
  else return T(a / b);
}
/// Divides towards zero; by 0 gives 0, and the least integer by -1 wraps.
template <class T> GRAFT_INLINE constexpr T divide(T a, T b) {
  if constexpr (Integer<T>) {
    const bool negated = is_minus_one(b);
    const T q = quotient(a, b == 0 || negated ? T(1) : b);
    const T y = negated ? negate(a) : q;
    return b == 0 ? T(0) : y;
  } else {
    return a / b;
  }
}
}  // namespace math_detail

/// Computes the remainder of division towards zero, with the sign of the dividend: ONNX's Mod with fmod 1. By 0 gives 0.
template <math_detail::Integer T> GRAFT_INLINE constexpr T fmod(T a, T b) {
  using namespace math_detail;
  const T divisor = b == 0 || is_minus_one(b) ? T(1) : b;
  const T y = subtract(a, multiply(quotient(a, divisor), divisor));
  return b == 0 ? T(0) : y;
}
/// Computes the remainder of division towards minus infinity, with the sign of the divisor: ONNX's Mod. By 0 gives 0.
template <math_detail::Integer T> GRAFT_INLINE constexpr T mod(T a, T b) {
  const T y = fmod(a, b);
  return y != 0 && (y < 0) != (b < 0) ? math_detail::add(y, b) : y;
}

// The exact remainder takes a loop of its own; the standard library has it.
constexpr float fmod(float x, float y) { return math_detail::at_run_time(x), std::fmod(x, y); }
constexpr double fmod(double x, double y) { return math_detail::at_run_time(x), std::fmod(x, y); }

}  // namespace graft
