// floor, ceil and round (to even), abs, sign, relu, min, max and clamp: as ONNX defines them at NaN and signed zero.
//
//   constexpr float fraction(float x) { return x - graft::floor(x); }
#pragma once

#include <type_traits>

#include "graft/math/parts.h"

namespace graft {

GRAFT_INLINE constexpr float abs(float x) { return math_detail::magnitude(x); }
GRAFT_INLINE constexpr double abs(double x) { return x < 0 ? -x : x == 0 ? 0.0 : x; }

namespace math_detail {
GRAFT_INLINE constexpr double magnitude(double x) { return from_bits(bits(x) & ~(u64(1) << 63)); }
GRAFT_INLINE constexpr double with_sign_of(double a, double x) {
  return from_bits(bits(a) | (bits(x) & (u64(1) << 63)));
}

// From `whole` on every number is whole, and what it is added to is rounded to a whole number, a tie to the
// even one.
template <class T> GRAFT_INLINE constexpr T to_whole(T x) {
  constexpr T whole = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  const T a = magnitude(x);
  const T y = (a + whole) - whole;
  return with_sign_of(a < whole ? y : a, x);
}
template <class T> GRAFT_INLINE constexpr T down_to_whole(T x) {
  const T y = to_whole(x);
  return with_sign_of(y - (y > x ? T(1) : T(0)), x);
}
template <class T> GRAFT_INLINE constexpr T up_to_whole(T x) {
  const T y = to_whole(x);
  return with_sign_of(y + (y < x ? T(1) : T(0)), x);
}
}  // namespace math_detail

/// Rounds to the nearest whole number, a tie to the even one, as ONNX's Round (std::round rounds a tie away
/// from zero).
GRAFT_INLINE constexpr float round(float x) { return math_detail::to_whole(x); }
GRAFT_INLINE constexpr double round(double x) { return math_detail::to_whole(x); }
/// Rounds down to a whole number.
GRAFT_INLINE constexpr float floor(float x) { return math_detail::down_to_whole(x); }
GRAFT_INLINE constexpr double floor(double x) { return math_detail::down_to_whole(x); }
/// Rounds up to a whole number.
GRAFT_INLINE constexpr float ceil(float x) { return math_detail::up_to_whole(x); }
GRAFT_INLINE constexpr double ceil(double x) { return math_detail::up_to_whole(x); }

/// Computes the larger one; NaN when either is NaN, as ONNX's Max.
template <class T>
  requires std::is_arithmetic_v<T>
GRAFT_INLINE constexpr T max(T a, T b) {
  return a > b || a != a ? a : b;
}
/// Computes the smaller one; NaN when either is NaN, as ONNX's Min.
template <class T>
  requires std::is_arithmetic_v<T>
GRAFT_INLINE constexpr T min(T a, T b) {
  return a < b || a != a ? a : b;
}
/// Limits x to [low, high]; a NaN stays a NaN, as in ONNX's Clip.
template <class T>
  requires std::is_arithmetic_v<T>
GRAFT_INLINE constexpr T clamp(T x, T low, T high) {
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}
/// Computes 1 for positive numbers, -1 for negative ones, 0 for zeros of both signs; a NaN stays one, as in ONNX's Sign.
template <class T>
  requires std::is_arithmetic_v<T>
GRAFT_INLINE constexpr T sign(T x) {
  const T y = x > 0 ? T(1) : x + T(0);  // -0 becomes 0
  return y < 0 ? T(-1) : y;
}
/// Replaces negative numbers by 0; a NaN stays a NaN, as in ONNX's Relu.
template <class T>
  requires std::is_arithmetic_v<T>
GRAFT_INLINE constexpr T relu(T x) {
  return x < 0 ? T(0) : x;
}
/// Says whether x is a NaN.
template <class T>
  requires std::is_floating_point_v<T>
GRAFT_INLINE constexpr bool isnan(T x) {
  return x != x;
}
/// Says whether x is an infinity, of either sign.
template <class T>
  requires std::is_floating_point_v<T>
GRAFT_INLINE constexpr bool isinf(T x) {
  return abs(x) == T(math_detail::kInf);
}

}  // namespace graft
