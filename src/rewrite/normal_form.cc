#include "rewrite/normal_form.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "graph/names.h"
#include "rewrite/opsets.h"

namespace graft::rewrite {
namespace {

struct Precision {
  int digits;    ///< of the mantissa, the hidden one too
  int exponent;  ///< least of a normal number
};

Precision precision_of(DataType type) {
  switch (type) {
    case DataType::float32:
      return {24, -126};
    case DataType::float16:
      return {11, -14};
    case DataType::bfloat16:
      return {8, -126};
    default:
      return {53, -1022};
  }
}

/// Gives half the distance to the next number of the type, away from zero.
double half_step(double value, DataType type) {
  const Precision precision = precision_of(type);
  int exponent = precision.exponent;
  if (value != 0) std::frexp(value, &exponent);
  return std::ldexp(0.5, std::max(exponent - 1, precision.exponent) - precision.digits + 1);
}

constexpr int most_steps = 64;

}  // namespace

Real Real::of(double value, DataType type) {
  Real real;
  real.value = real.low = real.high = value;
  real.neutral = false;
  real.type = type;
  const bool exact = type != DataType::undefined && !runtime::is_floating(type);
  if (!exact && std::isfinite(value)) {
    const double half = half_step(value, type);
    // Below a power of two the numbers lie twice as dense.
    int exponent = 0;
    const bool power =
        std::abs(std::frexp(value, &exponent)) == 0.5 && exponent - 1 > precision_of(type).exponent;
    const double inner = power ? half / 2 : half;
    real.low = value > 0 ? value - inner : value - half;
    real.high = value > 0 ? value + half : value + (value < 0 ? inner : half);
  }
  return real;
}

Real Real::operator*(const Real& other) const {
  if (neutral) return other;
  if (other.neutral) return *this;
  Real product;
  product.neutral = product.direct = false;
  product.type = type;
  product.value = value * other.value;
  const double ends[] = {low * other.low, low * other.high, high * other.low, high * other.high};
  product.low = std::nextafter(*std::min_element(ends, ends + 4), -INFINITY);
  product.high = std::nextafter(*std::max_element(ends, ends + 4), INFINITY);
  return product;
}

Real Real::operator-() const {
  Real negated = *this;
  if (neutral) negated = Real::of(1, type);
  negated.value = -negated.value;
  const double low_before = negated.low;
  negated.low = -negated.high;
  negated.high = -low_before;
  return negated;
}

Real Real::inverse() const {
  if (neutral) return *this;
  Real inverted = *this;
  inverted.direct = false;
  inverted.value = 1 / value;
  if (low > 0 || high < 0) {
    inverted.low = std::nextafter(1 / high, -INFINITY);
    inverted.high = std::nextafter(1 / low, INFINITY);
  } else {
    inverted.low = -INFINITY;
    inverted.high = INFINITY;
    inverted.value = std::numeric_limits<double>::quiet_NaN();
  }
  return inverted;
}

bool agree(const Real& wanted, const Real& found) {
  if (wanted.neutral && found.neutral) return true;
  if (wanted.neutral || found.neutral) return (wanted.neutral ? found : wanted).value == 1;
  if (std::isnan(wanted.value) || std::isnan(found.value)) return false;
  if (wanted.direct && found.direct) {
    const double rounded = graph::round_to(found.type, wanted.value);
    return rounded == found.value && std::signbit(rounded) == std::signbit(found.value);
  }
  if (std::isinf(wanted.value) || std::isinf(found.value)) return wanted.value == found.value;
  return wanted.low < found.high && found.low < wanted.high;
}

ValueId NormalForm::resolve(ValueId value, std::vector<NodeId>* passed) const {
  for (int step = 0; step < most_steps && value != none; ++step) {
    const NodeId producer = index_.value(value).producer;
    if (producer == none || index_.value(value).initializer || op(producer) != "Identity") break;
    const ValueId behind = index_.input(producer, 0);
    if (behind == none) break;
    if (passed) passed->push_back(producer);
    value = behind;
  }
  return value == none ? none : spellings_.of(value);
}

NodeId NormalForm::producer(ValueId value) const {
  if (value == none) return none;
  const graph::Value& at = index_.value(value);
  return at.is_input || at.initializer || at.sparse ? none : at.producer;
}

std::string_view NormalForm::op(NodeId node) const {
  const onnx::NodeProto& proto = index_.proto(node);
  return graph::is_default_domain(proto.domain()) ? std::string_view(proto.op_type()) : std::string_view();
}

const graph::Constant* NormalForm::scalar(ValueId value) const {
  const graph::Constant* constant = constants_.find(value);
  if (!constant || constant->overridable) return nullptr;
  return constant->scalar() || !constant->attribute.empty() ? constant : nullptr;
}

bool NormalForm::has_operands(NodeId node, std::string_view name) const {
  static const std::set<std::string_view> unary = {"Neg", "Reciprocal", "Clip", "Relu"},
                                          binary = {"Mul", "Div", "Pow", "Add", "Sub"};
  const bool two = binary.count(name) > 0;
  if (!two && !unary.count(name)) return index_.input(node, 0) != none;
  return index_.input(node, 0) != none && (!two || index_.input(node, 1) != none);
}

Form NormalForm::form(ValueId value) const {
  const graph::Value& at = index_.value(value);
  if (constants_.find(value)) return Form::constant;
  if (at.is_input) return Form::input;
  const NodeId node = producer(value);
  if (node == none) return Form::opaque;
  const std::string_view name = op(node);
  if (!has_operands(node, name)) return Form::opaque;
  if (name == "Mul" || name == "Div" || name == "Neg" || name == "Reciprocal") return Form::product;
  if (name == "Pow") {
    const graph::Constant* power = scalar(index_.input(node, 1));
    return power && (power->value == 2 || power->value == 3) && power->attribute.empty() ? Form::product
                                                                                         : Form::operation;
  }
  if (name == "Add" || name == "Sub") return index_.node(node).input_count == 2 ? Form::sum : Form::operation;
  if (name == "Clip" || name == "Relu") return Form::clip;
  if (name == "Max" || name == "Min") {
    if (index_.node(node).input_count != 2) return Form::operation;
    for (const ValueId operand : index_.inputs(node)) {
      if (operand != none && constants_.find(operand)) return Form::clip;
    }
    return Form::operation;
  }
  return Form::operation;
}

std::optional<Expansion> NormalForm::expand(const Factor& factor) const {
  if (factor.scaled) return {};
  Expansion expansion;
  const ValueId value = resolve(factor.value, &expansion.nodes);
  const NodeId node = producer(value);
  if (node == none || index_.value(value).slot != 0) return {};
  const std::string_view name = op(node);
  const int8_t exponent = factor.exponent;
  if (name == "Clip" || name == "Relu" || name == "Min" || name == "Max") {
    const auto clip = scaled_clip(value);
    if (!clip || clip->scale.neutral) return {};
    expansion.coefficient = exponent > 0 ? clip->scale : clip->scale.inverse();
    expansion.factors.push_back({value, exponent, true});
    // The clip's own nodes are counted when the clip is matched.
    return expansion;
  }
  const ValueId first = index_.input(node, 0), second = index_.input(node, 1);
  if (first == none) return {};
  if (name == "Neg" || name == "Reciprocal") {
    expansion.nodes.push_back(node);
    if (name == "Neg") {
      expansion.coefficient = -Real();
      expansion.factors.push_back({first, exponent, false});
    } else {
      expansion.factors.push_back({first, static_cast<int8_t>(-exponent), false});
    }
    return expansion;
  }
  if (second == none) return {};
  if (name == "Pow") {
    const graph::Constant* power = scalar(second);
    if (!power || !power->attribute.empty() || (power->value != 2 && power->value != 3)) return {};
    expansion.nodes.push_back(node);
    expansion.constants.emplace_back(second, node);
    for (int time = 0; time < static_cast<int>(power->value); ++time)
      expansion.factors.push_back({first, exponent, false});
    return expansion;
  }
  if (name != "Mul" && name != "Div") return {};
  expansion.nodes.push_back(node);
  const auto take = [&](ValueId operand, int8_t own) {
    const graph::Constant* constant = scalar(operand);
    if (!constant || (!constant->attribute.empty() && !expansion.attribute.empty())) {
      expansion.factors.push_back({operand, own, false});
      return;
    }
    expansion.constants.emplace_back(operand, node);
    if (!constant->attribute.empty()) {
      expansion.attribute = constant->attribute;
      expansion.attribute_exponent = own;
      return;
    }
    const Real real = Real::of(constant->value, constant->type);
    expansion.coefficient = expansion.coefficient * (own > 0 ? real : real.inverse());
  };
  take(first, exponent);
  take(second, name == "Div" ? static_cast<int8_t>(-exponent) : exponent);
  if (expansion.factors.empty()) return {};
  return expansion;
}

std::optional<Sum> NormalForm::sum(ValueId value) const {
  const NodeId node = producer(value);
  if (node == none) return {};
  const std::string_view name = op(node);
  if ((name != "Add" && name != "Sub") || index_.node(node).input_count != 2) return {};
  Sum sum;
  sum.node = node;
  for (int32_t slot = 0; slot < 2; ++slot) {
    Term& term = sum.terms[slot];
    term.value = term.bare = index_.input(node, slot);
    term.sign = term.bare_sign = static_cast<int8_t>(slot == 1 && name == "Sub" ? -1 : 1);
    for (int step = 0; step < most_steps; ++step) {
      std::vector<NodeId> passed;
      const ValueId behind = resolve(term.bare, &passed);
      const NodeId maker = behind == none ? none : producer(behind);
      if (maker == none || op(maker) != "Neg" || index_.input(maker, 0) == none || constants_.find(behind))
        break;
      term.nodes.insert(term.nodes.end(), passed.begin(), passed.end());
      term.nodes.push_back(maker);
      term.bare = index_.input(maker, 0);
      term.bare_sign = static_cast<int8_t>(-term.bare_sign);
    }
    if (term.bare == none) return {};
  }
  return sum;
}

Bound NormalForm::bound_of(ValueId value) const {
  Bound bound;
  bound.value = value;
  const graph::Constant* constant = scalar(value);
  if (!constant) {
    bound.kind = Bound::computed;
  } else if (!constant->attribute.empty()) {
    bound.kind = Bound::attribute;
    bound.name = constant->attribute;
  } else {
    bound.kind = Bound::number;
    bound.real = Real::of(constant->value, constant->type);
  }
  return bound;
}

std::optional<Clip> NormalForm::clip(ValueId value, int merge) const {
  const NodeId node = producer(value);
  if (node == none || form(value) != Form::clip) return {};
  const std::string_view name = op(node);
  Clip clip;
  clip.nodes.push_back(node);
  if (name == "Relu") {
    clip.operand = index_.input(node, 0);
    clip.low.kind = Bound::number;
    clip.low.real = Real::of(0, DataType::float64);
  } else if (name == "Clip") {
    clip.operand = index_.input(node, 0);
    const onnx::NodeProto& proto = index_.proto(node);
    for (const auto& attribute : proto.attribute()) {
      if (attribute.name() != "min" && attribute.name() != "max") continue;
      Bound& bound = attribute.name() == "min" ? clip.low : clip.high;
      if (!attribute.ref_attr_name().empty()) {
        bound.kind = Bound::attribute;
        bound.name = attribute.ref_attr_name();
      } else {
        bound.kind = Bound::number;
        bound.real = Real::of(attribute.f(), DataType::float32);
      }
    }
    if (index_.input(node, 1) != none) clip.low = bound_of(index_.input(node, 1));
    if (index_.input(node, 2) != none) clip.high = bound_of(index_.input(node, 2));
  } else {
    const ValueId first = index_.input(node, 0), second = index_.input(node, 1);
    if (first == none || second == none) return {};
    const bool second_is_bound = constants_.find(second) != nullptr;
    clip.operand = second_is_bound ? first : second;
    Bound& bound = name == "Max" ? clip.low : clip.high;
    bound = bound_of(second_is_bound ? second : first);
    clip.constants.emplace_back(bound.value, node);
  }
  if (clip.operand == none) return {};
  if (merge > 1) {
    std::vector<NodeId> passed;
    const ValueId behind = resolve(clip.operand, &passed);
    const auto inner = this->clip(behind, merge - 1);
    if (!inner) return {};
    const auto usable = [](const Bound& bound) {
      return bound.kind == Bound::absent || bound.kind == Bound::number;
    };
    if (!usable(clip.low) || !usable(clip.high) || !usable(inner->low) || !usable(inner->high)) return {};
    const auto number = [](const Bound& bound, double absent) {
      return bound.kind == Bound::number ? bound.real.value : absent;
    };
    const double low = number(clip.low, -INFINITY), high = number(clip.high, INFINITY);
    const double inner_low = number(inner->low, -INFINITY), inner_high = number(inner->high, INFINITY);
    // Only where the order of the two does not matter.
    if (!(std::max(low, inner_low) <= std::min(high, inner_high))) return {};
    if (inner_low > low) clip.low = inner->low;
    if (inner_high < high) clip.high = inner->high;
    clip.operand = inner->operand;
    clip.nodes.insert(clip.nodes.end(), passed.begin(), passed.end());
    clip.nodes.insert(clip.nodes.end(), inner->nodes.begin(), inner->nodes.end());
    clip.constants.insert(clip.constants.end(), inner->constants.begin(), inner->constants.end());
  }
  return clip;
}

std::optional<ScaledClip> NormalForm::scaled_clip(ValueId value) const {
  std::optional<Clip> outer;
  for (int merge = 2; merge >= 1 && !outer; --merge) outer = clip(value, merge);
  if (!outer || outer->low.kind != Bound::number || outer->high.kind != Bound::number) return {};
  ScaledClip scaled;
  scaled.nodes = outer->nodes;
  scaled.constants = outer->constants;
  scaled.low = outer->low.real;
  scaled.high = outer->high.real;
  scaled.offset = Real::of(0, DataType::float64);
  ValueId inner = outer->operand;
  std::vector<NodeId> passed;
  const ValueId behind = resolve(inner, &passed);
  if (const auto sum = this->sum(behind)) {
    for (int at = 0; at < 2; ++at) {
      const graph::Constant* constant = scalar(sum->terms[at].value);
      if (!constant || !constant->attribute.empty() || sum->terms[1 - at].sign < 0) continue;
      const Real offset = Real::of(constant->value, constant->type);
      scaled.offset = sum->terms[at].sign > 0 ? offset : -offset;
      scaled.nodes.insert(scaled.nodes.end(), passed.begin(), passed.end());
      scaled.nodes.push_back(sum->node);
      scaled.constants.emplace_back(sum->terms[at].value, sum->node);
      inner = sum->terms[1 - at].value;
      break;
    }
  }
  passed.clear();
  const ValueId factor = resolve(inner, &passed);
  const NodeId maker = producer(factor);
  if (maker != none && (op(maker) == "Mul" || op(maker) == "Div")) {
    const auto expansion = expand({factor, 1, false});
    if (expansion && expansion->factors.size() == 1 && expansion->factors[0].exponent == 1 &&
        expansion->attribute.empty() && expansion->coefficient.value > 0 &&
        std::isfinite(expansion->coefficient.value)) {
      const Real inverse = expansion->coefficient.inverse();
      scaled.scale = expansion->coefficient;
      scaled.nodes.insert(scaled.nodes.end(), passed.begin(), passed.end());
      scaled.nodes.insert(scaled.nodes.end(), expansion->nodes.begin(), expansion->nodes.end());
      scaled.constants.insert(scaled.constants.end(), expansion->constants.begin(),
                              expansion->constants.end());
      scaled.offset = scaled.offset * inverse;
      scaled.low = scaled.low * inverse;
      scaled.high = scaled.high * inverse;
      inner = expansion->factors[0].value;
    }
  }
  scaled.x = inner;
  return scaled;
}

std::optional<Operation> NormalForm::operation(ValueId value) const {
  const NodeId node = producer(value);
  if (node == none || !has_operands(node, op(node))) return {};
  const onnx::NodeProto& proto = index_.proto(node);
  Operation operation;
  operation.op = proto.op_type();
  operation.domain = graph::is_default_domain(proto.domain()) ? "" : proto.domain();
  operation.node = node;
  operation.slot = index_.value(value).slot;
  operation.nodes.push_back(node);
  const auto inputs = index_.inputs(node);
  operation.operands.assign(inputs.begin(), inputs.end());
  while (!operation.operands.empty() && operation.operands.back() == none) operation.operands.pop_back();
  for (const auto& attribute : proto.attribute()) {
    if (attribute.has_g() || attribute.graphs_size()) return {};
  }
  if (!operation.domain.empty()) return operation;
  if (operation.op == "Greater" || operation.op == "GreaterOrEqual") {
    if (operation.operands.size() == 2) std::swap(operation.operands[0], operation.operands[1]);
    operation.op = operation.op == "Greater" ? "Less" : "LessOrEqual";
  } else if (operation.op == "Where" && operation.operands.size() == 3) {
    std::vector<NodeId> passed;
    const ValueId condition = resolve(operation.operands[0], &passed);
    const NodeId maker = condition == none ? none : producer(condition);
    if (maker != none && op(maker) == "Not") {
      operation.nodes.insert(operation.nodes.end(), passed.begin(), passed.end());
      operation.nodes.push_back(maker);
      operation.operands[0] = index_.input(maker, 0);
      std::swap(operation.operands[1], operation.operands[2]);
    }
  } else if (operation.op == "Pow" && operation.operands.size() == 2) {
    const graph::Constant* power = scalar(operation.operands[1]);
    if (power && power->attribute.empty() && power->value == 0.5) {
      operation.op = "Sqrt";
      operation.constants.emplace_back(operation.operands[1], node);
      operation.operands.pop_back();
    }
  }
  if (axes_become_input(operation.op)) {
    for (const auto& attribute : proto.attribute()) {
      if (attribute.name() == "axes" && attribute.ref_attr_name().empty())
        operation.axes.emplace(attribute.ints().begin(), attribute.ints().end());
    }
    if (!operation.axes && operation.operands.size() == 2) {
      operation.axes = constants_.integers(operation.operands[1]);
      const graph::Constant* constant = constants_.find(operation.operands[1]);
      if (operation.axes && constant && !constant->overridable) operation.operands.pop_back();
    }
  }
  return operation;
}

}  // namespace graft::rewrite
