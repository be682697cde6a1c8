#include "fuse/expression.h"

#include <cmath>
#include <cstdint>
#include <optional>

#include "graft/scalar.h"

namespace graft::fuse {
namespace {

using fused::Op;
using fused::Type;
using fused::Value;

/// Computes an operator of constants as a loop would, in the type that a loop computes in.
template <class C> double compute(Op op, double a, double b, double c) {
  const Scalar<C> x{C(a)};
  const Scalar<C> y{C(b)};
  const Scalar<C> z{C(c)};
  const auto number = [](Scalar<C> result) { return double(result.value); };
  switch (op) {
    case Op::neg:
      return number(-x);
    case Op::abs:
      return number(abs(x));
    case Op::sign:
      return number(sign(x));
    case Op::relu:
      return number(relu(x));
    case Op::add:
      return number(x + y);
    case Op::sub:
      return number(x - y);
    case Op::mul:
      return number(x * y);
    case Op::div:
      return number(x / y);
    case Op::min:
      return number(min(x, y));
    case Op::max:
      return number(max(x, y));
    case Op::fmod:
      return number(fmod(x, y));
    case Op::clamp:
      return number(clamp(x, y, z));
    case Op::equal:
      return (x == y).value;
    case Op::less:
      return (x < y).value;
    case Op::less_equal:
      return (x <= y).value;
    case Op::greater:
      return (x > y).value;
    case Op::greater_equal:
      return (x >= y).value;
    default:
      break;
  }
  if constexpr (std::is_integral_v<C>) {
    if (op == Op::mod) return number(mod(x, y));
  } else {
    switch (op) {
      case Op::floor:
        return number(floor(x));
      case Op::ceil:
        return number(ceil(x));
      case Op::round:
        return number(round(x));
      case Op::sqrt:
        return number(sqrt(x));
      case Op::reciprocal:
        return number(reciprocal(x));
      case Op::exp:
        return number(exp(x));
      case Op::expm1:
        return number(expm1(x));
      case Op::log:
        return number(log(x));
      case Op::log1p:
        return number(log1p(x));
      case Op::sin:
        return number(sin(x));
      case Op::cos:
        return number(cos(x));
      case Op::tanh:
        return number(tanh(x));
      case Op::sigmoid:
        return number(sigmoid(x));
      case Op::erf:
        return number(erf(x));
      case Op::softplus:
        return number(softplus(x));
      case Op::silu:
        return number(silu(x));
      case Op::gelu:
        return number(gelu(x));
      case Op::gelu_tanh:
        return number(gelu_tanh(x));
      case Op::mish:
        return number(mish(x));
      case Op::isnan:
        return isnan(x).value;
      case Op::isinf:
        return isinf(x).value;
      case Op::pow:
        return number(pow(x, y));
      default:
        break;
    }
  }
  return std::nan("");
}

double convert(Type from, Type to, double number) {
  (void)from;
  switch (to) {
    case Type::f32:
      return double(float(number));
    case Type::f64:
      return number;
    case Type::f16:
      return double(to_float(to_float16(float(number))));
    case Type::bf16:
      return double(to_float(to_bfloat16(float(number))));
    case Type::i32:
      return double(cast<int32_t>(Scalar<double>(number)).value);
    case Type::i64:
      return double(cast<int64_t>(Scalar<double>(number)).value);
    case Type::boolean:
      return number != 0;
  }
  return number;
}

/// Builds a graph, value by value.
class Simplifier {
 public:
  Graph run(const fused::Program& program) {
    std::vector<int> to(program.values.size());
    for (size_t i = 0; i < program.values.size(); ++i) {
      Value value = program.values[i];
      for (int& operand : value.operands) {
        if (operand >= 0) operand = to[size_t(operand)];
      }
      to[i] = value.op == Op::input ? add(value, false) : make(value);
    }
    for (const int output : program.outputs) graph_.outputs.push_back(to[size_t(output)]);
    count_uses();
    return std::move(graph_);
  }

 private:
  const Value& node(int index) const { return graph_.nodes[size_t(index)]; }
  bool is_constant(int index) const { return node(index).op == Op::constant; }

  /// Adds a node, or finds the same one; a NaN is not the same as another.
  int add(const Value& value, bool shared = true) {
    for (size_t i = 0; shared && i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i] == value && std::signbit(graph_.nodes[i].number) == std::signbit(value.number))
        return int(i);
    }
    graph_.nodes.push_back(value);
    return int(graph_.nodes.size()) - 1;
  }
  int make(Op op, Type type, int a = -1, int b = -1, int c = -1) {
    return make(Value{op, type, {a, b, c}, 0});
  }
  int constant(Type type, double number) { return add(Value{Op::constant, type, {-1, -1, -1}, number}); }

