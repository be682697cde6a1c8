#include "simplify.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace graft::fused {

class Simplifier {
 public:
  Simplifier(const Program& program, Schedule& schedule) : program_(program), s_(schedule) {}

  void run() {
    for (size_t i = 0; i < s_.inputs_; ++i) s_.add({.op = Op::input, .type = program_.values[i].type});
    for (size_t i = 0; i < program_.values.size(); ++i) value_.push_back(translate(i));
    for (int output : program_.outputs) {
      s_.outputs_.push_back(value_[size_t(output)]);
      s_.output_types_.push_back(program_.values[size_t(output)].type);
    }
  }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  int translate(size_t i) {
    const Value& value = program_.values[i];
    if (value.op == Op::input) {
      const Family* widen = widening(value.type);
      return widen ? s_.add({.op = Op::cast,
                             .type = Type::f32,
                             .family = widen,
                             .operands = {int(i)},
                             .rounded = true})
                   : int(i);
    }
    if (value.op == Op::constant) return s_.add_constant(value.number, value.type);
    std::array<int, 3> operands{};
    for (int k = 0; k < info_of(value.op)->arity; ++k)
      operands[size_t(k)] = value_[size_t(value.operands[size_t(k)])];
    if (value.op == Op::cast) return cast(value, operands[0]);
    return make(value.op, operands);
  }

  Type type(int v) const { return s_.items_[size_t(v)].type; }
  bool is(int v, Op op) const { return s_.items_[size_t(v)].op == op; }
  double number(int v) const { return s_.items_[size_t(v)].number; }

  int cast(const Value& value, int from) {
    const Type source = program_.values[size_t(value.operands[0])].type;
    if (value.type == Type::f16 || value.type == Type::bf16) {
      const bool exact = source == Type::boolean || (s_.items_[size_t(from)].rounded && source == value.type);
      const int wide = convert(from, Type::f32);
      return exact ? wide : convert(wide, value.type);
    }
    return convert(from, value.type);
  }
  int convert(int from, Type to) {
    const Family* family = conversion(type(from), to);
    return family ? fold({.op = Op::cast, .type = family->result, .family = family, .operands = {from}})
                  : from;
  }

  /// Adds an operator, in the form that joins best.
  int make(Op op, std::array<int, 3> v) {
    const Type held = type(v[op == Op::where ? 1 : 0]);
    const bool floating = held == Type::f32 || held == Type::f64;
    const auto constant = [&](size_t k) { return s_.is_constant(v[k]); };
    switch (op) {
      case Op::add:
      case Op::mul:
      case Op::min:
      case Op::max:
      case Op::equal:
        if (constant(0)) std::swap(v[0], v[1]);
        break;
      case Op::less:
        return mirrored(op, Op::greater, v);
      case Op::less_equal:
        return mirrored(op, Op::greater_equal, v);
      case Op::greater:
        return mirrored(op, Op::less, v);
      case Op::greater_equal:
        return mirrored(op, Op::less_equal, v);
      default:
        break;
    }
    if (op == Op::sub && floating && constant(1))
      return plain(Op::add, {v[0], s_.add_constant(-number(v[1]), held)});
    if (op == Op::div && floating && constant(1) && is_power_of_two(number(v[1]), held)) {
      return plain(Op::mul, {v[0], s_.add_constant(1 / number(v[1]), held)});
    }
    if (held != Type::f32) return plain(op, v);
    switch (op) {
      case Op::neg:
        return plain(Op::mul, {v[0], s_.add_constant(-1, held)});
      case Op::sub:
        if (constant(0)) return plain(Op::add, {plain(Op::mul, {v[1], s_.add_constant(-1, held)}), v[0]});
        break;
      case Op::relu:
        return limit(v[0], 0, kInfinity);
      case Op::min:
        if (constant(1) && !std::isnan(number(v[1]))) return limit(v[0], -kInfinity, number(v[1]));
        break;
      case Op::max:
        if (constant(1) && !std::isnan(number(v[1]))) return limit(v[0], number(v[1]), kInfinity);
        break;
      case Op::clamp:
        if (constant(1) && constant(2) && !std::isnan(number(v[1])) && !std::isnan(number(v[2]))) {
          return limit(v[0], number(v[1]), number(v[2]));
        }
        break;
      default:
        break;
    }
    return plain(op, v);
  }

  static bool is_power_of_two(double x, Type type) {
    int exponent = 0;
    return std::isfinite(x) && std::abs(std::frexp(x, &exponent)) == 0.5 &&
           std::abs(exponent) < (type == Type::f32 ? 120 : 1000);
  }
  int mirrored(Op op, Op mirror, std::array<int, 3> v) {
    if (!s_.is_constant(v[0])) return plain(op, v);
    return plain(mirror, {v[1], v[0]});
  }

