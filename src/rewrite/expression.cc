#include "rewrite/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "graph/constant.h"
#include "graph/names.h"
#include "rewrite/opsets.h"

namespace graft::rewrite {
namespace {

using onnx::AttributeProto;

/// The opset from which Constant takes numbers beside tensors, and with them references to attributes.
constexpr int64_t constant_numbers = 12;

class Writer {
 public:
  Writer(const Definition& definition, const Wording& wording) : definition_(definition), wording_(wording) {}

  onnx::FunctionProto write() {
    const Signature& signature = definition_.signature;
    function_.set_domain(signature.domain);
    function_.set_name(signature.name);
    for (const auto& input : signature.inputs) function_.add_input(input);
    for (const auto& output : signature.outputs) function_.add_output(output);
    for (const auto& attribute : signature.attributes) function_.add_attribute(attribute);
    taken_.insert(signature.inputs.begin(), signature.inputs.end());
    taken_.insert(signature.outputs.begin(), signature.outputs.end());

    find_used();
    for (size_t output = 0; output < definition_.outputs.size(); ++output) {
      const Operand operand = definition_.outputs[output];
      if (definition_.expressions[static_cast<size_t>(operand.expression)].kind == ExpressionKind::call)
        values_.emplace(std::pair(operand.expression, operand.slot), signature.outputs[output]);
    }
    for (size_t at = 0; at < definition_.expressions.size(); ++at) {
      if (used_[at] && definition_.expressions[at].kind == ExpressionKind::call)
        write_call(static_cast<int32_t>(at));
    }
    for (size_t output = 0; output < definition_.outputs.size(); ++output) {
      const std::string value = value_of(definition_.outputs[output], false);
      if (value == signature.outputs[output]) continue;
      onnx::NodeProto& copy = add_node("Identity");
      copy.add_input(value);
      copy.add_output(signature.outputs[output]);
    }
    if (wording_.opset) graph::import_domain(*function_.mutable_opset_import(), "", wording_.opset);
    return std::move(function_);
  }

  /// Gives what write() found that the calling nodes must bring.
  std::vector<LiteralAttribute> literals() && { return std::move(literals_); }

 private:
  const Expression& expression(int32_t at) const { return definition_.expressions[static_cast<size_t>(at)]; }

  std::string who() const {
    return fmt::format("{}::{}", definition_.signature.domain, definition_.signature.name);
  }

  void find_used() {
    used_.assign(definition_.expressions.size(), false);
    std::vector<int32_t> open;
    for (const Operand& output : definition_.outputs) open.push_back(output.expression);
    while (!open.empty()) {
      const int32_t at = open.back();
      open.pop_back();
      if (at < 0 || used_[static_cast<size_t>(at)]) continue;
      used_[static_cast<size_t>(at)] = true;
      for (const Operand& operand : expression(at).operands) open.push_back(operand.expression);
    }
  }

  std::string fresh_name(const std::string& stem) {
    std::string name = stem;
    for (int number = 1; !taken_.insert(name).second; ++number) name = fmt::format("{}_{}", stem, number);
    return name;
  }

  onnx::NodeProto& add_node(const std::string& op) {
    onnx::NodeProto& node = *function_.add_node();
    node.set_op_type(op);
    return node;
  }

  std::string add_unary(const std::string& op, const std::string& input, const std::string& stem) {
    onnx::NodeProto& node = add_node(op);
    node.add_input(input);
    node.add_output(fresh_name(stem));
    return node.output(0);
  }

  std::string cast(const std::string& value, DataType type, const std::string& stem) {
    const std::string made = add_unary("Cast", value, stem);
    AttributeProto& to = *function_.mutable_node(function_.node_size() - 1)->add_attribute();
    to.set_name("to");
    to.set_type(AttributeProto::INT);
    to.set_i(static_cast<int64_t>(type));
    return made;
  }

  /// Brings a value to the type of the first input.
  std::string cast_like_input(const std::string& value, const std::string& stem) {
    const std::string made = add_unary("CastLike", value, stem);
    function_.mutable_node(function_.node_size() - 1)->add_input(definition_.signature.inputs.at(0));
    return made;
  }

