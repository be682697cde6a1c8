// exp, exp2 and expm1.
//
//   constexpr float decay(float t, float rate) { return graft::exp(-rate * t); }
#pragma once

#include <cmath>

#include "graft/math/parts.h"

namespace graft {

GRAFT_INLINE constexpr float exp(float x) {
  using namespace math_detail;
  constexpr float magic = kRound + 254.f;
  float t = x * kLog2e + magic;
  float n = t - magic;
  float r = x - n * kLn2Hi;
  r = r - n * kLn2Lo;
  float y = scale(expm1_poly(r), t);
  y = x > 89.f ? kInf : y;
  return x < -104.f ? 0.f : y;
}

GRAFT_INLINE constexpr float exp2(float x) {
  using namespace math_detail;
  constexpr float magic = kRound + 254.f;
  float t = x + magic;
  float r = x - (t - magic);
  float y = scale(exp2m1_poly(r), t);
  y = x >= 128.f ? kInf : y;
  return x < -150.f ? 0.f : y;
}

// e^x - 1 = 2 (s*w + (s - 1/2)), s = 2^(n-1): the difference is exact where it matters.
GRAFT_INLINE constexpr float expm1(float x) {
  using namespace math_detail;
  constexpr float magic = kRound + 126.f;
  float t = x * kLog2e + magic;
  float n = t - magic;
  float r = x - n * kLn2Hi;
  r = r - n * kLn2Lo;
  float s = pow2(t), w = expm1_poly(r);
  float y = s * w + (s - 0.5f);
  y = y + y;
  y = x > 89.f ? kInf : y;
  y = x < -18.f ? -1.f : y;
  return magnitude(x) < 0x1p-25f ? x : y;  // subnormals and the sign of zero
}

constexpr double exp(double x) { return math_detail::at_run_time(x), std::exp(x); }
constexpr double exp2(double x) { return math_detail::at_run_time(x), std::exp2(x); }
constexpr double expm1(double x) { return math_detail::at_run_time(x), std::expm1(x); }

}  // namespace graft