  /// Adds clamp(x, low, high) in float; one of a clamp becomes a single one where that is the same.
  int limit(int x, double low, double high) {
    const auto& item = s_.items_[size_t(x)];
    if (item.op == Op::clamp && s_.is_constant(item.operands[1]) && s_.is_constant(item.operands[2])) {
      const double l = number(item.operands[1]), h = number(item.operands[2]);
      const int inner = item.operands[0];
      if (h == double(kInfinity) && low == -double(kInfinity)) return limited(inner, l, high);
      if (l == -double(kInfinity) && high == double(kInfinity) && low <= h) return limited(inner, low, h);
    }
    return limited(x, low, high);
  }
  int limited(int x, double low, double high) {
    const int l = s_.add_constant(low, Type::f32), h = s_.add_constant(high, Type::f32);
    return plain(Op::clamp, {x, l, h});
  }

  int plain(Op op, std::array<int, 3> v) {
    const Family* family = family_of(op, type(v[op == Op::where ? 1 : 0]));
    if (family == nullptr)
      throw std::invalid_argument(std::string(info_of(op)->name) + " does not take its type");
    return fold({.op = op, .type = family->result, .family = family, .operands = {v[0], v[1], v[2]}});
  }

  /// Adds a value, computed now when all that it reads is constant.
  int fold(const Schedule::Item& item) {
    const Family& family = *item.family;
    std::array<std::byte*, 8> address{};
    std::array<std::array<std::byte, 8>, 8> cells{};
    std::array<uint16_t, 8> places{};
    for (size_t k = 0; k <= size_t(family.arity); ++k) {
      address[k] = cells[k].data();
      places[k] = uint16_t(k);
      if (k == size_t(family.arity)) break;
      if (!s_.is_constant(item.operands[k])) return s_.add(item);
      cells[k] = s_.cells_[size_t(s_.items_[size_t(item.operands[k])].constant)];
    }
    family.variants[0].run[target()](address.data(), places.data(), 1);
    const std::byte* result = cells[size_t(family.arity)].data();
    const auto get = [&](auto value) {
      std::memcpy(&value, result, sizeof value);
      return double(value);
    };
    double number = 0;
    switch (family.result) {
      case Type::f64:
        number = get(double{});
        break;
      case Type::i32:
        number = get(int32_t{});
        break;
      case Type::i64:
        number = get(int64_t{});
        break;
      case Type::boolean:
        number = get(uint8_t{});
        break;
      default:
        number = get(float{});
        break;
    }
    const int v = s_.add_constant(number, family.result);
    std::memcpy(s_.cells_.back().data(), result, size_of(family.result));  // an int64 is no double
    return v;
  }

  const Program& program_;
  Schedule& s_;
  std::vector<int> value_;  // of the program, as items
};

// ---- joining
// ---------------------------------------------------------------------------------------------------------

class Joiner {
 public:
  explicit Joiner(Schedule& schedule) : s_(schedule) {}

  /// Finds composites. They are as good as what they stand for where that is exact, and better where it is
  /// not.
  void compose() {
    uses_ = s_.uses();
    one_.resize(s_.items_.size());
    for (size_t v = s_.inputs_; v < uses_.size(); ++v) {
      if (uses_[v] && (compose_gate(int(v)) || compose_gelu(int(v)))) uses_ = s_.uses();
    }
  }

  void join(uint64_t singles) {
    uses_ = s_.uses();
    one_ = s_.find_ones(singles);
    for (size_t v = s_.items_.size(); v-- > s_.inputs_;) {
      if (uses_[v] == 0 || one_[v]) continue;
      if (join_gate(int(v)) || join_mul(int(v)) || join_div(int(v)) || join_clamp(int(v)) ||
          join_pair(int(v)) || join_unary(int(v))) {
        uses_ = s_.uses();
        one_.resize(s_.items_.size(), true);  // constants
      }
    }
  }

 private:
  int operand(int v, int k) const { return s_.items_[size_t(v)].operands[size_t(k)]; }
  double number(int v) const { return s_.items_[size_t(v)].number; }
  bool is_constant(int v) const { return s_.is_constant(v); }
  /// Says whether a value is this operator's on floats, not joined with another one.
  bool is(int v, Op op) const {
    const auto& item = s_.items_[size_t(v)];
    return item.op == op && item.type == Type::f32 && item.family == family_of(op, Type::f32);
  }
  /// The same for one that only one other reads, and that moves along the tile.
  bool inner(int v, Op op) const { return is(v, op) && uses_[size_t(v)] == 1 && !one_[size_t(v)]; }
  bool is_number(int v, double expected) const {
    return is_constant(v) && std::abs(number(v) - expected) < 1e-6;
  }

