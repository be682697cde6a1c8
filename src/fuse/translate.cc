#include "fuse/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "graph/constant.h"

namespace graft::fuse {

using fused::Op;
using fused::Type;

std::optional<Type> program_type(DataType type) {
  switch (type) {
    case DataType::float32:
      return Type::f32;
    case DataType::float64:
      return Type::f64;
    case DataType::float16:
      return Type::f16;
    case DataType::bfloat16:
      return Type::bf16;
    case DataType::int32:
      return Type::i32;
    case DataType::int64:
      return Type::i64;
    case DataType::boolean:
      return Type::boolean;
    default:
      return {};
  }
}

DataType data_type(Type type) {
  constexpr DataType types[] = {DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16,
                                DataType::int32,   DataType::int64,   DataType::boolean};
  return types[static_cast<size_t>(type)];
}

namespace {

/// Thrown inside of a translation; add() makes a text of it.
struct NotElementwise {
  std::string why;
};

[[noreturn]] void refuse(std::string why) { throw NotElementwise{std::move(why)}; }

double lowest(Type type) {
  switch (type) {
    case Type::f16:
      return -65504;
    case Type::bf16:
      return -0x1.fep127;
    case Type::f64:
      return std::numeric_limits<double>::lowest();
    default:
      return std::numeric_limits<float>::lowest();
  }
}

}  // namespace

/// Translates one node. Numbers that it gives and takes are those of the builder's statements.
class NodeTranslator {
 public:
  NodeTranslator(ProgramBuilder& builder, const ViewNode& node)
      : builder_(builder), node_(node), view_(builder.view_) {}

  int translate();

 private:
  using Rule = std::function<int(NodeTranslator&)>;
  static const std::unordered_map<std::string, std::pair<int, Rule>>& rules();

  bool has(size_t slot) const { return slot < node_.inputs.size() && node_.inputs[slot] >= 0; }

  /// Gives the element type of an input.
  Type type_of(size_t slot) const {
    if (!has(slot)) refuse(fmt::format("{} lacks its input {}", node_.op, slot));
    const ViewValue& value = view_.value(node_.inputs[slot]);
    const auto type = program_type(value.type.type);
    if (!type) {
      refuse(value.type.type == DataType::undefined
                 ? fmt::format("the element type of {} is not known", value.name)
                 : fmt::format("{} is {}", value.name, runtime::type_name(value.type.type)));
    }
    return *type;
  }

  /// Gives the statement of an input; a constant of one element becomes a literal where that leaves the
  /// result's shape as it is.
  int input(size_t slot) {
    type_of(slot);
    const ViewValue& value = view_.value(node_.inputs[slot]);
    bool literal = false;
    if (value.scalar && fits(value)) {
      const int32_t rank = value.type.rank();
      literal = rank == 0;
      for (size_t other = 0; !literal && rank > 0 && other < node_.inputs.size(); ++other) {
        if (other == slot || !has(other)) continue;
        const ViewValue& beside = view_.value(node_.inputs[other]);
        literal = !beside.scalar && beside.type.rank() >= rank;
      }
    }
    return builder_.read(node_.inputs[slot], literal);
  }

  /// Tells whether a program can write a constant down.
  static bool fits(const ViewValue& value) {
    if (graph::DataType::int64 == value.type.type || graph::DataType::int32 == value.type.type)
      return std::fabs(*value.scalar) <= 0x1p53;
    return true;
  }

  int constant(Type type, double number) {
    const DataType rounded = data_type(type);
    const int made =
        builder_.append({.op = Op::constant, .type = type, .number = graph::round_to(rounded, number)});
    builder_.statements_[static_cast<size_t>(made)].meant = true;
    return made;
  }
  int make(Op op, Type type, int a, int b = -1, int c = -1) {
    return builder_.append({.op = op, .type = type, .operands = {a, b, c}});
  }

  double attribute(const std::string& name, double otherwise) const {
    const auto found = node_.attributes.find(name);
    if (found == node_.attributes.end()) return otherwise;
    if (const auto* number = std::get_if<double>(&found->second)) return *number;
    if (const auto* number = std::get_if<int64_t>(&found->second)) return static_cast<double>(*number);
    refuse(fmt::format("{} has an attribute {} that is no number", node_.op, name));
  }
  std::string word(const std::string& name, const std::string& otherwise) const {
    const auto found = node_.attributes.find(name);
    if (found == node_.attributes.end()) return otherwise;
    const auto* text = std::get_if<std::string>(&found->second);
    return text ? *text : otherwise;
  }

