// Scalar<T>: what a generic functor computes with.
//
//   struct LeakyRelu {
//     constexpr auto operator()(auto x, auto alpha) const { return where(x > 0, x, alpha * x); }
//   };
//
// A functor never sees a raw float: a literal is rounded once to the type that is computed in, a branch is `where`, and
// math is graft's (std::exp does not compile on a Scalar), so the loop around it is one that the compiler widens.
#pragma once

#include <tuple>
#include <type_traits>

#include "graft/dtype.h"
#include "graft/math.h"

namespace graft {

template <class T>
  requires std::is_integral_v<T>
GRAFT_INLINE constexpr T abs(T x) {
  return x < 0 ? math_detail::negate(x) : x;
}

/// Is the outcome of a comparison of two Scalars; use it in `where`.
struct Condition {
  bool value;
  // Both sides are known: nothing is left out, which would be a branch.
  friend constexpr Condition operator&&(Condition a, Condition b) { return {bool(a.value & b.value)}; }
  friend constexpr Condition operator||(Condition a, Condition b) { return {bool(a.value | b.value)}; }
  friend constexpr Condition operator!(Condition a) { return {!a.value}; }
  friend constexpr Condition operator==(Condition a, Condition b) { return {a.value == b.value}; }
  friend constexpr Condition operator!=(Condition a, Condition b) { return {a.value != b.value}; }

  template <class T = Condition>
  constexpr operator bool() const {
    static_assert(!std::is_same_v<T, Condition>, "a branch in an elementwise functor is written where(condition, a, b)");
    return false;
  }
};

/// Is a number of the type that an element is computed in. Integers wrap; what they give divided by zero is 0.
template <class T>
struct Scalar {
  T value;

  Scalar() = default;
  /// Rounds a literal to the type that is computed in.
  template <class A>
    requires std::is_arithmetic_v<A>
  constexpr Scalar(A a) : value(T(a)) {}

  friend GRAFT_INLINE constexpr Scalar operator+(Scalar a, Scalar b) { return math_detail::add(a.value, b.value); }
  friend GRAFT_INLINE constexpr Scalar operator-(Scalar a, Scalar b) { return math_detail::subtract(a.value, b.value); }
  friend GRAFT_INLINE constexpr Scalar operator*(Scalar a, Scalar b) { return math_detail::multiply(a.value, b.value); }
  friend GRAFT_INLINE constexpr Scalar operator/(Scalar a, Scalar b) { return math_detail::divide(a.value, b.value); }
  friend GRAFT_INLINE constexpr Scalar operator-(Scalar a) { return math_detail::negate(a.value); }
  friend GRAFT_INLINE constexpr Scalar operator+(Scalar a) { return a; }

  friend GRAFT_INLINE constexpr Condition operator<(Scalar a, Scalar b) { return {a.value < b.value}; }
  friend GRAFT_INLINE constexpr Condition operator<=(Scalar a, Scalar b) { return {a.value <= b.value}; }
  friend GRAFT_INLINE constexpr Condition operator>(Scalar a, Scalar b) { return {a.value > b.value}; }
  friend GRAFT_INLINE constexpr Condition operator>=(Scalar a, Scalar b) { return {a.value >= b.value}; }
  friend GRAFT_INLINE constexpr Condition operator==(Scalar a, Scalar b) { return {a.value == b.value}; }
  friend GRAFT_INLINE constexpr Condition operator!=(Scalar a, Scalar b) { return {a.value != b.value}; }

