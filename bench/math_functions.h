// The functions of graft/math.h: each as a loop in every variant, beside its definition in double.
//
//   for (const MathFunction& f : math_functions) f.run(Target::avx2, x, y, n);
//
// bench/math_errors.cc walks through all floats with it, tests/sdk/math_test.cc through a sample.
#pragma once

#include <graft/math.h>
#include <graft/target.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace graft {

/// Loops over elements as an elementwise operator does.
template <float (*F)(float)> struct MathLoop {
  const float* x;
  float* y;
  int64_t n;
  template <Target> GRAFT_INLINE void operator()() const {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = F(x[i]);
  }
};

/// Is the largest error of pow, on a sample: there are 2^64 pairs.
inline constexpr double kPowLimit = 1.5;

struct PowLoop {
  const float* x;
  const float* exponent;
  float* y;
  int64_t n;
  template <Target> GRAFT_INLINE void operator()() const {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = pow(x[i], exponent[i]);
  }
};

/// Runs a loop in the variant for one target, whatever the processor prefers.
template <class Loop> void run_variant(Target target, const Loop& loop) {
  switch (target) {
#if defined(GRAFT_X86_64)
    case Target::avx512:
      return detail::run_avx512(loop);
    case Target::avx2:
      return detail::run_avx2(loop);
#else
    case Target::avx512:
    case Target::avx2:
#endif
    case Target::baseline:
      return detail::run_baseline(loop);
  }
}

/// Is a function under test.
struct MathFunction {
  std::string_view name;
  /// Is the definition. Double's own error, some 2^-29 of a float's last place, does not show in the figures;
  /// where cancellation would raise it, the form is one that does not cancel.
  double (*exact)(double);
  void (*run)(Target, const float*, float*, int64_t);
  /// Are the largest errors in units of the last place where the result is normal, and where it is subnormal.
  double limit, subnormal_limit = 1;
};

template <float (*F)(float)> void run_math(Target target, const float* x, float* y, int64_t n) {
  run_variant(target, MathLoop<F>{x, y, n});
}

namespace exact {
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus(double x) {
  return (x > 0 ? x : x != x ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
}
inline double gelu(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
// 1 + tanh(u) = 2*sigmoid(2u)
inline double gelu_tanh(double x) {
  return x * sigmoid(2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x));
}
inline double mish(double x) { return x * std::tanh(softplus(x)); }
}  // namespace exact

inline constexpr MathFunction math_functions[] = {
    {"exp", [](double x) { return std::exp(x); }, run_math<exp>, 1.04},
    {"exp2", [](double x) { return std::exp2(x); }, run_math<exp2>, 1.4},
    {"expm1", [](double x) { return std::expm1(x); }, run_math<expm1>, 1.68},
    {"log", [](double x) { return std::log(x); }, run_math<log>, 0.96},
    {"log1p", [](double x) { return std::log1p(x); }, run_math<log1p>, 1.54},
    {"tanh", [](double x) { return std::tanh(x); }, run_math<tanh>, 1.97},
    {"erf", [](double x) { return std::erf(x); }, run_math<erf>, 1.69},
    {"sigmoid", exact::sigmoid, run_math<sigmoid>, 2.45},
    {"softplus", exact::softplus, run_math<softplus>, 2.07},
    {"silu", [](double x) { return x * exact::sigmoid(x); }, run_math<silu>, 2.45, 1.4},
    {"mish", exact::mish, run_math<mish>, 3.95, 1.35},
    {"gelu", exact::gelu, run_math<gelu>, 4.06, 1.8},
    {"gelu_tanh", exact::gelu_tanh, run_math<gelu_tanh>, 3.25, 1.6},
    {"sin", [](double x) { return std::sin(x); }, run_math<sin>, 1.62},
    {"cos", [](double x) { return std::cos(x); }, run_math<cos>, 1.62},
    {"sqrt", [](double x) { return std::sqrt(x); }, run_math<sqrt>, 0.5},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, run_math<rsqrt>, 1.5},
    {"floor", [](double x) { return std::floor(x); }, run_math<floor>, 0, 0},
    {"ceil", [](double x) { return std::ceil(x); }, run_math<ceil>, 0, 0},
    {"round", [](double x) { return std::nearbyint(x); }, run_math<round>, 0, 0},
};

/// Gives the distance of a float from the exact value in units of the last place of the exact value; infinite
/// where one is NaN or infinite and the other is not, or where two zeros differ in sign.
inline double units_in_last_place(float got, double exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : INFINITY;
  const float rounded = float(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    // Next to overflow an infinity counts as 2^128.
    if (rounded == got) return 0;
    if (std::fabs(exact) > 0x1.fffff0p127 && std::fabs(exact) < 0x1.000010p128 &&
        std::signbit(exact) == std::signbit(got)) {
      const double finite = std::isinf(got) ? std::copysign(0x1p128, exact) : double(got);
      return std::fabs(finite - exact) * 0x1p-104;
    }
    return INFINITY;
  }
  int exponent = int(std::bit_cast<uint64_t>(exact) >> 52 & 2047) - 1023;
  if (exponent < -126) exponent = -126;
  return std::fabs(double(got) - exact) * std::bit_cast<double>(uint64_t(1023 + 23 - exponent) << 52);
}

}  // namespace graft