  /// Writes a constant whose tensor the calling node brings.
  std::string write_brought(LiteralAttribute literal, const std::string& stem) {
    literal.name = std::string(literal_prefix) + stem;
    for (int number = 1; has_literal(literal.name); ++number)
      literal.name = fmt::format("{}{}_{}", literal_prefix, stem, number);
    const std::string value = constant_reference("value", AttributeProto::TENSOR, literal.name);
    function_.add_attribute(literal.name);
    literals_.push_back(std::move(literal));
    return value;
  }
  bool has_literal(const std::string& name) const {
    return std::any_of(literals_.begin(), literals_.end(),
                       [&](const auto& known) { return known.name == name; });
  }

  static std::string stem_of(const NumberList& numbers) {
    std::string stem = "k";
    for (const Number& number : numbers) {
      for (const char c : fmt::format("{:g}", number.value))
        stem += c == '-' ? 'm' : c == '.' ? 'p' : c == '+' ? 'e' : c;
      stem += '_';
    }
    stem.pop_back();
    return stem.size() > 24 ? "constants" : stem;
  }

  std::string write_tensor(const NumberList& numbers, bool list, DataType type, const std::string& stem) {
    onnx::NodeProto& node = add_node("Constant");
    node.add_output(fresh_name(stem));
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(AttributeProto::TENSOR);
    std::vector<double> values;
    for (const Number& number : numbers) values.push_back(number.value);
    set_numbers(*attribute.mutable_t(), type, values, list);
    return node.output(0);
  }

  std::string write_literal(const Expression& literal, bool integer) {
    const bool list = literal.kind == ExpressionKind::list;
    const std::string stem = stem_of(literal.numbers.empty() ? NumberList{{0, true}} : literal.numbers);
    if (integer) {
      for (const Number& number : literal.numbers) {
        if (!(std::abs(number.value) <= 9007199254740992.0) || number.value != std::trunc(number.value))
          throw InputError(
              fmt::format("definition of {}: {} stands where an integer is expected", who(), number.value));
      }
      return write_tensor(literal.numbers, list, DataType::int64, stem + "_i");
    }
    if (wording_.opset == 0) return write_tensor(literal.numbers, list, DataType::float64, stem);
    if (!wording_.follows) return write_tensor(literal.numbers, list, wording_.element, stem);
    if (wording_.opset < cast_like_opset) return write_brought({"", literal.numbers, list, ""}, stem);
    return cast_like_input(write_tensor(literal.numbers, list, DataType::float64, stem + "_d"), stem);
  }

  int32_t attribute_type(const std::string& name) const {
    const Signature& signature = definition_.signature;
    for (size_t at = 0; at < signature.attributes.size(); ++at) {
      if (signature.attributes[at] == name && at < signature.attribute_types.size())
        return signature.attribute_types[at];
    }
    return AttributeProto::FLOAT;
  }

  std::string constant_reference(const std::string& form, int32_t type, const std::string& name) {
    onnx::NodeProto& node = add_node("Constant");
    node.add_output(fresh_name(name + "_value"));
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(form);
    attribute.set_type(static_cast<AttributeProto::AttributeType>(type));
    attribute.set_ref_attr_name(name);
    return node.output(0);
  }

