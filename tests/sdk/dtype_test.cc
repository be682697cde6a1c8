#include <graft/graft.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace graft {
namespace {

float reference_half(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const float sign = bits & 0x8000 ? -1.f : 1.f;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(float(1024 + fraction), exponent - 25) : std::ldexp(float(fraction), -24));
}

TEST(DType, EveryFloat16WidensExactly) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float expected = reference_half(uint16_t(bits)), got = to_float(float16{uint16_t(bits)});
    if (std::isnan(expected)) EXPECT_TRUE(std::isnan(got)) << bits;
    else EXPECT_EQ(std::bit_cast<uint32_t>(expected), std::bit_cast<uint32_t>(got)) << bits;
  }
}

TEST(DType, EveryFloat16AndBfloat16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float16 h{uint16_t(bits)};
    if (!std::isnan(to_float(h))) EXPECT_EQ(to_float16(to_float(h)), h) << bits;
    else EXPECT_TRUE(std::isnan(to_float(to_float16(to_float(h)))));
    const bfloat16 b{uint16_t(bits)};
    if (!std::isnan(to_float(b))) EXPECT_EQ(to_bfloat16(to_float(b)), b) << bits;
    else EXPECT_TRUE(std::isnan(to_float(to_bfloat16(to_float(b)))));
  }
}

TEST(DType, NarrowingRoundsToNearestEven) {
  EXPECT_EQ(to_float16(65519.f).bits, 0x7bff);   // the largest that rounds down
  EXPECT_EQ(to_float16(65520.f).bits, 0x7c00);   // halfway: infinity
  EXPECT_EQ(to_float16(0x1p-25f).bits, 0x0000);  // halfway to the smallest subnormal: even
  EXPECT_EQ(to_float16(0x1.8p-25f).bits, 0x0001);
  EXPECT_EQ(to_float16(1.f + 0x1p-11f).bits, 0x3c00);
  EXPECT_EQ(to_float16(1.f + 0x1.8p-10f).bits, 0x3c02);
  EXPECT_EQ(to_bfloat16(1.f + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(1.f + 0x1.8p-7f).bits, 0x3f82);
}

template <class T>
void check_float8(float smallest, float largest, int nans) {
  int found = 0;
  std::vector<float> values;
  for (int bits = 0; bits < 256; ++bits) {
    const T h{uint8_t(bits)};
    const float f = to_float(h);
    if (std::isnan(f)) {
      ++found;
      EXPECT_TRUE(std::isnan(to_float(to_float8<T>(f))));
    } else if (!std::isinf(f)) {
      EXPECT_EQ(to_float8<T>(f), h) << bits;
      if (f >= 0) values.push_back(f);
    }
  }
  EXPECT_EQ(found, nans);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  EXPECT_EQ(values[1], smallest);
  EXPECT_EQ(values.back(), largest);
  for (size_t i = 0; i + 1 < values.size(); ++i) {  // between neighbours: the nearer one, and the even one halfway
    const float middle = (values[i] + values[i + 1]) / 2;
    EXPECT_EQ(to_float(to_float8<T>(std::nextafter(middle, 0.f))), values[i]);
    EXPECT_EQ(to_float(to_float8<T>(std::nextafter(middle, INFINITY))), values[i + 1]);
    EXPECT_EQ(to_float8<T>(middle).bits % 2, 0);
    EXPECT_EQ(to_float(to_float8<T>(-values[i + 1])), -values[i + 1]);
  }
  EXPECT_EQ(to_float(to_float8<T>(INFINITY)), largest);  // saturates, as ONNX's Cast does by default
  EXPECT_EQ(to_float(to_float8<T>(-1e30f)), -largest);
}

// The numbers are those of ONNX's page "Float stored in 8 bits".
TEST(DType, Float8ConvertsAndSaturates) {
  check_float8<float8e4m3fn>(0x1p-9f, 448.f, 2);
  check_float8<float8e4m3fnuz>(0x1p-10f, 240.f, 1);
  check_float8<float8e5m2>(0x1p-16f, 57344.f, 6);
  check_float8<float8e5m2fnuz>(0x1p-17f, 57344.f, 1);
}

template <Target V>
struct Conversions {
  const float16* h;
  float* f;
  float16* back;
  bfloat16* narrow;
  int64_t n;
  template <Target>
  GRAFT_INLINE void operator()() const {
    detail::Staging<V, float16>::widen(h, f, n);
    detail::Staging<V, float16>::narrow(f, back, n);
    detail::Staging<V, bfloat16>::narrow(f, narrow, n);
  }
};

template <Target V>
void compare_conversions() {
  for (size_t n : {0, 1, 7, 8, 15, 16, 17, 1023}) {
    std::vector<float16> h(n), back(n + 1, float16{0xabcd});
    std::vector<float> f(n + 1, 42.f);
    std::vector<bfloat16> narrow(n);
    std::mt19937 random(7);
    for (auto& x : h) x.bits = uint16_t(random());
    const Conversions<V> loop{h.data(), f.data(), back.data(), narrow.data(), int64_t(n)};
#if defined(GRAFT_X86_64)
    if constexpr (V == Target::avx512) detail::run_avx512(loop);
    else if constexpr (V == Target::avx2) detail::run_avx2(loop);
    else
#endif
      detail::run_baseline(loop);
    for (size_t i = 0; i < n; ++i) {
      const float expected = to_float(h[i]);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(f[i]) && std::isnan(to_float(back[i])) && std::isnan(to_float(narrow[i])));
      } else {
        EXPECT_EQ(expected, f[i]);
        EXPECT_EQ(h[i], back[i]);
        EXPECT_EQ(to_bfloat16(expected), narrow[i]);
      }
    }
    EXPECT_EQ(f[n], 42.f) << "wrote past the end";
    EXPECT_EQ(back[n].bits, 0xabcd) << "wrote past the end";
  }
}

TEST(Staging, EveryVariantConvertsAlike) {
  compare_conversions<Target::baseline>();
  if (target() >= Target::avx2) compare_conversions<Target::avx2>();
  if (target() >= Target::avx512) compare_conversions<Target::avx512>();
}

}  // namespace
}  // namespace graft
