// sin and cos, of every float.
//
//   constexpr float snake(float x, float a) { float s = graft::sin(a * x); return x + s * s / a; }
#pragma once

#include <cmath>

#include "graft/math/parts.h"

namespace graft {

namespace math_detail {
// ~0 where a >= limit > 0, else 0.
GRAFT_INLINE constexpr u32 at_least(float a, float limit) {
  return u32(i32(bits(limit) - 1u - bits(a)) >> 31);
}
GRAFT_INLINE constexpr u64 widen(u32 mask) { return u64(i64(i32(mask))); }

// sin(x + quarter*pi/2) for every float, without a branch. v*2/pi mod 4 is taken in double, from a constant
// in three parts of 29, 28 and 53 bits: the first two products are exact, and what they hold in multiples of
// 4 drops out. That serves v < 2^58. From there on x is an integer multiple of 2^35, and from 2^93 on of
// 2^70: v is x without that factor, and the constant is 2^35*2/pi or 2^70*2/pi mod 4. It is chosen with
// masks: a chain of ?: on one value is threaded into control flow by g++ unless -fno-thread-jumps stops it,
// and the loop is then not vectorised.
GRAFT_INLINE constexpr float sin_quarter(float x, u32 quarter) {
  float a = magnitude(x);
  u32 n1 = at_least(a, 0x1p58f), n2 = at_least(a, 0x1p93f);
  u64 m1 = widen(n1), m2 = widen(n2);
  constexpr u64 first[3] = {0x3fe45f306c000000u, 0x400391054a000000u, 0x40084eafa4000000u};
  constexpr u64 second[3] = {0x3e2c9c882a000000u, 0x3e2fc2757e000000u, 0xbe05964480000000u};
  constexpr u64 third[3] = {0x3c44fe13abe8fa9au, 0xbc5c1596447e493bu, 0x3c4b6c52b3278872u};
  double c1 = from_bits((((m2 & (first[1] ^ first[2])) ^ (first[0] ^ first[1])) & m1) ^ first[0]);
  double c2 = from_bits((((m2 & (second[1] ^ second[2])) ^ (second[0] ^ second[1])) & m1) ^ second[0]);
  double c3 = from_bits((((m2 & (third[1] ^ third[2])) ^ (third[0] ^ third[1])) & m1) ^ third[0]);
  float down = real(0x3f800000u - (((n1 & 35u) + (n2 & 35u)) << 23));
  double v = double(a * down);
  double p1 = v * c1, p2 = v * c2, p3 = v * c3;
  double f1 = p1 - ((p1 + 0x1p54) - 0x1p54);  // p1 >= 0
  double f2 = p2 - ((p2 + 0x1.8p54) - 0x1.8p54);
  double turn = f1 + (f2 + p3) + 0x1.8p52, q = turn - 0x1.8p52;
  double f = ((f1 - q) + f2) + p3;
  float r = float(f * 0x1.921fb54442d18p+0);
  u32 k = u32(bits(turn)) + quarter;
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

constexpr double sin(double x) { return math_detail::at_run_time(x), std::sin(x); }
constexpr double cos(double x) { return math_detail::at_run_time(x), std::cos(x); }

}  // namespace graft
