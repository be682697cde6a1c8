// The float functions against double, on a sample of all floats; bench/math_errors walks through all of them.
#include <graft/graft.h>
#include <gtest/gtest.h>

#include <cmath>

namespace graft {
namespace {

/// Is the distance of a float from the exact value in units of the last place of the exact value's float.
double ulps(float got, double exact) {
  const float rounded = float(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : INFINITY;
  const float magnitude = std::max(std::fabs(rounded), 0x1p-126f);
  return std::fabs(double(got) - exact) / std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

template <class F, class R>
void expect_within(double limit, F f, R reference, const char* name, double relative_to_x = 0) {
  double worst = 0;
  float where = 0;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 4093) {
    const float x = std::bit_cast<float>(uint32_t(bits));
    const double exact = reference(double(x));
    double error = ulps(f(x), exact);
    if (relative_to_x > 0 && std::fabs(double(f(x)) - exact) <= relative_to_x * std::fabs(double(x))) error = 0;
    if (!(error <= worst)) worst = error, where = x;
  }
  EXPECT_LE(worst, limit) << name << " at " << where;
}

// The limits are the largest errors over all floats (docs/reference/math.md), rounded up.
TEST(Math, ErrorsStayWithinTheirBounds) {
  expect_within(1.1, [](float x) { return exp(x); }, [](double x) { return std::exp(x); }, "exp");
  expect_within(1.0, [](float x) { return log(x); }, [](double x) { return std::log(x); }, "log");
  expect_within(2.0, [](float x) { return tanh(x); }, [](double x) { return std::tanh(x); }, "tanh");
  expect_within(1.7, [](float x) { return erf(x); }, [](double x) { return std::erf(x); }, "erf");
  expect_within(2.5, [](float x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, "sigmoid");
  expect_within(2.1, [](float x) { return softplus(x); },
                [](double x) { return std::isnan(x) ? x : std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }, "softplus");
  expect_within(1.7, [](float x) { return sin(x); }, [](double x) { return std::sin(x); }, "sin");
  expect_within(1.7, [](float x) { return cos(x); }, [](double x) { return std::cos(x); }, "cos");
  expect_within(1.5, [](float x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, "rsqrt");
}

// A composite may lose digits where its definition's own rounding does: there the error is held against x.
TEST(Math, CompositesStayWithinTheirBounds) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  expect_within(2.5, [](float x) { return silu(x); }, [&](double x) { return x * sigmoid(x); }, "silu");
  expect_within(4.0, [](float x) { return mish(x); },
                [](double x) { return x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)))); }, "mish");
  expect_within(7.0, [](float x) { return gelu(x); }, [](double x) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); }, "gelu");
  expect_within(
      6.0, [](float x) { return gelu_tanh(x); },
      [&](double x) { return x * sigmoid(1.5957691216057307118 * (x + 0.044715 * x * x * x)); }, "gelu_tanh", 1.2e-7);
}

TEST(Math, CompositesDoWhatTheirDefinitionDoesAtTheEdges) {
  const float inf = INFINITY;
  for (auto f : {+[](float x) { return silu(x); }, +[](float x) { return mish(x); }, +[](float x) { return gelu(x); },
                 +[](float x) { return gelu_tanh(x); }}) {
    EXPECT_TRUE(std::isnan(f(-inf)));  // minus infinity times zero
    EXPECT_EQ(f(inf), inf);
    EXPECT_TRUE(std::isnan(f(NAN)));
    EXPECT_TRUE(f(0.f) == 0 && !std::signbit(f(0.f)));
    EXPECT_TRUE(f(-0.f) == 0 && std::signbit(f(-0.f)));
    EXPECT_TRUE(f(-1e30f) == 0 && std::signbit(f(-1e30f)));
    EXPECT_EQ(f(1e30f), 1e30f);
  }
}

TEST(Math, MinMaxAndClampPropagateNaN) {
  EXPECT_TRUE(std::isnan(max(NAN, 1.f)) && std::isnan(max(1.f, float(NAN))));
  EXPECT_TRUE(std::isnan(min(float(NAN), 1.f)) && std::isnan(min(1.f, float(NAN))));
  EXPECT_TRUE(std::isnan(clamp(float(NAN), 0.f, 1.f)));
  EXPECT_EQ(clamp(-1.f, 0.f, 1.f), 0.f);
  EXPECT_EQ(clamp(9.f, 0.f, 1.f), 1.f);
}

}  // namespace
}  // namespace graft
