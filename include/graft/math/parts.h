// What the float functions are made of: a float as bits, the parts of e^x and 2^x.
//
//   auto [s, w] = graft::math_detail::exp_parts<1, 0>(x);   // e^x = s*w + s
#pragma once

#include <cstdint>
#include <type_traits>

#include "graft/target.h"

namespace graft::math_detail {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
GRAFT_INLINE constexpr u32 bits(float x) { return __builtin_bit_cast(u32, x); }
GRAFT_INLINE constexpr u64 bits(double x) { return __builtin_bit_cast(u64, x); }
GRAFT_INLINE constexpr float real(u32 u) { return __builtin_bit_cast(float, u); }
GRAFT_INLINE constexpr double from_bits(u64 u) { return __builtin_bit_cast(double, u); }

/// Refuses the evaluation at compile time of what the standard library computes at run time only.
template <class T> GRAFT_INLINE constexpr void at_run_time(T x) {
  if (std::is_constant_evaluated() && x == x) throw "this function has no value at compile time";
}

constexpr float kInf = __builtin_inff();
constexpr float kNaN = __builtin_nanf("");
constexpr float kLog2e = 0x1.715476p+0f;
constexpr float kLn2Hi = 0x1.63p-1f;        // 10 bits: n*kLn2Hi is exact without FMA
constexpr float kLn2Lo = -0x1.bd0106p-13f;  // ln 2 - kLn2Hi
constexpr float kRound = 12582912.f;        // 1.5*2^23: x + kRound has round(x) in its low mantissa bits
constexpr u32 kSign = 0x80000000u;

GRAFT_INLINE constexpr float magnitude(float x) { return real(bits(x) & ~kSign); }
// a, which is not negative, with the sign of x.
GRAFT_INLINE constexpr float with_sign_of(float a, float x) { return real(bits(a) | (bits(x) & kSign)); }

// 2^k for the sum t = kRound + 127 + k, -126 <= k <= 127 (multiply by it: adding k to the exponent field
// instead saves nothing and can turn a NaN into a number).
GRAFT_INLINE constexpr float pow2(float t) { return real(bits(t) << 23); }

// e^r - 1 for |r| <= ln2/2; degree 6, relative error of e^r 2^-28.0 before rounding.
GRAFT_INLINE constexpr float expm1_poly(float r) {
  float r2 = r * r;
  float hi = 0x1.123d16p-7f * r + 0x1.5558bcp-5f;
  float lo = 0x1.55548cp-3f * r + 0x1.fffffcp-2f;
  hi = 0x1.6a1294p-10f * r2 + hi;
  return (hi * r2 + lo) * r2 + r;
}
// 2^r - 1 for |r| <= 1/2; degree 6, relative error of 2^r 2^-26.2 before rounding.
GRAFT_INLINE constexpr float exp2m1_poly(float r) {
  float r2 = r * r;
  float a = 0x1.ebfb94p-3f * r + 0x1.62e430p-1f;
  float b = 0x1.3b680ep-7f * r + 0x1.c6af9ep-5f;
  float c = 0x1.17a496p-13f * r + 0x1.5ef4bep-10f;
  return ((c * r2 + b) * r2 + a) * r;
}
// (1+w)*2^n for the sum t = kRound + 254 + n, -152 <= n <= 128: two factors cover subnormals and the last
// power of two.
GRAFT_INLINE constexpr float scale(float w, float t) {
  u32 half = (bits(t) << 22) & 0xff800000u;  // 2^floor(n/2)
  float s = real(half);
  return (s * w + s) * real((bits(t) << 23) - half);
}
// x = n ln2 + r; e^(sign*x) * 2^bias = s*w + s with w = e^r - 1 and s = 2^(n+bias), for -126 <= n+bias <=
// 127. The caller folds s*w + s into its own sum so that it costs one FMA and one rounding.
struct Exp {
  float s, w;
};
template <int sign, int bias> GRAFT_INLINE constexpr Exp exp_parts(float x) {
  constexpr float magic = kRound + float(127 + bias);
  float t = x * (float(sign) * kLog2e) + magic;
  float n = t - magic;
  float r = float(sign) * x - n * kLn2Hi;
  r = r - n * kLn2Lo;
  return {pow2(t), expm1_poly(r)};
}

}  // namespace graft::math_detail
