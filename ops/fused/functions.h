// What every operator of a program computes, element by element.
#pragma once

#include <cmath>
#include <type_traits>

#include "loop.h"
#include "graft/math.h"
#include "graft/scalar.h"

namespace graft::fused {

const Family* float_family(Op op);
const Family* double_family(Op op);

// A function of graft/math.h as one of elements.
#define FUSED_UNARY(Name, expression, relative_cost)    \
  struct Name {                                         \
    static constexpr int cost = relative_cost;          \
    template <class T>                                  \
    static GRAFT_INLINE auto f(T x) { return expression; } \
  };
FUSED_UNARY(Neg, T(0 - wrapping(x)), 1)
FUSED_UNARY(FloatNeg, -x, 1)
FUSED_UNARY(Abs, graft::abs(x), 1)
FUSED_UNARY(IntegerAbs, T(x < 0 ? 0 - wrapping(x) : wrapping(x)), 1)
FUSED_UNARY(Sign, (x > 0 ? T(1) : x < 0 ? T(-1) : T(x + T(0))), 1)
FUSED_UNARY(Floor, graft::floor(x), 1)
FUSED_UNARY(Ceil, graft::ceil(x), 1)
FUSED_UNARY(Round, graft::round(x), 1)
FUSED_UNARY(Sqrt, graft::sqrt(x), 4)
FUSED_UNARY(Reciprocal, T(1) / x, 3)
FUSED_UNARY(Exp, graft::exp(x), 6)
FUSED_UNARY(Expm1, graft::expm1(x), 8)
FUSED_UNARY(Log, graft::log(x), 8)
FUSED_UNARY(Log1p, graft::log1p(x), 8)
FUSED_UNARY(Sin, graft::sin(x), 12)
FUSED_UNARY(Cos, graft::cos(x), 12)
FUSED_UNARY(Tanh, graft::tanh(x), 8)
FUSED_UNARY(Sigmoid, graft::sigmoid(x), 8)
FUSED_UNARY(Erf, graft::erf(x), 8)
FUSED_UNARY(Relu, (x < 0 ? T(0) : x), 1)
FUSED_UNARY(Softplus, graft::softplus(x), 10)
FUSED_UNARY(Silu, graft::silu(x), 8)
FUSED_UNARY(Gelu, graft::gelu(x), 10)
FUSED_UNARY(GeluTanh, graft::gelu_tanh(x), 10)
FUSED_UNARY(Mish, graft::mish(x), 10)
FUSED_UNARY(IsNan, uint8_t(x != x), 1)
FUSED_UNARY(IsInf, uint8_t(graft::abs(x) == T(math_detail::kInf)), 1)
FUSED_UNARY(Not, uint8_t(x == 0), 1)
#undef FUSED_UNARY

struct Pow {
  static constexpr int cost = 20;
  template <class T>
  static GRAFT_INLINE T f(T a, T b) { return graft::pow(a, b); }
};
/// The remainder with the dividend's sign.
struct Fmod {
  static constexpr int cost = 40;
  template <class T>
  static GRAFT_INLINE T f(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
    else return b == 0 || b == -1 ? T(0) : T(a % (b == 0 || b == -1 ? T(1) : b));
  }
};
/// The remainder with the divisor's sign.
struct Mod {
  static constexpr int cost = 40;
  template <class T>
  static GRAFT_INLINE T f(T a, T b) {
    const T rest = Fmod::f(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;
  }
};

#define FUSED_COMPARISON(Name, sign)                                       \
  struct Name {                                                            \
    template <class T>                                                     \
    static GRAFT_INLINE uint8_t f(T a, T b) { return uint8_t(a sign b); } \
  };
FUSED_COMPARISON(Equal, ==)
FUSED_COMPARISON(Less, <)
FUSED_COMPARISON(LessEqual, <=)
FUSED_COMPARISON(Greater, >)
FUSED_COMPARISON(GreaterEqual, >=)
FUSED_COMPARISON(And, &)
FUSED_COMPARISON(Or, |)
FUSED_COMPARISON(Xor, ^)
#undef FUSED_COMPARISON

struct Where {
  template <class T>
  static GRAFT_INLINE T f(uint8_t c, T a, T b) { return c != 0 ? a : b; }
};

template <class F, class T>
constexpr const Family* unary = &make_family<F, T(T), 0>;
template <class F, class T>
constexpr const Family* binary = &make_family<F, T(T, T), 0b00, 0b10>;
template <class F, class T>
constexpr const Family* ordered_binary = &make_family<F, T(T, T), 0b00, 0b10, 0b01>;
template <class F, class T>
constexpr const Family* comparison = &make_family<F, uint8_t(T, T), 0b00, 0b10>;

/// Finds what every type of number has.
template <class T>
const Family* number_family(Op op) {
  switch (op) {
    case Op::sign: return unary<Sign, T>;
    case Op::relu: return unary<Relu, T>;
    case Op::add: return binary<Add, T>;
    case Op::sub: return ordered_binary<Sub, T>;
    case Op::mul: return binary<Mul, T>;
    case Op::div: return ordered_binary<Div, T>;
    case Op::min: return binary<Min, T>;
    case Op::max: return binary<Max, T>;
    case Op::fmod: return binary<Fmod, T>;
    case Op::equal: return comparison<Equal, T>;
    case Op::less: return comparison<Less, T>;
    case Op::less_equal: return comparison<LessEqual, T>;
    case Op::greater: return comparison<Greater, T>;
    case Op::greater_equal: return comparison<GreaterEqual, T>;
    case Op::clamp: return &make_family<Clamp, T(T, T, T), 0b000, 0b110>;
    case Op::where: return &make_family<Where, T(uint8_t, T, T), 0b000, 0b010, 0b100, 0b110>;
    default: return nullptr;
  }
}

template <class T>
const Family* floating_family(Op op) {
  switch (op) {
    case Op::neg: return unary<FloatNeg, T>;
    case Op::abs: return unary<Abs, T>;
    case Op::floor: return unary<Floor, T>;
    case Op::ceil: return unary<Ceil, T>;
    case Op::round: return unary<Round, T>;
    case Op::sqrt: return unary<Sqrt, T>;
    case Op::reciprocal: return unary<Reciprocal, T>;
    case Op::exp: return unary<Exp, T>;
    case Op::expm1: return unary<Expm1, T>;
    case Op::log: return unary<Log, T>;
    case Op::log1p: return unary<Log1p, T>;
    case Op::sin: return unary<Sin, T>;
    case Op::cos: return unary<Cos, T>;
    case Op::tanh: return unary<Tanh, T>;
    case Op::sigmoid: return unary<Sigmoid, T>;
    case Op::erf: return unary<Erf, T>;
    case Op::softplus: return unary<Softplus, T>;
    case Op::silu: return unary<Silu, T>;
    case Op::gelu: return unary<Gelu, T>;
    case Op::gelu_tanh: return unary<GeluTanh, T>;
    case Op::mish: return unary<Mish, T>;
    case Op::isnan: return &make_family<IsNan, uint8_t(T), 0>;
    case Op::isinf: return &make_family<IsInf, uint8_t(T), 0>;
    case Op::pow: return ordered_binary<Pow, T>;
    default: return number_family<T>(op);
  }
}

}  // namespace graft::fused