  friend GRAFT_INLINE constexpr Scalar where(Condition c, Scalar a, Scalar b) { return c.value ? a : b; }
  friend GRAFT_INLINE constexpr Scalar min(Scalar a, Scalar b) { return graft::min(a.value, b.value); }
  friend GRAFT_INLINE constexpr Scalar max(Scalar a, Scalar b) { return graft::max(a.value, b.value); }
  friend GRAFT_INLINE constexpr Scalar clamp(Scalar x, Scalar low, Scalar high) {
    return graft::clamp(x.value, low.value, high.value);
  }
  friend GRAFT_INLINE constexpr Scalar mod(Scalar x, Scalar y) { return graft::mod(x.value, y.value); }
  friend GRAFT_INLINE constexpr Scalar fmod(Scalar x, Scalar y) { return graft::fmod(x.value, y.value); }
  friend GRAFT_INLINE constexpr Condition isnan(Scalar x) { return {graft::isnan(x.value)}; }
  friend GRAFT_INLINE constexpr Condition isinf(Scalar x) { return {graft::isinf(x.value)}; }
  friend GRAFT_INLINE constexpr Scalar abs(Scalar x) { return graft::abs(x.value); }
  friend GRAFT_INLINE constexpr Scalar sign(Scalar x) { return graft::sign(x.value); }
  friend GRAFT_INLINE constexpr Scalar relu(Scalar x) { return graft::relu(x.value); }
  friend GRAFT_INLINE constexpr Scalar floor(Scalar x) { return graft::floor(x.value); }
  friend GRAFT_INLINE constexpr Scalar ceil(Scalar x) { return graft::ceil(x.value); }
  friend GRAFT_INLINE constexpr Scalar round(Scalar x) { return graft::round(x.value); }
  friend GRAFT_INLINE constexpr Scalar sqrt(Scalar x) { return graft::sqrt(x.value); }
  friend GRAFT_INLINE constexpr Scalar rsqrt(Scalar x) { return graft::rsqrt(x.value); }
  friend GRAFT_INLINE constexpr Scalar reciprocal(Scalar x) { return graft::reciprocal(x.value); }
  friend GRAFT_INLINE constexpr Scalar pow(Scalar x, Scalar y) { return graft::pow(x.value, y.value); }
  friend GRAFT_INLINE constexpr Scalar exp(Scalar x) { return graft::exp(x.value); }
  friend GRAFT_INLINE constexpr Scalar exp2(Scalar x) { return graft::exp2(x.value); }
  friend GRAFT_INLINE constexpr Scalar expm1(Scalar x) { return graft::expm1(x.value); }
  friend GRAFT_INLINE constexpr Scalar log(Scalar x) { return graft::log(x.value); }
  friend GRAFT_INLINE constexpr Scalar log1p(Scalar x) { return graft::log1p(x.value); }
  friend GRAFT_INLINE constexpr Scalar tanh(Scalar x) { return graft::tanh(x.value); }
  friend GRAFT_INLINE constexpr Scalar sigmoid(Scalar x) { return graft::sigmoid(x.value); }
  friend GRAFT_INLINE constexpr Scalar erf(Scalar x) { return graft::erf(x.value); }
  friend GRAFT_INLINE constexpr Scalar sin(Scalar x) { return graft::sin(x.value); }
  friend GRAFT_INLINE constexpr Scalar cos(Scalar x) { return graft::cos(x.value); }
  friend GRAFT_INLINE constexpr Scalar softplus(Scalar x) { return graft::softplus(x.value); }
  friend GRAFT_INLINE constexpr Scalar silu(Scalar x) { return graft::silu(x.value); }
  friend GRAFT_INLINE constexpr Scalar mish(Scalar x) { return graft::mish(x.value); }
  friend GRAFT_INLINE constexpr Scalar gelu(Scalar x) { return graft::gelu(x.value); }
  friend GRAFT_INLINE constexpr Scalar gelu_tanh(Scalar x) { return graft::gelu_tanh(x.value); }
};

/// Converts to T as ONNX's Cast does: towards zero for integers, rounding for 16-bit floats. cast<bool> is true for all
/// numbers but 0, and gives a Condition.
template <class T, class U>
GRAFT_INLINE constexpr auto cast(Scalar<U> x) {
  if constexpr (std::is_same_v<T, bool>) return Condition{x.value != 0};
  else if constexpr (std::is_same_v<T, float16>) return Scalar<float>(to_float(to_float16(float(x.value))));
  else if constexpr (std::is_same_v<T, bfloat16>) return Scalar<float>(to_float(to_bfloat16(float(x.value))));
  else return Scalar<T>(T(x.value));
}
template <class T>
GRAFT_INLINE constexpr auto cast(Condition c) {
  if constexpr (std::is_same_v<T, bool>) return c;
  else return Scalar<compute_t<T>>(compute_t<T>(c.value));
}

/// Gives the result where a condition is an input of the operator, or holds two of them.
GRAFT_INLINE constexpr Condition where(Condition c, Condition a, Condition b) { return {c.value ? a.value : b.value}; }
/// Chooses between two literals; the result is of their type: where(c, 1.f, 0.f).
template <class A>
  requires std::is_arithmetic_v<A>
GRAFT_INLINE constexpr Scalar<A> where(Condition c, A a, A b) {
  return c.value ? a : b;
}

/// Is what a functor with several outputs returns: `return outputs{sum, difference};`. As an option of m.def it names
/// the outputs: `outputs("sum", "difference")`.
template <class... T>
struct outputs {
  std::tuple<T...> values;
  constexpr outputs(T... v) : values(v...) {}
};

}  // namespace graft