  int make(const Value& value) {
    if (value.op == Op::constant) return add(value);
    if (const auto folded = fold(value)) return *folded;
    if (const auto known = resolve(value)) return *known;
    if (const auto joined = join(value)) return *joined;
    return add(value);
  }

  std::optional<int> fold(const Value& value) {
    std::array<double, 3> numbers{};
    Type type = value.type;
    for (size_t k = 0; k < 3 && value.operands[k] >= 0; ++k) {
      if (!is_constant(value.operands[k])) return {};
      numbers[k] = node(value.operands[k]).number;
      type = node(value.operands[k]).type;
    }
    if (value.op == Op::where) return value.operands[numbers[0] != 0 ? 1 : 2];
    if (value.op == Op::cast) return constant(value.type, convert(type, value.type, numbers[0]));
    if (type == Type::boolean) return {};  // resolve
    double result = 0;
    switch (type) {
      case Type::f64:
        result = compute<double>(value.op, numbers[0], numbers[1], numbers[2]);
        break;
      case Type::i32:
        result = compute<int32_t>(value.op, numbers[0], numbers[1], numbers[2]);
        break;
      case Type::i64:
        result = compute<int64_t>(value.op, numbers[0], numbers[1], numbers[2]);
        break;
      default:
        result = compute<float>(value.op, numbers[0], numbers[1], numbers[2]);
        break;
    }
    return constant(value.type, result);
  }

  /// Takes constants out of what conditions compute: C++ has no literal that is a Condition.
  std::optional<int> resolve(const Value& value) {
    const auto [a, b, c] = value.operands;
    const auto is = [&](int index, bool wanted) {
      return index >= 0 && is_constant(index) && node(index).type == Type::boolean &&
             (node(index).number != 0) == wanted;
    };
    const auto negated = [&](int index) { return make(Op::logical_not, Type::boolean, index); };
    const auto both = [&](int x, int y) { return make(Op::logical_and, Type::boolean, x, y); };
    const auto either = [&](int x, int y) { return make(Op::logical_or, Type::boolean, x, y); };
    switch (value.op) {
      case Op::cast:
        if (node(a).type == value.type && value.type != Type::f16 && value.type != Type::bf16) return a;
        return {};
      case Op::logical_not:
        if (is(a, true)) return constant(Type::boolean, 0);
        if (is(a, false)) return constant(Type::boolean, 1);
        if (node(a).op == Op::logical_not) return node(a).operands[0];
        return {};
      case Op::logical_and:
        if (is(a, false) || is(b, true)) return a;
        if (is(b, false) || is(a, true)) return b;
        return {};
      case Op::logical_or:
        if (is(a, true) || is(b, false)) return a;
        if (is(b, true) || is(a, false)) return b;
        return {};
      case Op::logical_xor:
        if (is(a, false)) return b;
        if (is(b, false)) return a;
        if (is(a, true)) return negated(b);
        if (is(b, true)) return negated(a);
        return {};
      case Op::where:
        if (is(a, true) || b == c) return b;
        if (is(a, false)) return c;
        if (is(b, true)) return either(a, c);
        if (is(b, false)) return both(negated(a), c);
        if (is(c, true)) return either(negated(a), b);
        if (is(c, false)) return both(a, b);
        return {};
      default:
        break;
    }
    if (a < 0 || b < 0 || node(a).type != Type::boolean) return {};
    switch (value.op) {
      case Op::equal:
        if (is(a, true)) return b;
        if (is(b, true)) return a;
        if (is(a, false)) return negated(b);
        if (is(b, false)) return negated(a);
        return {};
      case Op::less:
        return both(negated(a), b);
      case Op::less_equal:
        return either(negated(a), b);
      case Op::greater:
        return both(a, negated(b));
      case Op::greater_equal:
        return either(a, negated(b));
      default:
        return {};
    }
  }

  /// Finds the operand of a product of two that is not `factor`.
  std::optional<int> other(const Value& product, int factor) const {
    if (product.operands[0] == factor) return product.operands[1];
    if (product.operands[1] == factor) return product.operands[0];
    return {};
  }

  /// Joins what the SDK has a function for.
  std::optional<int> join(const Value& value) {
    if (value.op != Op::mul) return {};
    for (const int k : {0, 1}) {
      const Value& factor = node(value.operands[size_t(k)]);
      const int x = value.operands[size_t(1 - k)];
      if (factor.op == Op::sigmoid && factor.operands[0] == x) return make(Op::silu, value.type, x);
      if (factor.op != Op::tanh) continue;
      const Value& inner = node(factor.operands[0]);
      if (inner.op == Op::softplus && inner.operands[0] == x) return make(Op::mish, value.type, x);
    }
    if (const auto x = erf_gelu(value)) return make(Op::gelu, value.type, *x);
    return {};
  }

