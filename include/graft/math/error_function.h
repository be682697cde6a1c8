// erf, and the activation that it gates: gelu.
//
//   constexpr float normal_cdf(float x) { return 0.5f + 0.5f * graft::erf(x * 0.70710678f); }
#pragma once

#include <cmath>

#include "graft/math/parts.h"

namespace graft {

// |x| < 1: x + x*P(x^2).  Otherwise 1 - 2^-q(|x|), q a polynomial for -log2(erfc).
GRAFT_INLINE constexpr float erf(float x) {
  using namespace math_detail;
  float a = magnitude(x), z = x * x;
  float z2 = z * z;
  float p0 = -0x1.812670p-2f * z + 0x1.06eba2p-3f;
  float p1 = -0x1.b59f52p-6f * z + 0x1.ce08bep-4f;
  float p2 = -0x1.272ecap-11f * z + 0x1.423ba6p-8f;
  float small = ((p2 * z2 + p1) * z2 + p0) * a + a;
  float q0 = 0x1.9cb416p+0f * a + 0x1.f936eep-9f;
  float q1 = 0x1.05e1cep-3f * a + 0x1.e371dap-1f;
  float q2 = 0x1.b31560p-10f * a - 0x1.5d4ff8p-6f;
  float q = (q2 * z + q1) * z + q0;
  constexpr float magic = kRound + 127.f;
  float t = magic - q;
  float r = (magic - t) - q;
  float r2 = r * r;
  float e = 0x1.3cf19ep-7f * r + 0x1.c6b5c6p-5f;
  e = 0x1.5c63a8p-10f * r2 + e;
  e = e * r2 + 0x1.ebf9a0p-3f * r + 0x1.62e42ap-1f;
  e = e * r + 1.f;
  float y = 1.f - e * pow2(t);
  y = a < 1.f ? small : y;
  y = a > 3.95f ? 1.f : y;
  return with_sign_of(y, x);
}

// gelu(x) = relu(x) - g(|x|), g(a) = a Phi(-a) = e^(-a^2/2) m P(m), m = a/(a+k); k = 3.4375 makes P a short
// polynomial. In the left tail m P(m) is nearly constant, so an error of m cancels. a^2 = h^2 + d (2h+d) with
// h^2 exact keeps the relative accuracy of e^(-a^2/2) there.
GRAFT_INLINE constexpr float gelu(float x) {
  using namespace math_detail;
  constexpr float magic = kRound + (127.f + 32.f);
  float a = magnitude(x);
  float h = real(bits(a) & 0xfffff000u), d = a - h;
  float z = h * h;
  float t = z * (-0.5f * kLog2e) + magic;
  float n = t - magic;
  float r = (-0.5f * z - n * kLn2Hi) - (d * (0.5f * d + h) + n * kLn2Lo);
  float s = pow2(t), w = expm1_poly(r);
  float m = a / (a + 3.4375f), v = m - 0.5f, v2 = v * v;
  float p0 = -0x1.1e6840p+0f * v + 0x1.7c4e3ap-1f;
  float p1 = -0x1.b71862p-1f * v + 0x1.38d774p+0f;
  float p2 = 0x1.dc38dep-3f * v + 0x1.a7ef66p-3f;
  float p3 = -0x1.68bfd2p-4f * v - 0x1.67576ep-3f;
  float p4 = 0x1.0c5e18p-4f * v + 0x1.8b0a40p-4f;
  float q = ((((p4 * v2 + p3) * v2 + p2) * v2 + p1) * v2 + p0) * m;
  float g = (q * w + q) * s;
  float p = x >= 0.f ? x : x * 0.f;  // NaN at minus infinity, as in the definition
  float y = p - g * 0x1p-32f;
  return a > 14.6f ? p : y;
}

constexpr double erf(double x) { return math_detail::at_run_time(x), std::erf(x); }
/// Computes x*Phi(x); erfc keeps the digits that 1 + erf loses in the left tail.
constexpr double gelu(double x) {
  return math_detail::at_run_time(x), 0.5 * x * std::erfc(-x * 0.70710678118654752440);
}

}  // namespace graft
