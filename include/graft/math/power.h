// pow, sqrt, rsqrt and reciprocal.
//
//   constexpr float gamma(float x) { return graft::pow(x, 1 / 2.2f); }
#pragma once

#include <cmath>
#include <type_traits>

#include "graft/math/parts.h"

namespace graft {

namespace math_detail {
// Newton's iteration from above, for constant expressions; within a unit of double's last place.
GRAFT_INLINE constexpr double constant_sqrt(double x) {
  if (x < 0) return double(kNaN);
  if (!(x > 0 && x < double(kInf))) return x;
  double y = x < 1 ? 1 : x;
  for (double next = (y + x / y) / 2; next < y; next = (y + x / y) / 2) y = next;
  return y;
}
}  // namespace math_detail

GRAFT_INLINE constexpr float sqrt(float x) {
  if (std::is_constant_evaluated()) return float(math_detail::constant_sqrt(double(x)));
  return __builtin_sqrtf(x);
}
GRAFT_INLINE constexpr float rsqrt(float x) { return 1.f / sqrt(x); }
GRAFT_INLINE constexpr float reciprocal(float x) { return 1.f / x; }

namespace math_detail {
// A condition as bits: g++ does not vectorise bool arithmetic over operands of several widths.
GRAFT_INLINE constexpr u32 mask(bool condition) { return condition ? ~0u : 0u; }
}  // namespace math_detail

// |x|^y = 2^t, t = y log2|x|; an error of t is a relative error of the result, so t is taken in double,
// relative error 2^-37. log2(2^e (1+f)) = e + s P(s^2), s = f/(2+f).
GRAFT_INLINE constexpr float pow(float x, float y) {
  using namespace math_detail;
  float a = magnitude(x), b = magnitude(y);
  float k = a < 0x1p-126f ? 0x1p23f : 1.f;  // subnormal base
  u32 i = bits(a * k) - bits(k) + (0x3f800000u - 0x3f3504f3u);
  float e = float(i32(i) >> 23);
  e = a > 0.f ? e : -kInf;
  e = a < kInf ? e : a;
  double f = double(real((i & 0x7fffffu) + 0x3f3504f3u) - 1.f);
  double s = f / (f + 2.), z = s * s;
  double p = (0x1.5cea88ce577a0p-2 * z + 0x1.a58d6bcc19992p-2) * (z * z) +
             (0x1.27778022ca822p-1 * z + 0x1.ec709d1286b36p-1);
  p = p * z + 0x1.71547652bee29p+1;
  double t =
      (p * s + double(e)) * double(b == kInf ? with_sign_of(0x1p127f, y) : y);  // no 0*infinity at |x| = 1
  double n = (t + 0x1.8p52) - 0x1.8p52;
  float m = float(n);
  float r = float(t - n);
  float result = scale(exp2m1_poly(r), m + (kRound + 254.f));
  result = m > 128.f ? kInf : result;
  result = m < -151.f ? 0.f : result;
  // A negative base takes the sign of an odd exponent, and has no value for one that is not whole.
  float half = 0.5f * b;
  u32 whole = mask(b >= 0x1p23f) | mask((b + 0x1p23f) - 0x1p23f == b);
  u32 even = mask(b >= 0x1p24f) | mask((half + 0x1p23f) - 0x1p23f == half);
  u32 without_value = mask(x < 0.f) & mask(a < kInf) & ~whole;
  result = real(bits(result) | (bits(x) & whole & ~even & kSign) | (without_value & bits(kNaN)));
  result = x == 1.f ? 1.f : result;
  return y == 0.f ? 1.f : result;
}

GRAFT_INLINE constexpr double sqrt(double x) {
  if (std::is_constant_evaluated()) return math_detail::constant_sqrt(x);
  return __builtin_sqrt(x);
}
GRAFT_INLINE constexpr double rsqrt(double x) { return 1 / sqrt(x); }
GRAFT_INLINE constexpr double reciprocal(double x) { return 1 / x; }
constexpr double pow(double x, double y) { return math_detail::at_run_time(x), std::pow(x, y); }

}  // namespace graft