  std::string write_attribute(const std::string& name, bool integer) {
    const int32_t type = attribute_type(name);
    const bool numbers = wording_.opset == 0 || wording_.opset >= constant_numbers;
    const bool integers = type == AttributeProto::INT || type == AttributeProto::INTS;
    if (wording_.follows && wording_.opset < cast_like_opset && !integer &&
        (integers || type == AttributeProto::FLOAT || type == AttributeProto::FLOATS))
      return write_brought({"", {}, type == AttributeProto::FLOATS || type == AttributeProto::INTS, name},
                           name);
    std::string value;
    DataType value_type = DataType::int64;
    if (type == AttributeProto::FLOAT) {
      value_type = DataType::float32;
      if (numbers) {
        value = constant_reference("value_float", type, name);
      } else {
        // Before opset 12 no operator gives an attribute as a value; LeakyRelu(-1) is -alpha, exactly.
        const std::string minus_one = write_tensor({{-1, true}}, false, DataType::float32, "minus_one");
        onnx::NodeProto& node = add_node("LeakyRelu");
        node.add_input(minus_one);
        node.add_output(fresh_name("minus_" + name));
        AttributeProto& alpha = *node.add_attribute();
        alpha.set_name("alpha");
        alpha.set_type(AttributeProto::FLOAT);
        alpha.set_ref_attr_name(name);
        value = add_unary("Neg", node.output(0), name + "_value");
      }
    } else if (!numbers) {
      throw OpsetError(fmt::format("{} needs opset {} to read the attribute `{}`, the model has {}", who(),
                                   constant_numbers, name, wording_.opset));
    } else if (type == AttributeProto::INT) {
      value = constant_reference("value_int", type, name);
    } else if (type == AttributeProto::INTS) {
      value = constant_reference("value_ints", type, name);
    } else if (type == AttributeProto::FLOATS) {
      value_type = DataType::float32;
      value = constant_reference("value_floats", type, name);
    } else {
      throw InputError(
          fmt::format("definition of {}: the attribute `{}` cannot stand as an argument", who(), name));
    }
    if (wording_.opset == 0 || (integer && value_type == DataType::int64)) return value;
    if (integer) return cast(value, DataType::int64, name + "_integer");
    if (wording_.follows) return cast_like_input(value, name + "_cast");
    return value_type == wording_.element ? value : cast(value, wording_.element, name + "_cast");
  }

  /// Gives the name of an operand's value, writing its constant first where it has not been written.
  std::string value_of(const Operand& operand, bool integer) {
    if (operand.expression < 0) return "";
    const Expression& source = expression(operand.expression);
    switch (source.kind) {
      case ExpressionKind::input:
        return source.name;
      case ExpressionKind::call:
        return values_.at({operand.expression, operand.slot});
      case ExpressionKind::string:
        throw InputError(fmt::format("definition of {}: a string cannot stand as an argument", who()));
      case ExpressionKind::attribute:
        break;
      default:
        break;
    }
    std::string key = integer ? "i" : "e";
    key += source.kind == ExpressionKind::attribute ? "@" + source.name
           : source.kind == ExpressionKind::list    ? "["
                                                    : "";
    for (const Number& number : source.numbers)
      key.append(reinterpret_cast<const char*>(&number.value), sizeof number.value);
    const auto place = constants_.find(key);
    if (place != constants_.end()) return place->second;
    std::string name = source.kind == ExpressionKind::attribute ? write_attribute(source.name, integer)
                                                                : write_literal(source, integer);
    constants_.emplace(key, name);
    return name;
  }

  void add_attribute(onnx::NodeProto& node, const CallAttribute& given) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(given.name);
    if (const auto* number = std::get_if<Number>(&given.value)) {
      if (number->integral && !is_float_attribute(node.op_type(), given.name)) {
        attribute.set_type(AttributeProto::INT);
        attribute.set_i(static_cast<int64_t>(number->value));
      } else {
        attribute.set_type(AttributeProto::FLOAT);
        attribute.set_f(static_cast<float>(number->value));
      }
    } else if (const auto* list = std::get_if<NumberList>(&given.value)) {
      bool integral = true;
      for (const Number& entry : *list) integral &= entry.integral;
      attribute.set_type(integral ? AttributeProto::INTS : AttributeProto::FLOATS);
      for (const Number& entry : *list) {
        if (integral) {
          attribute.add_ints(static_cast<int64_t>(entry.value));
        } else {
          attribute.add_floats(static_cast<float>(entry.value));
        }
      }
    } else if (const auto* text = std::get_if<std::string>(&given.value)) {
      attribute.set_type(AttributeProto::STRING);
      attribute.set_s(*text);
    } else {
      const std::string& name = std::get<AttributeReference>(given.value).name;
      attribute.set_type(static_cast<AttributeProto::AttributeType>(attribute_type(name)));
      attribute.set_ref_attr_name(name);
    }
  }

  /// A whole number given to one of these is still a float.
  static bool is_float_attribute(std::string_view op, std::string_view name) {
    static const std::set<std::string_view> always = {"alpha", "beta", "epsilon",     "gamma", "momentum",
                                                      "lambd", "bias", "value_float", "ratio"};
    return always.count(name) || (op == "Clip" && (name == "min" || name == "max"));
  }