  bool become(int v, const Family& family, std::array<int, 7> operands, Op op = Op::cast) {
    auto& item = s_.items_[size_t(v)];
    item.family = &family;
    item.operands = operands;
    item.op = op;
    return true;
  }
  int neutral() { return s_.add_constant(-0.0, Type::f32); }  // x + -0 is x, for both zeros

  /// Calls try_with(first, second) with the operands of a commutative operator in both orders until one fits.
  template <class Try> bool either(int v, Try try_with) {
    const int a = operand(v, 0), b = operand(v, 1);
    return try_with(a, b) || try_with(b, a);
  }

  /// x * sigmoid(x), x * tanh(softplus(x)).
  bool compose_gate(int v) {
    if (!is(v, Op::mul)) return false;
    return either(v, [&](int x, int g) {
      if (inner(g, Op::sigmoid) && operand(g, 0) == x)
        return become(v, *family_of(Op::silu, Type::f32), {x}, Op::silu);
      if (!inner(g, Op::tanh) || !inner(operand(g, 0), Op::softplus) || operand(operand(g, 0), 0) != x)
        return false;
      return become(v, *family_of(Op::mish, Type::f32), {x}, Op::mish);
    });
  }

  /// 0.5 * x * (1 + erf(x / sqrt(2))), in any order.
  bool compose_gelu(int v) {
    if (!is(v, Op::mul)) return false;
    std::vector<int> factors, open{operand(v, 0), operand(v, 1)};
    while (!open.empty()) {
      const int f = open.back();
      open.pop_back();
      if (inner(f, Op::mul))
        open.insert(open.end(), {operand(f, 0), operand(f, 1)});
      else
        factors.push_back(f);
    }
    if (factors.size() != 3) return false;
    int x = -1, sum = -1, half = -1;
    for (int f : factors) {
      if (is_constant(f))
        half = f;
      else if (inner(f, Op::add) && is_number(operand(f, 1), 1) && inner(operand(f, 0), Op::erf))
        sum = f;
      else
        x = f;
    }
    if (x < 0 || sum < 0 || half < 0 || number(half) != 0.5) return false;
    const int scaled = operand(operand(sum, 0), 0);
    const bool fits = (inner(scaled, Op::mul) && is_number(operand(scaled, 1), std::sqrt(0.5))) ||
                      (inner(scaled, Op::div) && is_number(operand(scaled, 1), std::sqrt(2.0)));
    if (!fits || operand(scaled, 0) != x) return false;
    return become(v, *family_of(Op::gelu, Type::f32), {x}, Op::gelu);
  }

  // ---- loops for several operators
  // -----------------------------------------------------------------------------------

  /// Says whether c is clamp(t + k, low, high) with constants; the sum's constant comes back in k.
  bool is_gate_of(int c, int t, int& k) const {
    if (!inner(c, Op::clamp) || !is_constant(operand(c, 1)) || !is_constant(operand(c, 2))) return false;
    const int sum = operand(c, 0);
    if (!inner(sum, Op::add) || operand(sum, 0) != t || !is_constant(operand(sum, 1))) return false;
    k = operand(sum, 1);
    return true;
  }

  bool gate(int v, Joined form, int t, int c, int m) {
    int k = 0;
    if (!is_gate_of(c, t, k)) return false;
    const int low = operand(c, 1), high = operand(c, 2);
    int a = t, b = -1, sum = -1;
    if (uses_[size_t(t)] == 2 && !one_[size_t(t)]) {  // by the sum and by the product
      if (is(t, Op::add)) {
        const int x = operand(t, 0), y = operand(t, 1);
        if (inner(x, Op::mul))
          a = operand(x, 0), b = operand(x, 1), sum = y;
        else if (inner(y, Op::mul))
          a = operand(y, 0), b = operand(y, 1), sum = x;
        else if (one_[size_t(x)])
          a = y, sum = x;
        else
          a = x, sum = y;
      } else if (is(t, Op::mul)) {
        a = operand(t, 0), b = operand(t, 1);
      }
    }
    if (form == Joined::gate && b < 0 && sum < 0)
      return become(v, joined(Joined::add_clamp_mul), {t, k, low, high, t});
    if (b < 0) b = s_.add_constant(1, Type::f32);
    if (sum < 0) sum = neutral();
    return become(v, joined(form), {a, b, sum, k, low, high, m < 0 ? k : m});
  }