  /// Finds x of x * (1 + erf(x / sqrt 2)) * 0.5, its factors in any order.
  std::optional<int> erf_gelu(const Value& value) const {
    std::vector<int> factors;
    for (const int operand : {value.operands[0], value.operands[1]}) {
      const Value& factor = node(operand);
      if (factor.op == Op::mul)
        factors.insert(factors.end(), factor.operands.begin(), factor.operands.begin() + 2);
      else
        factors.push_back(operand);
    }
    if (factors.size() != 3) return {};
    std::optional<int> half;
    std::optional<int> x;
    std::optional<int> inner;
    for (const int index : factors) {
      if (is_constant(index) && node(index).number == 0.5)
        half = index;
      else if (const auto argument = one_plus_erf(index))
        inner = argument;
      else
        x = index;
    }
    if (!half || !x || !inner) return {};
    const Value& scaled = node(*inner);
    const auto near = [](double a, double b) { return std::fabs(a - b) < 1e-6; };
    for (const int k : {0, 1}) {
      const int operand = scaled.operands[size_t(k)];
      const int rest = scaled.operands[size_t(1 - k)];
      if (operand < 0 || rest != *x || !is_constant(operand)) continue;
      if (scaled.op == Op::mul && near(node(operand).number, 0.7071067811865476)) return x;
      if (scaled.op == Op::div && k == 1 && near(node(operand).number, 1.4142135623730951)) return x;
    }
    return {};
  }
  std::optional<int> one_plus_erf(int index) const {
    const Value& sum = node(index);
    if (sum.op != Op::add) return {};
    for (const int k : {0, 1}) {
      const Value& one = node(sum.operands[size_t(k)]);
      const Value& erf = node(sum.operands[size_t(1 - k)]);
      if (one.op == Op::constant && one.number == 1 && erf.op == Op::erf) return erf.operands[0];
    }
    return {};
  }

  void count_uses() {
    graph_.uses.assign(graph_.nodes.size(), 0);
    for (const int output : graph_.outputs) ++graph_.uses[size_t(output)];
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      if (graph_.uses[i] == 0) continue;
      for (const int operand : graph_.nodes[i].operands) {
        if (operand >= 0) ++graph_.uses[size_t(operand)];
      }
    }
  }

  Graph graph_;
};

/// Compares nodes with shapes of expressions, and notes what they consist of.
class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  const Value& node(int index) const { return graph_.nodes[size_t(index)]; }
  bool is(int index, Op op) const { return index >= 0 && node(index).op == op; }
  bool is_number(int index, double number) const {
    return is(index, Op::constant) && std::fabs(node(index).number - number) <= 1e-6 * std::fabs(number);
  }
  /// Gives the operands of a commutative node with the one that `chosen` accepts second; nothing when none is
  /// accepted.
  template <class Chosen> std::optional<std::array<int, 2>> split(int index, Op op, Chosen chosen) const {
    if (!is(index, op)) return {};
    const int a = node(index).operands[0];
    const int b = node(index).operands[1];
    if (chosen(b)) return {{a, b}};
    if (chosen(a)) return {{b, a}};
    return {};
  }
  auto number(double wanted) const {
    return [this, wanted](int index) { return is_number(index, wanted); };
  }
  auto constant() const {
    return [this](int index) { return is(index, Op::constant); };
  }

  /// Finds x of clamp(x + 3, 0, 6).
  std::optional<int> raised(int index, std::vector<int>& interior) const {
    if (!is(index, Op::clamp) || !is_number(node(index).operands[1], 0) ||
        !is_number(node(index).operands[2], 6))
      return {};
    const auto sum = split(node(index).operands[0], Op::add, number(3));
    if (!sum) return {};
    interior.insert(interior.end(), {index, node(index).operands[0]});
    return (*sum)[0];
  }
  /// Finds y of y / 6 or y * (1 / 6).
  std::optional<int> sixth(int index) const {
    if (is(index, Op::div) && is_number(node(index).operands[1], 6)) return node(index).operands[0];
    if (const auto product = split(index, Op::mul, number(1.0 / 6))) return (*product)[0];
    return {};
  }
  /// Finds x of clamp(a * x + b, 0, 1) or clamp(x + 3, 0, 6) / 6.
  std::optional<int> hard_sigmoid(int index, std::vector<int>& interior) const {
    if (const auto whole = sixth(index)) return raised(*whole, interior);
    if (!is(index, Op::clamp) || !is_number(node(index).operands[1], 0) ||
        !is_number(node(index).operands[2], 1))
      return {};
    const auto sum = split(node(index).operands[0], Op::add, constant());
    if (!sum) return {};
    const auto product = split((*sum)[0], Op::mul, constant());
    if (!product) return {};
    interior.insert(interior.end(), {node(index).operands[0], (*sum)[0]});
    return (*product)[0];
  }
  std::optional<int> hard_swish(int index, std::vector<int>& interior) const {
    if (const auto whole = sixth(index)) {  // x * clamp(x + 3, 0, 6) / 6
      for (const int k : {0, 1}) {
        if (!is(*whole, Op::mul)) break;
        std::vector<int> found;
        const auto x = raised(node(*whole).operands[size_t(k)], found);
        if (!x || *x != node(*whole).operands[size_t(1 - k)]) continue;
        interior = found;
        interior.push_back(*whole);
        return x;
      }
    }
    for (const int k : {0, 1}) {  // x * hard_sigmoid(x)
      if (!is(index, Op::mul)) break;
      const int gate = node(index).operands[size_t(k)];
      std::vector<int> found;
      const auto x = hard_sigmoid(gate, found);
      if (!x || *x != node(index).operands[size_t(1 - k)] || !gates_by_sixths(gate)) continue;
      interior = found;
      interior.push_back(gate);
      return x;
    }
    return {};
  }

 private:
  /// Says whether a hard sigmoid is that of HardSwish: x / 6 + 1 / 2.
  bool gates_by_sixths(int gate) const {
    if (sixth(gate)) return true;
    const auto sum = split(node(gate).operands[0], Op::add, number(0.5));
    return sum && split((*sum)[0], Op::mul, number(1.0 / 6));
  }

  const Graph& graph_;
};

}  // namespace

