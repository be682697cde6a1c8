// The functions of graft/math.h against double, in every variant of the loop that the processor runs, on a
// sample of all floats; bench/math_errors.cc walks through all of them.
#include <graft/graft.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "../../bench/math_functions.h"

namespace graft {
namespace {

std::vector<Target> targets() {
  std::vector<Target> all;
  for (Target t : {Target::baseline, Target::avx2, Target::avx512}) {
    if (t <= target()) all.push_back(t);
  }
  return all;
}

std::string text(float x) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.9g (%a)", double(x), double(x));
  return buffer;
}

/// Gives every 16,381st float, and the ones where something changes: zeros, subnormals, infinities, NaN,
/// where e^x overflows and vanishes, ties, where numbers become whole, floats next to multiples of pi/2.
const std::vector<float>& sample() {
  static const std::vector<float> floats = [] {
    std::vector<float> x;
    for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 16381)
      x.push_back(std::bit_cast<float>(uint32_t(bits)));
    for (float edge : {0.f,
                       0x1p-149f,
                       0x1.fffffcp-127f,
                       0x1p-126f,
                       0x1p-25f,
                       0.5f,
                       1.f,
                       1.5f,
                       2.5f,
                       3.5f,
                       17.328680f,
                       18.f,
                       87.33655f,
                       88.02969f,
                       88.722832f,
                       88.72284f,
                       89.f,
                       103.27893f,
                       103.97208f,
                       104.f,
                       110.f,
                       126.f,
                       127.99999f,
                       128.f,
                       149.f,
                       150.f,
                       10.f,
                       11.f,
                       14.6f,
                       20.f,
                       40.f,
                       0x1p22f,
                       8388607.5f,
                       0x1p23f,
                       0x1.000002p23f,
                       0x1p24f,
                       1.57079637f,
                       3.14159274f,
                       0x1.6ac5b2p102f,
                       0x1.f9cbe2p7f,
                       0x1p58f,
                       0x1.fffffep57f,
                       0x1p93f,
                       0x1.fffffep92f,
                       0x1.fffffep127f,
                       INFINITY,
                       NAN}) {
      for (float near : {std::nextafter(edge, 0.f), edge, std::nextafter(edge, INFINITY)}) {
        x.push_back(near);
        x.push_back(-near);
      }
    }
    return x;
  }();
  return floats;
}

class MathFunctions : public testing::TestWithParam<MathFunction> {};

TEST_P(MathFunctions, StayWithinTheirErrorInEveryVariant) {
  const MathFunction& function = GetParam();
  const std::vector<float>& x = sample();
  std::vector<float> y(x.size());
  for (Target variant : targets()) {
    function.run(variant, x.data(), y.data(), int64_t(x.size()));
    double worst[2] = {};
    float at[2] = {};
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = function.exact(double(x[i]));
      const size_t subnormal = std::fabs(exact) < 0x1p-126;
      const double error = units_in_last_place(y[i], exact);
      if (error > worst[subnormal]) worst[subnormal] = error, at[subnormal] = x[i];
    }
    EXPECT_LE(worst[0], function.limit) << target_name(variant) << " at " << text(at[0]);
    EXPECT_LE(worst[1], function.subnormal_limit) << target_name(variant) << " at " << text(at[1]);
  }
}

TEST_P(MathFunctions, VariantsAgree) {
  const MathFunction& function = GetParam();
  const std::vector<float>& x = sample();
  std::vector<float> first(x.size()), other(x.size());
  function.run(Target::baseline, x.data(), first.data(), int64_t(x.size()));
  for (Target variant : targets()) {
    function.run(variant, x.data(), other.data(), int64_t(x.size()));
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double difference = units_in_last_place(other[i], double(first[i]));
      if (difference > worst) worst = difference, at = x[i];
    }
    // Fused multiply-add rounds less often. Two results within a bound of the truth differ by no more than
    // twice that.
    EXPECT_LE(worst, 2 * function.limit) << target_name(variant) << " at " << text(at);
  }
}