  /// t * clamp(t + k, low, high), with a factor or divisor at the product or at the clamp.
  bool join_gate(int v) {
    if (is(v, Op::div) && is_constant(operand(v, 1)) && inner(operand(v, 0), Op::mul)) {
      return either(operand(v, 0),
                    [&](int t, int c) { return gate(v, Joined::gate_div, t, c, operand(v, 1)); });
    }
    if (!is(v, Op::mul)) return false;
    if (is_constant(operand(v, 1)) && inner(operand(v, 0), Op::mul)) {
      return either(operand(v, 0),
                    [&](int t, int c) { return gate(v, Joined::gate_mul, t, c, operand(v, 1)); });
    }
    return either(v, [&](int t, int c) {
      const bool scaled = (inner(c, Op::mul) || inner(c, Op::div)) && is_constant(operand(c, 1));
      if (scaled)
        return gate(v, is(c, Op::mul) ? Joined::gate_inner_mul : Joined::gate_inner_div, t, operand(c, 0),
                    operand(c, 1));
      return gate(v, Joined::gate, t, c, -1);
    });
  }

  bool is_clamp(int c) const {
    return is(c, Op::clamp) && is_constant(operand(c, 1)) && is_constant(operand(c, 2));
  }

  /// What stands before a clamp: x, a + b or a * b + c.
  struct Head {
    int a, b = -1, c = -1;
  };
  Head head_of(int x) {
    if (inner(x, Op::mul)) return {operand(x, 0), operand(x, 1), neutral()};
    if (!inner(x, Op::add)) return {x};
    const int a = operand(x, 0), b = operand(x, 1);
    if (inner(a, Op::mul)) return {operand(a, 0), operand(a, 1), b};
    if (inner(b, Op::mul)) return {operand(b, 0), operand(b, 1), a};
    return {a, b};
  }

  bool join_mul(int v) {
    if (!is(v, Op::mul)) return false;
    return either(v, [&](int c, int z) {
      if (!is_clamp(c) || !inner(c, Op::clamp)) return false;
      const Head h = head_of(operand(c, 0));
      const int low = operand(c, 1), high = operand(c, 2);
      if (h.c >= 0) return become(v, joined(Joined::mul_add_clamp_mul), {h.a, h.b, h.c, low, high, z});
      if (h.b >= 0) return become(v, joined(Joined::add_clamp_mul), {h.a, h.b, low, high, z});
      return become(v, joined(Joined::clamp_mul), {h.a, low, high, z});
    });
  }
  bool join_div(int v) {
    if (!is(v, Op::div)) return false;
    const int c = operand(v, 0);
    if (!is_clamp(c) || !inner(c, Op::clamp)) return false;
    return become(v, joined(Joined::clamp_div), {operand(c, 0), operand(c, 1), operand(c, 2), operand(v, 1)});
  }
  bool join_clamp(int v) {
    if (!is_clamp(v)) return false;
    const Head h = head_of(operand(v, 0));
    const int low = operand(v, 1), high = operand(v, 2);
    if (h.c >= 0) return become(v, joined(Joined::mul_add_clamp), {h.a, h.b, h.c, low, high});
    if (h.b >= 0) return become(v, joined(Joined::add_clamp), {h.a, h.b, low, high});
    return false;
  }

  bool join_pair(int v) {
    for (Op second : {Op::add, Op::sub, Op::mul, Op::div}) {
      if (!is(v, second)) continue;
      for (int k : {0, 1}) {
        const int f = operand(v, k), c = operand(v, 1 - k);
        const bool commutes = second == Op::add || second == Op::mul;
        for (Op first : {Op::mul, Op::add, Op::sub}) {
          if (!inner(f, first)) continue;
          if (const Family* family = pair_of(first, second, k == 1 && !commutes)) {
            return become(v, *family, {operand(f, 0), operand(f, 1), c});
          }
        }
      }
    }
    return false;
  }

  /// unary(a + b), unary(a * b), unary(a) + b, unary(a) * b.
  bool join_unary(int v) {
    const Op op = s_.items_[size_t(v)].op;
    for (Op binary : {Op::add, Op::mul}) {
      const int x = operand(v, 0);
      if (s_.arity(v) == 1 && is(v, op) && inner(x, binary)) {
        if (const Family* family = unary_of(op, binary))
          return become(v, *family, {operand(x, 0), operand(x, 1)});
      }
      if (!is(v, binary)) continue;
      const bool found = either(v, [&](int u, int b) {
        const Op unary = s_.items_[size_t(u)].op;
        const Family* family = inner(u, unary) ? binary_of(binary, unary) : nullptr;
        return family && become(v, *family, {operand(u, 0), b});
      });
      if (found) return true;
    }
    return false;
  }

  Schedule& s_;
  std::vector<int> uses_;
  std::vector<bool> one_;
};

void simplify(const Program& program, Schedule& schedule) {
  Simplifier(program, schedule).run();
  Joiner(schedule).compose();
}
void join(Schedule& schedule, uint64_t singles) { Joiner(schedule).join(singles); }

}  // namespace graft::fused