  Type floating(size_t slot = 0) const {
    const Type type = type_of(slot);
    if (!fused::is_floating(type))
      refuse(fmt::format("{} of {}", node_.op, fused::kTypeNames[static_cast<size_t>(type)]));
    return type;
  }
  Type number(size_t slot = 0) const {
    const Type type = type_of(slot);
    if (type == Type::boolean) refuse(fmt::format("{} of bool", node_.op));
    return type;
  }
  void same_types(size_t first, size_t second) const {
    if (type_of(first) != type_of(second)) refuse(fmt::format("{} of two types", node_.op));
  }

  // The kinds of rules.
  static Rule unary(Op op) {
    return [op](NodeTranslator& node) {
      const Type type =
          fused::info_of(op)->operands == fused::Operands::floats ? node.floating() : node.number();
      return node.make(op, type, node.input(0));
    };
  }
  static Rule arithmetic(Op op) {
    return [op](NodeTranslator& node) {
      const Type type = node.number();
      node.same_types(0, 1);
      if (node.attribute("broadcast", 0) != 0) refuse("broadcasting of before opset 7");
      return node.make(op, type, node.input(0), node.input(1));
    };
  }
  static Rule comparison(Op op, bool of_bool = false) {
    return [op, of_bool](NodeTranslator& node) {
      if (!of_bool) node.number();
      node.same_types(0, 1);
      return node.make(op, Type::boolean, node.input(0), node.input(1));
    };
  }
  static Rule logical(Op op) {
    return [op](NodeTranslator& node) {
      if (node.type_of(0) != Type::boolean) refuse(node.node_.op + " of numbers");
      const bool two = fused::info_of(op)->arity == 2;
      if (two) node.same_types(0, 1);
      const int first = node.input(0);
      return node.make(op, Type::boolean, first, two ? node.input(1) : -1);
    };
  }
  static Rule variadic(Op op) {
    return [op](NodeTranslator& node) {
      const Type type = node.number();
      int result = node.input(0);
      for (size_t slot = 1; slot < node.node_.inputs.size(); ++slot) {
        node.same_types(0, slot);
        result = node.make(op, type, result, node.input(slot));
      }
      // One operand is the value itself, which a program cannot give on as another value.
      if (node.node_.inputs.size() < 2) refuse(node.node_.op + " of one operand");
      return result;
    };
  }

  int clip();
  int power();
  int modulo();
  int cast();
  int prelu();