TEST_P(MathFunctions, AreTheSameAtTheEndOfALoop) {
  const MathFunction& function = GetParam();
  std::vector<float> x, all(64), one(64);
  for (int i = 0; i < 61; ++i) x.push_back(0.3f * float(i - 30));
  for (Target variant : targets()) {
    function.run(variant, x.data(), all.data(), int64_t(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      function.run(variant, x.data() + i, one.data() + i, 1);
      if (std::isnan(all[i]))
        EXPECT_TRUE(std::isnan(one[i]));
      else
        EXPECT_EQ(all[i], one[i]) << target_name(variant) << " at " << text(x[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Math, MathFunctions, testing::ValuesIn(math_functions),
                         [](const auto& info) { return std::string(info.param.name); });

void expect_pow(const std::vector<float>& x, const std::vector<float>& e, double limit) {
  std::vector<float> y(x.size());
  for (Target variant : targets()) {
    run_variant(variant, PowLoop{x.data(), e.data(), y.data(), int64_t(x.size())});
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_LE(units_in_last_place(y[i], std::pow(double(x[i]), double(e[i]))), limit)
          << target_name(variant) << ": pow(" << text(x[i]) << ", " << text(e[i]) << ") = " << text(y[i]);
    }
  }
}

TEST(Math, PowDoesWhatTheStandardSaysOfSpecialValues) {
  std::vector<float> x, e;
  for (float base : {0.f, 0x1p-149f, 0.5f, 0.99999994f, 1.f, 1.0000001f, 2.f, 3.f, 0x1p127f, INFINITY, NAN}) {
    for (float power : {0.f,
                        0x1p-149f,
                        0.5f,
                        1.f,
                        1.5f,
                        2.f,
                        3.f,
                        127.f,
                        149.f,
                        1000.f,
                        1001.f,
                        0x1.fffffep22f,
                        0x1p23f,
                        0x1.000002p23f,
                        0x1.fffffep23f,
                        0x1p24f,
                        0x1.000002p24f,
                        0x1p127f,
                        INFINITY,
                        NAN}) {
      for (int signs = 0; signs < 4; ++signs) {
        x.push_back(signs & 1 ? -base : base);
        e.push_back(signs & 2 ? -power : power);
      }
    }
  }
  expect_pow(x, e, kPowLimit);
}

TEST(Math, PowStaysWithinItsError) {
  std::vector<float> x, e;
  for (uint32_t i = 0; i < 400000; ++i) {
    const float base = std::bit_cast<float>((i * 2654435761u) & 0x7fffffffu);
    const double t = double(int32_t(i * 2246822519u)) * 0x1p-31 * 152;
    x.push_back(base);
    e.push_back(float(t / std::log2(double(base))));
  }
  expect_pow(x, e, kPowLimit);
}

TEST(Math, CompositesDoWhatTheirDefinitionDoesAtTheEdges) {
  const float inf = INFINITY;
  for (auto f : {+[](float x) { return silu(x); }, +[](float x) { return mish(x); },
                 +[](float x) { return gelu(x); }, +[](float x) { return gelu_tanh(x); }}) {
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

TEST(Math, DoublesAreTheStandardLibrarys) {
  for (double x : {-3.5, -2.5, -0.5, -0.0, 0.0, 0.3, 0.5, 1.5, 2.5, 1e15 + 0.5, 1e300, double(INFINITY)}) {
    EXPECT_EQ(exp2(x), std::exp2(x));
    EXPECT_EQ(expm1(x), std::expm1(x));
    EXPECT_EQ(pow(1.5, x), std::pow(1.5, x));
    if (x > -1) EXPECT_EQ(log1p(x), std::log1p(x));
    EXPECT_EQ(floor(x), std::floor(x));
    EXPECT_EQ(ceil(x), std::ceil(x));
    EXPECT_EQ(round(x), std::nearbyint(x));
    EXPECT_EQ(std::signbit(ceil(x)), std::signbit(x)) << x;
    EXPECT_EQ(std::signbit(round(x)), std::signbit(x)) << x;
  }
  EXPECT_TRUE(std::isnan(floor(double(NAN))) && std::isnan(round(double(NAN))));
}

// An ordinary constexpr function may call each; those of floats have values at compile time.
constexpr float everything(float x) {
  return exp(x) + exp2(x) + expm1(x) + log(x) + log1p(x) + tanh(x) + erf(x) + sigmoid(x) + softplus(x) +
         silu(x) + mish(x) + gelu(x) + gelu_tanh(x) + sin(x) + cos(x) + sqrt(x) + rsqrt(x) + floor(x) +
         ceil(x) + round(x) + pow(x, x) + abs(x) + min(x, 2.f) + max(x, 2.f) + clamp(x, 0.f, 1.f);
}
static_assert(exp(0.f) == 1 && log(1.f) == 0 && pow(2.f, 3.f) == 8 && sqrt(4.f) == 2 && rsqrt(4.f) == 0.5f);
static_assert(floor(-0.5f) == -1 && ceil(0.5f) == 1 && round(2.5f) == 2 && round(3.5) == 4 && sqrt(9.0) == 3);
static_assert(everything(1.f) > 0);

TEST(Math, HasTheSameValueAtCompileTimeAndAtRunTime) {
  constexpr float at_compile_time = everything(0.7f);
  volatile float x = 0.7f;
  EXPECT_NEAR(at_compile_time, everything(x), 1e-5f);
}

/// Calls what graft/scalar.h and graft/trace.h offer.
struct Everything {
  constexpr auto operator()(auto x, auto y) const {
    return exp2(x) + expm1(x) + log1p(x) + pow(x, y) + floor(x) + ceil(x) + round(x) + pow(x, 2) + sin(x) +
           cos(x);
  }
};

TEST(Math, FunctorsHaveTheFunctions) {
  for (float x : {0.3f, 1.7f}) {
    const double sum = std::exp2(double(x)) + std::expm1(double(x)) + std::log1p(double(x)) +
                       std::pow(double(x), 3.0) + std::floor(x) + std::ceil(x) + std::nearbyint(x) +
                       double(x) * double(x) + std::sin(double(x)) + std::cos(double(x));
    EXPECT_NEAR(Everything{}(Scalar<float>(x), Scalar<float>(3)).value, sum, 1e-5);
    EXPECT_NEAR(Everything{}(Scalar<double>(x), Scalar<double>(3)).value, sum, 1e-13);
  }
}

std::string trace(Symbol (*f)(Symbol)) {
  Tracer tracer;
  const Definition d = tracer.definition({"y"}, f(tracer.input("x")));
  return d.text + " from " + std::to_string(d.opset);
}

TEST(Math, AreTracedToStandardOperators) {
  EXPECT_EQ(trace(exp2), "y = Pow(2, x) from 7");
  EXPECT_EQ(trace(expm1), "y = Sub(Exp(x), 1) from 7");
  EXPECT_EQ(trace(log1p), "y = Log(Add(1, x)) from 7");
  EXPECT_EQ(trace([](Symbol x) { return pow(x, 2); }), "y = Pow(x, 2) from 7");
  EXPECT_EQ(trace(floor), "y = Floor(x) from 6");
  EXPECT_EQ(trace(ceil), "y = Ceil(x) from 6");
  EXPECT_EQ(trace(round), "y = Round(x) from 11");
  EXPECT_EQ(trace(sin), "y = Sin(x) from 7");
  EXPECT_EQ(trace(cos), "y = Cos(x) from 7");
}

}  // namespace
}  // namespace graft
