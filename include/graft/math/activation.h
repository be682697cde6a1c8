// sigmoid, tanh, softplus, and what they gate: silu, gelu_tanh, mish.
//
//   constexpr float swish(float x, float beta) { return x * graft::sigmoid(beta * x); }
#pragma once

#include <cmath>

#include "graft/math/exponential.h"
#include "graft/math/logarithm.h"
#include "graft/math/parts.h"

namespace graft {

// 1/(1+e^-x) = 2^-64/(2^-64 + 2^-64 e^-x): the scale keeps e^104 finite, so the left tail is exact down to
// 2^-149.
GRAFT_INLINE constexpr float sigmoid(float x) {
  using namespace math_detail;
  Exp e = exp_parts<-1, -64>(x);
  float y = 0x1p-64f / (e.s * e.w + (e.s + 0x1p-64f));
  y = x > 40.f ? 1.f : y;
  return x < -104.f ? 0.f : y;
}

// tanh|x| = (1-E)/(1+E), E = e^(-2|x|) = 2^n (1+q); 1-E is formed as (1-2^n) - 2^n q, which does not cancel.
GRAFT_INLINE constexpr float tanh(float x) {
  using namespace math_detail;
  constexpr float magic = kRound + 127.f;
  float a = magnitude(x);
  float t = a * (-2.f * kLog2e) + magic;
  float n = t - magic;
  float r = -a - n * 0x1.62e43p-2f;  // in +-ln2/4; e^(2r)-1 below
  float r2 = r * r;
  float lo = 0x1.5554aap+0f * r + 0x1.fffffep+0f;
  float hi = 0x1.122c96p-2f * r + 0x1.55579ap-1f;
  hi = 0x1.6ab72cp-4f * r2 + hi;
  float q = (hi * r2 + lo) * r2 + (r + r);
  float s = pow2(t);
  float y = ((1.f - s) - s * q) / ((1.f + s) + s * q);
  y = a > 10.f ? 1.f : y;
  return with_sign_of(y, x);
}

// max(x,0) + log1p(e^-|x|), log1p(e) = e - u(e - z P(z)), u = e/(2+e), z = u^2.
GRAFT_INLINE constexpr float softplus(float x) {
  using namespace math_detail;
  float a = magnitude(x);
  Exp v = exp_parts<-1, 32>(a);
  float es = v.s * v.w + v.s;  // 2^32 e^-|x|
  float u = (es * 0x1p-32f) / (es * 0x1p-32f + 2.f), z = u * u;
  float hi = 0x1.1eca36p+30f * z + 0x1.1ec03ep+30f;  // 2^32 P(z)
  float lo = 0x1.99d1ccp+30f * z + 0x1.555502p+31f;
  float p = hi * (z * z) + lo;
  float m = x > 0.f ? x : 0.f;
  float y = (es - u * (es - z * p)) * 0x1p-32f + m;
  return a > 104.f ? m : y;
}

namespace math_detail {
// x/(1+e^-u) from the parts of 2^-64 e^-u.
GRAFT_INLINE constexpr float gate(float x, Exp e) { return x / (e.s * e.w + (e.s + 0x1p-64f)) * 0x1p-64f; }
}  // namespace math_detail

// In the far left tail x*0: at minus infinity that is NaN, as in the definition x*sigmoid(x).
GRAFT_INLINE constexpr float silu(float x) {
  using namespace math_detail;
  Exp e = exp_parts<-1, -64>(x);
  float y = gate(x, e);
  y = x > 40.f ? x : y;
  return x < -110.f ? x * 0.f : y;
}

// The tanh form of gelu: x/(1+e^-u), u = c x (x^2+k), c = 2 sqrt(2/pi) 0.044715, k = 1/0.044715. In the left
// tail an error of u is a relative error of the result, so x (x^2+k) is carried as p + q: h is a multiple of
// 1/16, and p = h (h^2+k) is exact there. Whole multiples of ln2/c are taken off; c itself stands in the
// coefficients of e^-(c r) - 1. The number of multiples comes from a sum of its own, since waiting for q
// costs a quarter of the time.
GRAFT_INLINE constexpr float gelu_tanh(float x) {
  using namespace math_detail;
  constexpr float k_high = 22.375f, k_low = -0x1.6d0914p-7f;
  constexpr float step_high = 0x1.36dap+3f, step_low = -0x1.549446p-16f;  // ln2/c
  constexpr float magic = kRound + (127.f - 64.f);
  float t = magic - 0x1.a5a7d0p-4f * (x * (x * x + 0x1.65d25ep+4f));
  float h = (x + 0x1.8p19f) - 0x1.8p19f, l = x - h;
  float sum = h * h + k_high;
  float p = h * sum;
  float q = l * sum + x * (l * (x + h) + k_low);
  float n = magic - t;
  float r = (p - n * step_high) + (q - n * step_low), r2 = r * r;
  float a = 0x1.4dad6ep-9f * r - 0x1.2444f4p-4f;
  float b = 0x1.21dddp-20f * r - 0x1.fbec7cp-15f;
  float c = 0x1.a96b38p-33f * r - 0x1.0a72b8p-26f;
  float w = ((c * r2 + b) * r2 + a) * r;
  float y = gate(x, Exp{pow2(t), w});
  y = x > 7.f ? x : y;
  return x < -11.f ? x * 0.f : y;
}

// x*tanh(softplus(x)) = x*k/(k+2), k = e^2+2e, e = e^x; e and k carried times 2^32.
GRAFT_INLINE constexpr float mish(float x) {
  using namespace math_detail;
  Exp v = exp_parts<1, 32>(x);
  float es = v.s * v.w + v.s;
  float k = es * (es * 0x1p-32f) + (es + es);
  float y = x * k / (k * 0x1p-32f + 2.f) * 0x1p-32f;
  y = x > 20.f ? x : y;
  return x < -110.f ? x * 0.f : y;
}

constexpr double sigmoid(double x) { return 1 / (1 + exp(-x)); }
constexpr double tanh(double x) { return math_detail::at_run_time(x), std::tanh(x); }
constexpr double softplus(double x) {
  return math_detail::at_run_time(x), (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
}
constexpr double silu(double x) { return x * sigmoid(x); }
constexpr double mish(double x) { return x * tanh(softplus(x)); }
/// Computes the tanh form, as x*sigmoid(2u): 1 + tanh(u) = 2*sigmoid(2u) keeps the digits of the left tail.
constexpr double gelu_tanh(double x) {
  return x * sigmoid(1.5957691216057307118 * (x + 0.044715 * x * x * x));
}

}  // namespace graft
