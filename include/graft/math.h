// Scalar math that the compiler can widen: exp, log, tanh, sigmoid, erf, softplus, silu, gelu, mish, sin, cos, ...
//
//   constexpr float squash(float x, float limit) { return limit * graft::tanh(x / limit); }
//
// The float functions are branch-free straight-line code: no calls, no tables, no conversion of an out-of-range value to
// an integer. A loop around one is vectorised by g++ 12 and clang 14 with the flags that graft_add_library sets (no
// -ffast-math); -ffp-contract=fast lets a*b+c become one instruction, and no error bound depends on it. The bounds are
// in docs/reference/math.md. The double functions are the standard library's.
//
// Composites (silu, gelu, mish) do what their definition does at NaN, infinities and signed zero; x*sigmoid(x) is NaN at
// minus infinity.
//
// House rules, each worth 5 to 40 percent of a loop's time:
//  * never clamp the input with ?: and then compute; compute unclamped and select the result at the end. g++ 12 has no
//    vector minimum that is right for NaN (?: is compare and blend) and threads the clamp's constant through the rest.
//  * round with the 1.5*2^23 trick: the integer sits in the low bits of the sum, so 2^n is one shift.
//  * write a comparison so that NaN takes the computed path; it then propagates by arithmetic.
//  * where a result may be subnormal, compute it times a power of two and undo that in the last operation.
//  * short Estrin polynomials, side terms off the critical path: on long functions the out-of-order window is the limit,
//    so time goes as operations times depth of dependency.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "graft/target.h"