  void write_call(int32_t at) {
    Expression call = expression(at);
    const bool standard = graph::is_default_domain(call.domain);
    if (!standard)
      throw InputError(fmt::format("definition of {}: {}::{} is not one of ONNX's own operators", who(),
                                   call.domain, call.name));
    if (wording_.opset && standard) {
      if (write_in_older_words(call, at)) return;
      const int64_t first = first_opset(call.name);
      if (first > wording_.opset)
        throw OpsetError(fmt::format("{} needs {} of opset {}, the model has opset {}", who(), call.name,
                                     first, wording_.opset));
    }
    std::vector<std::string> inputs;
    for (size_t slot = 0; slot < call.operands.size(); ++slot)
      inputs.push_back(value_of(call.operands[slot], is_integer_input(call.name, slot)));
    onnx::NodeProto& node = add_node(call.name);
    if (!standard) node.set_domain(call.domain);
    for (const auto& input : inputs) node.add_input(input);
    for (int32_t slot = 0; slot < call.outputs; ++slot) node.add_output(output_name(at, slot));
    for (const auto& attribute : call.attributes) add_attribute(node, attribute);
  }

  const std::string& output_name(int32_t at, int32_t slot) {
    const auto place = values_.find({at, slot});
    if (place != values_.end()) return place->second;
    return values_.emplace(std::pair(at, slot), fresh_name("t")).first->second;
  }

  /// Gives an operand that the call cannot do without.
  const Operand& argument(const Expression& call, size_t slot) const {
    if (slot >= call.operands.size() || call.operands[slot].expression < 0)
      throw InputError(fmt::format("definition of {}: {} lacks its argument {}", who(), call.name, slot + 1));
    return call.operands[slot];
  }

  /// The rules by which a call is written for another opset. True when the call was written as several nodes.
  bool write_in_older_words(Expression& call, int32_t at) {
    const int64_t opset = wording_.opset;
    if (call.name == "Clip" && opset >= 8 && opset < 12 && wording_.element != DataType::float32) {
      // Clip of these opsets takes float only in ONNX Runtime; Max and Min take double too.
      std::string value = value_of(argument(call, 0), false);
      size_t last = 0;
      for (size_t slot = 1; slot < call.operands.size(); ++slot) {
        if (call.operands[slot].expression >= 0) last = slot;
      }
      for (size_t slot = 1; slot <= last; ++slot) {
        if (call.operands[slot].expression < 0) continue;
        const std::string bound = value_of(call.operands[slot], false);
        onnx::NodeProto& node = add_node(slot == 1 ? "Max" : "Min");
        node.add_input(value);
        node.add_input(bound);
        node.add_output(slot == last ? output_name(at, 0) : fresh_name("t"));
        value = node.output(0);
      }
      return last > 0;
    }
    if (call.name == "Clip" && opset < 11) {
      for (size_t slot = call.operands.size(); slot-- > 1;) {
        const Operand operand = call.operands[slot];
        if (operand.expression < 0) continue;
        const Expression& bound = expression(operand.expression);
        CallAttribute attribute{slot == 1 ? "min" : "max", Number{}};
        if (bound.kind == ExpressionKind::number) {
          const double value = bound.numbers[0].value;
          if (wording_.element == DataType::float64 &&
              static_cast<double>(static_cast<float>(value)) != value)
            throw OpsetError(fmt::format(
                "{} needs Clip of opset 11 for the bound {:.17g} in double, the model has opset {}", who(),
                value, opset));
          attribute.value = Number{value, false};
        } else if (bound.kind == ExpressionKind::attribute) {
          attribute.value = AttributeReference{bound.name};
        } else {
          throw OpsetError(fmt::format(
              "{} needs Clip of opset 11 for a computed bound, the model has opset {}", who(), opset));
        }
        call.attributes.push_back(std::move(attribute));
      }
      call.operands.resize(1);
      return false;
    }
    const int64_t axes = axes_become_input(call.name);
    if (axes && opset < axes && call.operands.size() > 1 && call.operands[1].expression >= 0) {
      const Expression& list = expression(call.operands[1].expression);
      if (list.kind != ExpressionKind::list && list.kind != ExpressionKind::number)
        throw OpsetError(fmt::format("{} needs {} of opset {} for computed axes, the model has opset {}",
                                     who(), call.name, axes, opset));
      call.attributes.push_back({"axes", list.numbers});
      call.operands.resize(1);
      return false;
    }
    if (axes && opset >= axes) {
      for (size_t slot = 0; slot < call.attributes.size(); ++slot) {
        if (call.attributes[slot].name != "axes") continue;
        const auto* list = std::get_if<NumberList>(&call.attributes[slot].value);
        if (!list)
          throw OpsetError(fmt::format("{}: `axes` as an attribute has no words in opset {}", who(), opset));
        Expression literal;
        literal.kind = ExpressionKind::list;
        literal.numbers = *list;
        axes_literal_ = write_literal(literal, true);
        call.attributes.erase(call.attributes.begin() + static_cast<long>(slot));
        std::vector<std::string> inputs;
        inputs.push_back(value_of(argument(call, 0), false));
        onnx::NodeProto& node = add_node(call.name);
        node.add_input(inputs[0]);
        node.add_input(axes_literal_);
        node.add_output(output_name(at, 0));
        for (const auto& attribute : call.attributes) add_attribute(node, attribute);
        return true;
      }
    }
    if (call.name == "DFT" && opset >= 17 && opset < 20 && call.operands.size() > 2) {
      const Expression& axis = expression(argument(call, 2).expression);
      if (axis.kind != ExpressionKind::number)
        throw OpsetError(fmt::format("{} needs DFT of opset 20 for a computed axis, the model has opset {}",
                                     who(), opset));
      call.attributes.push_back({"axis", axis.numbers[0]});
      call.operands.resize(2);
      return false;
    }
    if ((call.name == "GreaterOrEqual" || call.name == "LessOrEqual") && opset == 11) {
      const std::string first = value_of(argument(call, 0), false),
                        second = value_of(argument(call, 1), false);
      onnx::NodeProto& strict = add_node(call.name == "GreaterOrEqual" ? "Greater" : "Less");
      strict.add_input(first);
      strict.add_input(second);
      strict.add_output(fresh_name("strict"));
      const std::string strict_name = strict.output(0);
      onnx::NodeProto& equal = add_node("Equal");
      equal.add_input(first);
      equal.add_input(second);
      equal.add_output(fresh_name("equal"));
      const std::string equal_name = equal.output(0);
      onnx::NodeProto& either = add_node("Or");
      either.add_input(strict_name);
      either.add_input(equal_name);
      either.add_output(output_name(at, 0));
      return true;
    }
    if (call.name == "Equal" && opset < 11)
      throw OpsetError(fmt::format("{} needs Equal of opset 11, the model has opset {}", who(), opset));
    return false;
  }