  ProgramBuilder& builder_;
  const ViewNode& node_;
  const View& view_;
};

int NodeTranslator::clip() {
  const Type type = number();
  const int x = input(0);
  if (node_.opset < 11) {
    // ORT, too, takes the limits of float where none is given.
    return make(Op::clamp, type, x, constant(type, attribute("min", lowest(Type::f32))),
                constant(type, attribute("max", -lowest(Type::f32))));
  }
  for (const size_t slot : {size_t{1}, size_t{2}}) {
    if (!has(slot)) continue;
    same_types(0, slot);
    const ViewValue& limit = view_.value(node_.inputs[slot]);
    if (!limit.scalar && limit.type.rank() != 0) refuse("Clip has a limit that may be no scalar");
  }
  const auto limit = [&](size_t slot) {
    const ViewValue& value = view_.value(node_.inputs[slot]);
    return builder_.read(node_.inputs[slot], value.scalar.has_value() && fits(value));
  };
  if (fused::is_integer(type)) {
    int result = x;
    if (has(1)) result = make(Op::max, type, result, limit(1));
    if (has(2)) result = make(Op::min, type, result, limit(2));
    if (result == x) refuse("Clip without limits");
    return result;
  }
  if (!has(1) && !has(2)) refuse("Clip without limits");
  const int low = has(1) ? limit(1) : constant(type, lowest(type));
  const int high = has(2) ? limit(2) : constant(type, -lowest(type));
  return make(Op::clamp, type, x, low, high);
}

int NodeTranslator::power() {
  const Type type = floating();
  const ViewValue& exponent = view_.value(node_.inputs.at(1));
  const int32_t rank = exponent.type.rank();
  if (exponent.scalar && rank >= 0 && (rank == 0 || view_.value(node_.inputs[0]).type.rank() >= rank)) {
    const double power = *exponent.scalar;
    const int x = input(0);
    if (power == 2) return make(Op::mul, type, x, x);
    if (power == 3) return make(Op::mul, type, make(Op::mul, type, x, x), x);
    return make(Op::pow, type, x, constant(type, power));
  }
  same_types(0, 1);
  return make(Op::pow, type, input(0), input(1));
}

int NodeTranslator::modulo() {
  const Type type = number();
  same_types(0, 1);
  const bool fmod = attribute("fmod", 0) != 0;
  if (!fmod && fused::is_floating(type)) refuse("Mod of floats without fmod");
  return make(fmod ? Op::fmod : Op::mod, type, input(0), input(1));
}

int NodeTranslator::cast() {
  const auto to = program_type(static_cast<DataType>(static_cast<int32_t>(attribute("to", 0))));
  if (!to) refuse("Cast to a type that is not fused");
  type_of(0);
  return make(Op::cast, *to, input(0));
}

int NodeTranslator::prelu() {
  const Type type = floating();
  same_types(0, 1);
  const int x = input(0), slope = input(1);
  return make(Op::where, type, make(Op::less, Type::boolean, x, constant(type, 0)),
              make(Op::mul, type, slope, x), x);
}

const std::unordered_map<std::string, std::pair<int, NodeTranslator::Rule>>& NodeTranslator::rules() {
  using Node = NodeTranslator;
  // The number is the opset from which on the operator means this.
  static const std::unordered_map<std::string, std::pair<int, Rule>> table = {
      {"Neg", {6, unary(Op::neg)}},
      {"Abs", {6, unary(Op::abs)}},
      {"Sign", {9, unary(Op::sign)}},
      {"Floor", {6, unary(Op::floor)}},
      {"Ceil", {6, unary(Op::ceil)}},
      {"Round", {11, unary(Op::round)}},
      {"Sqrt", {6, unary(Op::sqrt)}},
      {"Reciprocal", {6, unary(Op::reciprocal)}},
      {"Exp", {6, unary(Op::exp)}},
      {"Log", {6, unary(Op::log)}},
      {"Sin", {7, unary(Op::sin)}},
      {"Cos", {7, unary(Op::cos)}},
      {"Tanh", {6, unary(Op::tanh)}},
      {"Sigmoid", {6, unary(Op::sigmoid)}},
      {"Erf", {9, unary(Op::erf)}},
      {"Relu", {6, unary(Op::relu)}},
      {"Softplus", {1, unary(Op::softplus)}},
      {"Mish", {18, unary(Op::mish)}},
      {"Add", {7, arithmetic(Op::add)}},
      {"Sub", {7, arithmetic(Op::sub)}},
      {"Mul", {7, arithmetic(Op::mul)}},
      {"Div", {7, arithmetic(Op::div)}},
      {"Min", {8, variadic(Op::min)}},
      {"Max", {8, variadic(Op::max)}},
      {"Sum", {8, variadic(Op::add)}},
      {"Equal", {7, comparison(Op::equal, true)}},
      {"Less", {7, comparison(Op::less)}},
      {"LessOrEqual", {12, comparison(Op::less_equal)}},
      {"Greater", {7, comparison(Op::greater)}},
      {"GreaterOrEqual", {12, comparison(Op::greater_equal)}},
      {"And", {7, logical(Op::logical_and)}},
      {"Or", {7, logical(Op::logical_or)}},
      {"Xor", {7, logical(Op::logical_xor)}},
      {"Not", {1, logical(Op::logical_not)}},
      {"Clip", {6, &Node::clip}},
      {"Pow", {7, &Node::power}},
      {"Mod", {10, &Node::modulo}},
      {"Cast", {6, &Node::cast}},
      {"PRelu", {7, &Node::prelu}},
      {"Where",
       {9,
        [](Node& node) {
          if (node.type_of(0) != Type::boolean) refuse("Where without a condition");
          node.same_types(1, 2);
          const int condition = node.input(0), yes = node.input(1);
          return node.make(Op::where, node.type_of(1), condition, yes, node.input(2));
        }}},
      {"IsNaN",
       {9,
        [](Node& node) {
          node.floating();
          return node.make(Op::isnan, Type::boolean, node.input(0));
        }}},
      {"IsInf",
       {10,
        [](Node& node) {
          node.floating();
          if (node.attribute("detect_negative", 1) == 0 || node.attribute("detect_positive", 1) == 0)
            refuse("IsInf of one sign");
          return node.make(Op::isinf, Type::boolean, node.input(0));
        }}},
      {"Gelu",
       {20,
        [](Node& node) {
          const Type type = node.floating();
          const bool tanh = node.word("approximate", "none") == "tanh";
          return node.make(tanh ? Op::gelu_tanh : Op::gelu, type, node.input(0));
        }}},
      {"HardSigmoid",
       {6,
        [](Node& node) {
          const Type type = node.floating();
          const int scaled =
              node.make(Op::mul, type, node.input(0), node.constant(type, node.attribute("alpha", 0.2F)));
          const int moved =
              node.make(Op::add, type, scaled, node.constant(type, node.attribute("beta", 0.5F)));
          return node.make(Op::clamp, type, moved, node.constant(type, 0), node.constant(type, 1));
        }}},
      {"HardSwish",  // the standard's x * max(0, min(1, x / 6 + 0.5)), in the paper's spelling, which rounds
                     // less
       {14,
        [](Node& node) {
          const Type type = node.floating();
          const int x = node.input(0);
          const int moved = node.make(Op::add, type, x, node.constant(type, 3));
          const int gate = node.make(Op::clamp, type, moved, node.constant(type, 0), node.constant(type, 6));
          return node.make(Op::div, type, node.make(Op::mul, type, x, gate), node.constant(type, 6));
        }}},
      {"LeakyRelu",
       {6,
        [](Node& node) {
          const Type type = node.floating();
          const int x = node.input(0);
          const int negative = node.make(Op::less, Type::boolean, x, node.constant(type, 0));
          const int scaled = node.make(Op::mul, type, node.constant(type, node.attribute("alpha", 0.01F)), x);
          return node.make(Op::where, type, negative, scaled, x);
        }}},
      {"Elu",
       {6,
        [](Node& node) {
          const Type type = node.floating();
          const int x = node.input(0);
          const int negative = node.make(Op::less, Type::boolean, x, node.constant(type, 0));
          int low = node.make(Op::expm1, type, x);
          if (const double alpha = node.attribute("alpha", 1); alpha != 1)
            low = node.make(Op::mul, type, node.constant(type, alpha), low);
          return node.make(Op::where, type, negative, low, x);
        }}},
      {"Selu",
       {6,
        [](Node& node) {
          const Type type = node.floating();
          const double alpha = node.attribute("alpha", 1.67326319217681884765625);
          const double gamma = node.attribute("gamma", 1.05070102214813232421875);
          const int x = node.input(0);
          const int negative = node.make(Op::less, Type::boolean, x, node.constant(type, 0));
          const int low = node.make(Op::mul, type, node.constant(type, alpha), node.make(Op::expm1, type, x));
          const int unscaled = node.make(Op::where, type, negative, low, x);
          return node.make(Op::mul, type, node.constant(type, gamma), unscaled);
        }}},
      {"Celu",
       {12,
        [](Node& node) {
          const Type type = node.floating();
          const double alpha = node.attribute("alpha", 1);
          if (!(alpha > 0)) refuse("Celu with an alpha that is not positive");
          const int x = node.input(0);
          const int negative = node.make(Op::less, Type::boolean, x, node.constant(type, 0));
          const int part = alpha == 1 ? x : node.make(Op::div, type, x, node.constant(type, alpha));
          int low = node.make(Op::expm1, type, part);
          if (alpha != 1) low = node.make(Op::mul, type, node.constant(type, alpha), low);
          return node.make(Op::where, type, negative, low, x);
        }}},
      {"ThresholdedRelu",
       {10,
        [](Node& node) {
          const Type type = node.floating();
          const int x = node.input(0);
          const int above =
              node.make(Op::greater, Type::boolean, x, node.constant(type, node.attribute("alpha", 1)));
          return node.make(Op::where, type, above, x, node.constant(type, 0));
        }}},
      {"Softsign",
       {1,
        [](Node& node) {
          const Type type = node.floating();
          const int x = node.input(0);
          const int size = node.make(Op::add, type, node.constant(type, 1), node.make(Op::abs, type, x));
          return node.make(Op::div, type, x, size);
        }}},
      {"Swish",
       {24,
        [](Node& node) {
          const Type type = node.floating();
          const double alpha = node.attribute("alpha", 1);
          const int x = node.input(0);
          if (alpha == 1) return node.make(Op::silu, type, x);
          const int gate =
              node.make(Op::sigmoid, type, node.make(Op::mul, type, node.constant(type, alpha), x));
          return node.make(Op::mul, type, x, gate);
        }}},
  };
  return table;
}

int NodeTranslator::translate() {
  const auto found = rules().find(node_.op);
  if (found == rules().end()) refuse(node_.op + " is not elementwise");
  const auto& [since, rule] = found->second;
  if (node_.opset < since) refuse(fmt::format("{} of opset {}", node_.op, node_.opset));
  const auto made =
      std::count_if(node_.outputs.begin(), node_.outputs.end(), [](int value) { return value >= 0; });
  if (made != 1 || node_.outputs[0] < 0) refuse(node_.op + " with several outputs");
  return rule(*this);
}

int ProgramBuilder::append(const fused::Value& value) {
  // Equal parts are computed once. Regions are small: a walk is enough.
  for (size_t at = 0; at < statements_.size(); ++at) {
    const fused::Value& other = statements_[at].value;
    if (other.op == value.op && other.op != Op::input && other == value &&
        std::signbit(other.number) == std::signbit(value.number))
      return static_cast<int>(at);
  }
  statements_.push_back({.value = value});
  return static_cast<int>(statements_.size()) - 1;
}

int ProgramBuilder::read(int value, bool literal) {
  if (const auto made = made_.find(value); made != made_.end()) return made->second;
  const ViewValue& source = view_.value(value);
  const Type type = *program_type(source.type.type);
  if (literal) {
    const int made = append({.op = Op::constant, .type = type, .number = *source.scalar});
    Statement& statement = statements_[static_cast<size_t>(made)];
    if (std::find(statement.literals.begin(), statement.literals.end(), value) == statement.literals.end())
      statement.literals.push_back(value);
    return made;
  }
  const auto [place, fresh] = inputs_.try_emplace(value, static_cast<int>(statements_.size()));
  if (fresh) statements_.push_back({.value = {.op = Op::input, .type = type}, .input = value});
  return place->second;
}

std::string ProgramBuilder::add(int node) {
  const size_t before = statements_.size();
  try {
    const ViewNode& source = view_.node(node);
    const int result = NodeTranslator(*this, source).translate();
    made_[source.outputs[0]] = result;
    return "";
  } catch (const NotElementwise& refused) {
    while (statements_.size() > before) {
      if (statements_.back().input >= 0) inputs_.erase(statements_.back().input);
      statements_.pop_back();
    }
    return refused.why;
  }
}

Translation ProgramBuilder::finish(const std::vector<int>& outputs) const {
  Translation result;
  std::vector<int> numbers(statements_.size(), -1);
  const auto take = [&](size_t at) {
    numbers[at] = static_cast<int>(result.program.values.size());
    fused::Value value = statements_[at].value;
    for (int& operand : value.operands) {
      if (operand >= 0) operand = numbers[static_cast<size_t>(operand)];
    }
    result.program.values.push_back(value);
    result.literals.push_back(statements_[at].meant ? std::vector<int>{} : statements_[at].literals);
  };
  for (size_t at = 0; at < statements_.size(); ++at) {
    if (statements_[at].value.op != Op::input) continue;
    take(at);
    result.inputs.push_back(statements_[at].input);
  }
  for (size_t at = 0; at < statements_.size(); ++at) {
    if (statements_[at].value.op != Op::input) take(at);
  }
  for (const int output : outputs)
    result.program.outputs.push_back(numbers[static_cast<size_t>(made_.at(output))]);
  return result;
}

std::string why_not_elementwise(const View& view, int node) {
  if (!view.node(node).kept.empty()) return view.node(node).kept;
  return ProgramBuilder(view).add(node);
}

}  // namespace graft::fuse