namespace graft {
namespace math_detail {
using u32 = std::uint32_t;
using i32 = std::int32_t;
GRAFT_INLINE constexpr u32 bits(float x) { return __builtin_bit_cast(u32, x); }
GRAFT_INLINE constexpr float real(u32 u) { return __builtin_bit_cast(float, u); }

/// Refuses the evaluation at compile time of what the standard library computes at run time only.
template <class T>
GRAFT_INLINE constexpr void at_run_time(T x) {
  if (std::is_constant_evaluated() && x == x) throw "this function has no value at compile time";
}

constexpr float kInf = __builtin_inff();
constexpr float kNaN = __builtin_nanf("");
constexpr float kLog2e = 0x1.715476p+0f;
constexpr float kLn2Hi = 0x1.63p-1f;         // 10 bits: n*kLn2Hi is exact without FMA
constexpr float kLn2Lo = -0x1.bd0106p-13f;   // ln 2 - kLn2Hi
constexpr float kRound = 12582912.f;         // 1.5*2^23: x + kRound has round(x) in its low mantissa bits
constexpr u32 kSign = 0x80000000u;

GRAFT_INLINE constexpr float magnitude(float x) { return real(bits(x) & ~kSign); }
GRAFT_INLINE constexpr float with_sign_of(float a, float x) { return real(bits(a) | (bits(x) & kSign)); }  // a >= 0
// 2^k for the sum t = kRound + 127 + k, -126 <= k <= 127 (multiply by it: adding k to the exponent field instead
// saves nothing and can turn a NaN into a number).
GRAFT_INLINE constexpr float pow2(float t) { return real(bits(t) << 23); }

// e^r - 1 for |r| <= ln2/2; degree 6, relative error of e^r 2^-28.0 before rounding.
GRAFT_INLINE constexpr float expm1_poly(float r) {
  float r2 = r * r;
  float hi = 0x1.123d16p-7f * r + 0x1.5558bcp-5f;
  float lo = 0x1.55548cp-3f * r + 0x1.fffffcp-2f;
  hi = 0x1.6a1294p-10f * r2 + hi;
  return (hi * r2 + lo) * r2 + r;
}
// x = n ln2 + r; e^(sign*x) * 2^bias = s*w + s with w = e^r - 1 and s = 2^(n+bias), for -126 <= n+bias <= 127.
// The caller folds s*w + s into its own sum so that it costs one FMA and one rounding.
struct Exp {
  float s, w;
};
template <int sign, int bias>
GRAFT_INLINE constexpr Exp exp_parts(float x) {
  constexpr float magic = kRound + float(127 + bias);
  float t = x * (float(sign) * kLog2e) + magic;
  float n = t - magic;
  float r = float(sign) * x - n * kLn2Hi;
  r = r - n * kLn2Lo;
  return {pow2(t), expm1_poly(r)};
}
}  // namespace math_detail

GRAFT_INLINE constexpr float abs(float x) { return math_detail::magnitude(x); }
GRAFT_INLINE constexpr float sqrt(float x) { return math_detail::at_run_time(x), __builtin_sqrtf(x); }
GRAFT_INLINE constexpr float rsqrt(float x) { return math_detail::at_run_time(x), 1.f / __builtin_sqrtf(x); }

GRAFT_INLINE constexpr float exp(float x) {
  using namespace math_detail;
  constexpr float magic = kRound + 254.f;
  float t = x * kLog2e + magic;
  float n = t - magic;
  float r = x - n * kLn2Hi;
  r = r - n * kLn2Lo;
  u32 half = (bits(t) << 22) & 0xff800000u;  // 2^floor(n/2); 2^n in two factors covers subnormals and e^88.7
  float s = real(half), w = expm1_poly(r);
  float y = (s * w + s) * real((bits(t) << 23) - half);
  y = x > 89.f ? kInf : y;
  return x < -104.f ? 0.f : y;
}

// 1/(1+e^-x) = 2^-64/(2^-64 + 2^-64 e^-x): the scale keeps e^104 finite, so the left tail is exact down to 2^-149.
GRAFT_INLINE constexpr float sigmoid(float x) {
  using namespace math_detail;
  Exp e = exp_parts<-1, -64>(x);
  float y = 0x1p-64f / (e.s * e.w + (e.s + 0x1p-64f));
  y = x > 40.f ? 1.f : y;
  return x < -104.f ? 0.f : y;
}

namespace math_detail {
// x/(1+e^-u), and x*0 in the far left tail: at minus infinity that is NaN, as in the definition x*sigmoid(u).
GRAFT_INLINE constexpr float gated(float x, float u) {
  Exp e = exp_parts<-1, -64>(u);
  float y = x / (e.s * e.w + (e.s + 0x1p-64f)) * 0x1p-64f;
  y = u > 40.f ? x : y;
  return u < -110.f ? x * 0.f : y;
}
}  // namespace math_detail

GRAFT_INLINE constexpr float silu(float x) { return math_detail::gated(x, x); }

// tanh form of gelu: x/(1+e^-u), u = 2*sqrt(2/pi)*(x + 0.044715 x^3).
GRAFT_INLINE constexpr float gelu_tanh(float x) {
  float u = x * (1.5957691216f + 0.0713548162726f * (x * x));
  return math_detail::gated(x, u);
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

// gelu(x) = relu(x) - g(|x|), g(a) = a*Phi(-a) = e^(-a^2/2) * a N(a)/D(a).  a^2 is carried as an exact high part
// plus a low part, so the left tail keeps full relative accuracy.
GRAFT_INLINE constexpr float gelu(float x) {
  using namespace math_detail;
  constexpr float magic = kRound + (127.f + 32.f);
  float a = magnitude(x);
  float h = real(bits(a) & 0xfffff000u);
  float z = h * h;
  float zl = (a - h) * (a + h), z0 = a * a;
  float t = z * (-0.5f * kLog2e) + magic;
  float n = t - magic;
  float r = (-0.5f * z - n * kLn2Hi) - (n * kLn2Lo + 0.5f * zl);
  float s = pow2(t), w = expm1_poly(r);
  float num = ((0.00413136199f * a + 0.0407343613f) * z0 + (0.183534701f * a + 0.438698587f)) * z0 + 0.5f * a;
  float den = ((0.0103556724f * z0 + (0.102112213f * a + 0.470261579f)) * z0 + (1.20374628f * a + 1.67528217f)) * a + 1.f;
  float g = (num * w + num) * s / den;
  float p = x >= 0.f ? x : x * 0.f;  // NaN at minus infinity, as in the definition
  float y = p - g * 0x1p-32f;
  return a > 14.6f ? p : y;
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

// x = 2^e (1+f), 1+f in [sqrt(1/2), sqrt 2); log(1+f) = f - s(f - z P(z)), s = f/(2+f), z = s^2.
GRAFT_INLINE constexpr float log(float x) {
  using namespace math_detail;
  float k = x < 0x1p-126f ? 0x1p23f : 1.f;  // subnormal input
  u32 i = bits(x * k) - bits(k) + (0x3f800000u - 0x3f3504f3u);
  float e = float(i32(i) >> 23);
  float f = real((i & 0x7fffffu) + 0x3f3504f3u) - 1.f;
  float s = f / (f + 2.f), z = s * s;
  float p = 0x1.31e1a8p-2f * z + 0x1.995ed0p-2f;
  p = p * z + 0x1.55557ap-1f;
  float y = e * kLn2Lo - s * (f - z * p);
  y = (y + f) + e * kLn2Hi;
  y = x > 0.f ? y : (x == 0.f ? -kInf : kNaN);
  return x < kInf ? y : x;
}
namespace math_detail {
using u64 = std::uint64_t;
using i64 = std::int64_t;
GRAFT_INLINE constexpr double from_bits(u64 u) { return __builtin_bit_cast(double, u); }
GRAFT_INLINE constexpr u32 at_least(float a, float limit) { return u32(i32(bits(limit) - 1u - bits(a)) >> 31); }  // a >= limit > 0 ? ~0 : 0
GRAFT_INLINE constexpr u64 widen(u32 mask) { return u64(i64(i32(mask))); }

// sin(x + quarter*pi/2) for every float.  x*2/pi mod 4 is taken in double from a three-part constant; above 2^28 x is an
// integer multiple of 2^E (E = 5, 30, 55, 80), and the constant is 2^E*2/pi mod 4.  The constant is chosen with masks:
// a chain of ?: on the same value is threaded into control flow and the loop is then not vectorised.
GRAFT_INLINE constexpr float sin_quarter(float x, u32 quarter) {
  float a = magnitude(x);
  u32 n1 = at_least(a, 0x1p28f), n2 = at_least(a, 0x1p53f), n3 = at_least(a, 0x1p78f), n4 = at_least(a, 0x1p103f);
  u64 m1 = widen(n1), m2 = widen(n2), m3 = widen(n3), m4 = widen(n4);
  double c1 = from_bits(0x3fe45f306c000000ull ^ (m1 & 0x0033932b1c000000ull) ^ (m2 & 0x7fdb50935a000000ull) ^
                        (m3 & 0x00083b78b7000000ull) ^ (m4 & 0x000e197f34000000ull));
  double c2 = from_bits(0x3e2c9c882a000000ull ^ (m1 & 0x000f0d8d60000000ull) ^ (m2 & 0x00076f16e0000000ull) ^
                        (m3 & 0x00032fe69e000000ull) ^ (m4 & 0x00130c35ef000000ull));
  double c3 = from_bits(0x3c44fe13abe8fa9aull ^ (m1 & 0x000b3c66d6f7a9d4ull) ^ (m2 & 0x00214ddcdbf15595ull) ^
                        (m3 & 0x003537b2cabcb5f3ull) ^ (m4 & 0x00031d7d23425738ull));
  float down = real(0x3f800000u - (((n1 & 5u) + (n2 & 25u) + (n3 & 25u) + (n4 & 25u)) << 23));
  double v = double(a * down);
  double p1 = v * c1, p2 = v * c2;  // exact: 24 x 29 bits
  double f1 = p1 - ((p1 + 0x1.8p54) - 0x1.8p54);  // mod 4
  double f2 = p2 - ((p2 + 0x1.8p54) - 0x1.8p54);
  double q = (f1 + f2 + 0x1.8p52) - 0x1.8p52;
  double f = ((f1 - q) + f2) + v * c3;
  float r = float(f * 0x1.921fb54442d18p+0);
  u32 k = bits(float(q) + kRound) + quarter;
  float z = r * r;
  float s = ((-0x1.9953f2p-13f * z + 0x1.110778p-7f) * z - 0x1.555546p-3f) * (z * r) + r;
  float c = ((0x1.96561cp-16f * z - 0x1.6c03fep-10f) * z + 0x1.55554ap-5f) * (z * z) + (1.f - 0.5f * z);
  return real(bits((k & 1u) ? c : s) ^ ((k & 2u) << 30));
}
}  // namespace math_detail

GRAFT_INLINE constexpr float sin(float x) {
  using namespace math_detail;
  return real(bits(sin_quarter(x, 0)) ^ (bits(x) & kSign));
}
GRAFT_INLINE constexpr float cos(float x) { return math_detail::sin_quarter(x, 1); }

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

// Double: the standard library's, exact to a unit in the last place and not vectorised.
GRAFT_INLINE constexpr double abs(double x) { return x < 0 ? -x : x == 0 ? 0.0 : x; }
GRAFT_INLINE constexpr double sqrt(double x) { return math_detail::at_run_time(x), __builtin_sqrt(x); }
GRAFT_INLINE constexpr double rsqrt(double x) { return math_detail::at_run_time(x), 1 / __builtin_sqrt(x); }
constexpr double exp(double x) { return math_detail::at_run_time(x), std::exp(x); }
constexpr double log(double x) { return math_detail::at_run_time(x), std::log(x); }
constexpr double tanh(double x) { return math_detail::at_run_time(x), std::tanh(x); }
constexpr double erf(double x) { return math_detail::at_run_time(x), std::erf(x); }
constexpr double sin(double x) { return math_detail::at_run_time(x), std::sin(x); }
constexpr double cos(double x) { return math_detail::at_run_time(x), std::cos(x); }
constexpr double sigmoid(double x) { return 1 / (1 + exp(-x)); }
constexpr double softplus(double x) {
  return math_detail::at_run_time(x), (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
}
constexpr double silu(double x) { return x * sigmoid(x); }
constexpr double mish(double x) { return x * tanh(softplus(x)); }
/// Computes x*Phi(x); erfc keeps the digits that 1 + erf loses in the left tail.
constexpr double gelu(double x) { return math_detail::at_run_time(x), 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
/// Computes the tanh form, as x*sigmoid(2u): 1 + tanh(u) = 2*sigmoid(2u) keeps the digits of the left tail.
constexpr double gelu_tanh(double x) {
  return x * sigmoid(1.5957691216057307118 * (x + 0.044715 * x * x * x));
}

}  // namespace graft