Graph simplify(const fused::Program& program) { return Simplifier().run(program); }

Idiom find_idiom(const Graph& graph, int index) {
  const Matcher match(graph);
  const Value& node = graph.nodes[size_t(index)];
  Idiom idiom;
  const auto named = [&](std::string name) {
    for (const int inner : idiom.interior) {  // what others read too is no inner part
      if (graph.uses[size_t(inner)] > 1) return Idiom{};
    }
    idiom.name = std::move(name);
    return idiom;
  };
  if (match.hard_swish(index, idiom.interior)) return named("HardSwish");
  idiom.interior.clear();
  if (match.hard_sigmoid(index, idiom.interior)) return named("HardSigmoid");
  idiom.interior.clear();
  if (node.op == Op::clamp) {
    if (match.is_number(node.operands[1], 0) && match.is_number(node.operands[2], 6)) return {"Relu6", {}};
    return {"Clip", {}};
  }
  if (node.op == Op::mul && node.operands[0] == node.operands[1]) return {"Square", {}};
  if (node.op == Op::pow && match.is_number(node.operands[1], 2)) return {"Square", {}};
  if (node.op == Op::mul) {
    for (const int k : {0, 1}) {
      const int gate = node.operands[size_t(k)];
      const int x = node.operands[size_t(1 - k)];
      if (!match.is(gate, Op::sigmoid)) continue;
      const auto scaled = match.split(graph.nodes[size_t(gate)].operands[0], Op::mul, match.constant());
      if (!scaled || (*scaled)[0] != x) continue;
      idiom.interior = {gate, graph.nodes[size_t(gate)].operands[0]};
      return named("QuickGelu");
    }
  }
  if (node.op == Op::where) {
    const Value& condition = graph.nodes[size_t(node.operands[0])];
    const bool sided = condition.op == Op::less || condition.op == Op::less_equal ||
                       condition.op == Op::greater || condition.op == Op::greater_equal;
    if (sided && match.is_number(condition.operands[1], 0)) {
      const int x = condition.operands[0];
      for (const int k : {1, 2}) {
        const int branch = node.operands[size_t(k)];
        if (node.operands[size_t(3 - k)] != x || !match.is(branch, Op::mul)) continue;
        const auto scaled = match.split(branch, Op::mul, [&](int other) { return other != x; });
        if (!scaled || (*scaled)[0] != x) continue;
        idiom.interior = {node.operands[0], branch};
        return named(match.is((*scaled)[1], Op::constant) ? "LeakyRelu" : "PRelu");
      }
      for (const int k : {1, 2}) {
        const int branch = node.operands[size_t(k)];
        const auto scaled = match.split(branch, Op::mul, match.constant());
        const int bent = scaled ? (*scaled)[0] : branch;
        if (node.operands[size_t(3 - k)] != x || !match.is(bent, Op::expm1)) continue;
        if (graph.nodes[size_t(bent)].operands[0] != x) continue;
        idiom.interior = {node.operands[0], branch};
        if (bent != branch) idiom.interior.push_back(bent);
        return named("Elu");
      }
    }
  }
  return {};
}

}  // namespace graft::fuse