  const Definition& definition_;
  const Wording& wording_;
  onnx::FunctionProto function_;
  std::vector<bool> used_;
  std::set<std::string> taken_;
  std::map<std::pair<int32_t, int32_t>, std::string> values_;
  std::map<std::string, std::string> constants_;
  std::string axes_literal_;
  std::vector<LiteralAttribute> literals_;
};

}  // namespace

void set_scalar(onnx::TensorProto& tensor, DataType type, double value) {
  runtime::Tensor scalar = runtime::Tensor::zeros(type, {});
  runtime::set_element(
      scalar, 0,
      type == DataType::float16 || type == DataType::bfloat16 ? graph::round_to(type, value) : value);
  tensor.set_data_type(static_cast<int32_t>(type));
  tensor.clear_dims();
  tensor.set_raw_data(scalar.bytes.data(), scalar.bytes.size());
}

void set_numbers(onnx::TensorProto& tensor, DataType type, const std::vector<double>& values, bool list) {
  if (!list) return set_scalar(tensor, type, values.at(0));
  std::string bytes;
  for (const double value : values) {
    onnx::TensorProto one;
    set_scalar(one, type, value);
    bytes += one.raw_data();
  }
  tensor.set_data_type(static_cast<int32_t>(type));
  tensor.clear_dims();
  tensor.add_dims(static_cast<int64_t>(values.size()));
  tensor.set_raw_data(std::move(bytes));
}

onnx::FunctionProto write_function(const Definition& definition, const Wording& wording,
                                   std::vector<LiteralAttribute>* literals) {
  Writer writer(definition, wording);
  onnx::FunctionProto function = writer.write();
  if (literals) *literals = std::move(writer).literals();
  return function;
}

}  // namespace graft::rewrite
