// The loops over floats, and those that stand for several operators.
#include <cmath>

#include "functions.h"

namespace graft::fused {

const Family* float_family(Op op) { return floating_family<float>(op); }
const Family* double_family(Op op) { return floating_family<double>(op); }

namespace {

// ---- two operators in one loop ---------------------------------------------------------------------------------------

template <class First, class Second, bool Reversed>
struct Pair {
  static constexpr bool commutative = !std::is_same_v<First, Sub>;
  static constexpr int cost = std::is_same_v<Second, Div> ? 3 : 1;
  static GRAFT_INLINE float f(float a, float b, float c) {
    const float first = First::f(a, b);
    return Reversed ? Second::f(c, first) : Second::f(first, c);
  }
};
template <class First, class Second, bool Reversed = false>
constexpr const Family* pair = &make_family<Pair<First, Second, Reversed>, float(float, float, float), 0b000, 0b010, 0b100, 0b110>;

template <class First>
const Family* pair_with(Op second, bool reversed) {
  switch (second) {
    case Op::add: return pair<First, Add>;
    case Op::mul: return pair<First, Mul>;
    case Op::sub: return reversed ? pair<First, Sub, true> : pair<First, Sub>;
    case Op::div: return reversed ? nullptr : pair<First, Div>;
    default: return nullptr;
  }
}

template <class Unary, class Binary>
struct UnaryOf {
  static constexpr bool commutative = true;
  static constexpr int cost = Unary::cost;
  static GRAFT_INLINE float f(float a, float b) { return Unary::f(Binary::f(a, b)); }
};
template <class Unary, class Binary>
struct BinaryOf {
  static constexpr int cost = Unary::cost;
  static GRAFT_INLINE float f(float a, float b) { return Binary::f(Unary::f(a), b); }
};
/// Calls then(a function of elements) for an operator that is joined with add or mul.
template <class Then>
const Family* with_unary(Op op, Then then) {
  switch (op) {
    case Op::exp: return then(Exp{});
    case Op::tanh: return then(Tanh{});
    case Op::sigmoid: return then(Sigmoid{});
    case Op::erf: return then(Erf{});
    case Op::sqrt: return then(Sqrt{});
    case Op::abs: return then(Abs{});
    default: return nullptr;
  }
}

// ---- more than two ---------------------------------------------------------------------------------------------------

struct AddClamp {
  static constexpr bool commutative = true;
  static GRAFT_INLINE float f(float a, float b, float lo, float hi) { return clamp(a + b, lo, hi); }
};
struct MulAddClamp {
  static constexpr bool commutative = true;
  static GRAFT_INLINE float f(float a, float b, float c, float lo, float hi) { return clamp(a * b + c, lo, hi); }
};
struct ClampMul {
  static GRAFT_INLINE float f(float a, float lo, float hi, float b) { return clamp(a, lo, hi) * b; }
};
struct ClampDiv {
  static constexpr int cost = 3;
  static GRAFT_INLINE float f(float a, float lo, float hi, float b) { return clamp(a, lo, hi) / b; }
};
struct AddClampMul {
  static constexpr bool commutative = true;
  static GRAFT_INLINE float f(float a, float b, float lo, float hi, float c) { return clamp(a + b, lo, hi) * c; }
};
struct MulAddClampMul {
  static constexpr bool commutative = true;
  static GRAFT_INLINE float f(float a, float b, float c, float lo, float hi, float d) { return clamp(a * b + c, lo, hi) * d; }
};
template <Joined Form>
struct Gate {
  static constexpr bool commutative = true;
  static constexpr int cost = Form == Joined::gate_div || Form == Joined::gate_inner_div ? 3 : 2;
  static GRAFT_INLINE float f(float a, float b, float c, float k, float lo, float hi, float m) {
    const float t = a * b + c;
    const float gate = clamp(t + k, lo, hi);
    if constexpr (Form == Joined::gate_mul) return t * gate * m;
    else if constexpr (Form == Joined::gate_div) return t * gate / m;
    else if constexpr (Form == Joined::gate_inner_mul) return t * (gate * m);
    else if constexpr (Form == Joined::gate_inner_div) return t * (gate / m);
    else return t * gate;
  }
};
/// The last four are constants; b and c may be one value, or one of them, or none.
template <Joined Form>
constexpr const Family& gate =
    make_family<Gate<Form>, float(float, float, float, float, float, float, float), 0b1111000, 0b1111010, 0b1111100, 0b1111110>;

}  // namespace

const Family* pair_of(Op first, Op second, bool reversed) {
  switch (first) {
    case Op::add: return pair_with<Add>(second, reversed);
    case Op::sub: return pair_with<Sub>(second, reversed);
    case Op::mul: return pair_with<Mul>(second, reversed);
    default: return nullptr;
  }
}

const Family* unary_of(Op unary, Op binary) {
  return with_unary(unary, [&]<class F>(F) -> const Family* {
    if (binary == Op::add) return graft::fused::binary<UnaryOf<F, Add>, float>;
    return binary == Op::mul ? graft::fused::binary<UnaryOf<F, Mul>, float> : nullptr;
  });
}
const Family* binary_of(Op binary, Op unary) {
  return with_unary(unary, [&]<class F>(F) -> const Family* {
    if (binary == Op::add) return graft::fused::binary<BinaryOf<F, Add>, float>;
    return binary == Op::mul ? graft::fused::binary<BinaryOf<F, Mul>, float> : nullptr;
  });
}

const Family& joined(Joined which) {
  switch (which) {
    case Joined::add_clamp: return make_family<AddClamp, float(float, float, float, float), 0b1100, 0b1110>;
    case Joined::mul_add_clamp: return make_family<MulAddClamp, float(float, float, float, float, float), 0b11000, 0b11010, 0b11100, 0b11110>;
    case Joined::clamp_mul: return make_family<ClampMul, float(float, float, float, float), 0b0110, 0b1110>;
    case Joined::clamp_div: return make_family<ClampDiv, float(float, float, float, float), 0b0110, 0b1110>;
    case Joined::add_clamp_mul: return make_family<AddClampMul, float(float, float, float, float, float), 0b01100, 0b01110, 0b11100, 0b11110>;
    case Joined::mul_add_clamp_mul:
      return make_family<MulAddClampMul, float(float, float, float, float, float, float), 0b011000, 0b011110, 0b111000, 0b111110>;
    case Joined::gate: return gate<Joined::gate>;
    case Joined::gate_mul: return gate<Joined::gate_mul>;
    case Joined::gate_div: return gate<Joined::gate_div>;
    case Joined::gate_inner_mul: return gate<Joined::gate_inner_mul>;
    case Joined::gate_inner_div: return gate<Joined::gate_inner_div>;
  }
  __builtin_unreachable();
}

}  // namespace graft::fused
