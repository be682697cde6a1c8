// log and log1p.
//
//   constexpr float entropy(float p) { return -p * graft::log(p); }
#pragma once

#include <cmath>

#include "graft/math/parts.h"

namespace graft {

namespace math_detail {
// log(2^e (1+f)) for 1+f in [sqrt(1/2), sqrt 2): log(1+f) = f - s(f - z P(z)), s = f/(2+f), z = s^2.
GRAFT_INLINE constexpr float log_sum(float e, float f) {
  float s = f / (f + 2.f), z = s * s;
  float p = 0x1.31e1a8p-2f * z + 0x1.995ed0p-2f;
  p = p * z + 0x1.55557ap-1f;
  float y = e * kLn2Lo - s * (f - z * p);
  return (y + f) + e * kLn2Hi;
}
}  // namespace math_detail

// x = 2^e (1+f), 1+f in [sqrt(1/2), sqrt 2).
GRAFT_INLINE constexpr float log(float x) {
  using namespace math_detail;
  float k = x < 0x1p-126f ? 0x1p23f : 1.f;  // subnormal input
  u32 i = bits(x * k) - bits(k) + (0x3f800000u - 0x3f3504f3u);
  float e = float(i32(i) >> 23);
  float f = real((i & 0x7fffffu) + 0x3f3504f3u) - 1.f;
  float y = log_sum(e, f);
  y = x > 0.f ? y : (x == 0.f ? -kInf : kNaN);
  return x < kInf ? y : x;
}

// u = 1 + x is rounded; f takes in what it lost, x - (u - 1), so that f is x itself where u is near one.
GRAFT_INLINE constexpr float log1p(float x) {
  using namespace math_detail;
  float u = 1.f + x;
  float lost = x - (u - 1.f);
  u32 i = bits(u) - 0x3f3504f3u;
  float e = float(i32(i) >> 23);
  float twice = real(0x40000000u - (i & 0xff800000u));  // 2^(1-e); zero for e = 128, where nothing is lost
  float f = (real((i & 0x7fffffu) + 0x3f3504f3u) - 1.f) + lost * twice * 0.5f;
  float y = log_sum(e, f);
  y = u > 0.f ? y : (u == 0.f ? -kInf : kNaN);
  y = real(bits(y) | (bits(x) & kSign));  // minus zero
  return x < kInf ? y : x;
}

constexpr double log(double x) { return math_detail::at_run_time(x), std::log(x); }
constexpr double log1p(double x) { return math_detail::at_run_time(x), std::log1p(x); }

}  // namespace graft
