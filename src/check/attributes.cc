#include "check/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/cases.h"
#include "runtime/tensor_proto.h"

namespace graft::check {
using onnx::AttributeProto;
using runtime::AttributeDescription;
using runtime::AttributeType;
using runtime::AttributeValue;
using runtime::DataType;
using runtime::Tensor;

namespace {

AttributeProto make_attribute(const std::string& name, AttributeType type, const AttributeValue& value) {
  AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(static_cast<AttributeProto::AttributeType>(type));
  if (const auto* number = std::get_if<double>(&value)) attribute.set_f(static_cast<float>(*number));
  if (const auto* integer = std::get_if<int64_t>(&value)) attribute.set_i(*integer);
  if (const auto* text = std::get_if<std::string>(&value)) attribute.set_s(*text);
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    for (const double number : *list) attribute.add_floats(static_cast<float>(number));
  }
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    for (const int64_t integer : *list) attribute.add_ints(integer);
  }
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& text : *list) attribute.add_strings(text);
  }
  return attribute;
}

std::string text_of(const AttributeProto& attribute) {
  std::string value;
  switch (attribute.type()) {
    case AttributeProto::FLOAT:
      value = fmt::format("{}", attribute.f());
      break;
    case AttributeProto::INT:
      value = fmt::format("{}", attribute.i());
      break;
    case AttributeProto::STRING:
      value = fmt::format("\"{}\"", attribute.s());
      break;
    case AttributeProto::FLOATS:
      value = fmt::format("[{}]", fmt::join(attribute.floats(), ","));
      break;
    case AttributeProto::INTS:
      value = fmt::format("[{}]", fmt::join(attribute.ints(), ","));
      break;
    case AttributeProto::TENSOR: {
      const runtime::Shape shape(attribute.t().dims().begin(), attribute.t().dims().end());
      value = fmt::format("{}{}", type_name(static_cast<DataType>(attribute.t().data_type())),
                          runtime::to_string(shape));
      break;
    }
    default:
      value = "...";
      break;
  }
  return fmt::format("{}={}", attribute.name(), value);
}

std::string text_of(const std::vector<AttributeProto>& attributes) {
  std::vector<std::string> all;
  for (const AttributeProto& attribute : attributes) all.push_back(text_of(attribute));
  return fmt::format("{}", fmt::join(all, ", "));
}

/// Brings a number into limits.
double within(const Limits& limits, double value) { return std::clamp(value, limits.least, limits.most); }

AttributeValue usual_value(const AttributeDescription& attribute, const Limits& limits) {
  switch (attribute.type) {
    case AttributeType::float_:
      return within(limits, 1);
    case AttributeType::int_:
      return static_cast<int64_t>(std::ceil(within(limits, 1)));
    case AttributeType::string:
      return limits.words.empty() ? std::string("a") : limits.words[0];
    case AttributeType::floats:
      return std::vector<double>{1};
    case AttributeType::ints:
      return std::vector<int64_t>{1};
    case AttributeType::strings:
      return std::vector<std::string>{"a"};
    case AttributeType::tensor:
      return {};
  }
  return {};
}

/// Lists values that an attribute should take, or without limits, might.
std::vector<AttributeValue> values_to_try(const AttributeDescription& attribute, const Limits& limits) {
  std::vector<AttributeValue> values;
  if (attribute.type == AttributeType::string) {
    for (const std::string& word : limits.words) values.emplace_back(word);
  } else if (attribute.type == AttributeType::float_) {
    for (const double value : {0.0, -1.0, 0.5, 3.0, 1e-6, 100.0}) values.emplace_back(within(limits, value));
  } else if (attribute.type == AttributeType::int_) {
    for (const double value : {0.0, -1.0, 1.0, 2.0, 3.0})
      values.emplace_back(static_cast<int64_t>(within(limits, value)));
  }
  if (std::isfinite(limits.least) || std::isfinite(limits.most)) {
    for (const double end : {limits.least, limits.most}) {
      if (!std::isfinite(end)) continue;
      if (attribute.type == AttributeType::int_) values.emplace_back(static_cast<int64_t>(end));
      if (attribute.type == AttributeType::float_) values.emplace_back(end);
    }
  }
  std::vector<AttributeValue> distinct;
  for (AttributeValue& value : values) {
    if (std::find(distinct.begin(), distinct.end(), value) == distinct.end())
      distinct.push_back(std::move(value));
  }
  return distinct;
}

/// Lists values that are out of limits.
std::vector<AttributeValue> values_to_refuse(const AttributeDescription& attribute, const Limits& limits) {
  std::vector<AttributeValue> values;
  for (const double beyond : {limits.least - 1, limits.most + 1}) {
    // What 1 does not move, or a float does not tell from the limit, is no value beyond it.
    if (!std::isfinite(beyond) || std::abs(beyond) > 1e6) continue;
    if (attribute.type == AttributeType::int_) values.emplace_back(static_cast<int64_t>(beyond));
    if (attribute.type == AttributeType::float_) values.emplace_back(beyond);
  }
  if (!limits.words.empty()) values.emplace_back(std::string("no such word"));
  return values;
}

AttributeProto of_another_type(const AttributeDescription& attribute) {
  return attribute.type == AttributeType::string
             ? make_attribute(attribute.name, AttributeType::int_, int64_t{1})
             : make_attribute(attribute.name, AttributeType::string, std::string("a"));
}

/// Puts one attribute in the place of the one of its name, or at the end.
void put(std::vector<AttributeProto>& attributes, const AttributeProto& one) {
  for (AttributeProto& attribute : attributes) {
    if (attribute.name() == one.name()) {
      attribute = one;
      return;
    }
  }
  attributes.push_back(one);
}

AttributeSet changed(AttributeSet set, const AttributeProto& one) {
  put(set.given, one);
  put(set.complete, one);
  set.text = text_of(set.given);
  return set;
}

}  // namespace

std::vector<Tensor> tensors_to_try(const Subject& subject) {
  std::vector<DataType> types;
  const auto add = [&](DataType type) {
    if (can_make(type) && std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  };
  for (const DataType type : subject.inputs) add(type);
  for (const DataType type : subject.outputs) add(type);
  for (const DataType type : {DataType::float32, DataType::int64, DataType::string, DataType::float64,
                              DataType::int32, DataType::uint8, DataType::int8, DataType::boolean})
    add(type);
  std::vector<Tensor> tensors;
  for (const DataType type : types) {
    for (const runtime::Shape& shape : {runtime::Shape{7}, {1}, {}, {3}, {7, 7}, {2, 2}, {16}}) {
      Tensor& tensor = tensors.emplace_back(Tensor::zeros(type, shape));
      for (size_t i = 0; i < tensor.count(); ++i) {
        if (type == DataType::string)
          tensor.strings[i] = fmt::format("word {}", i);
        else
          runtime::set_element(tensor, i, static_cast<double>(i % 3));
      }
    }
  }
  return tensors;
}

std::optional<AttributeSet> usual_attributes(const Subject& subject, const Tensor* tensor) {
  AttributeSet set;
  for (size_t i = 0; i < subject.op.attributes.size(); ++i) {
    const AttributeDescription& attribute = subject.op.attributes[i];
    AttributeValue value = attribute.default_value;
    if (attribute.required) {
      value = std::holds_alternative<std::monostate>(attribute.example)
                  ? usual_value(attribute, subject.limits[i])
                  : attribute.example;
      if (std::holds_alternative<std::monostate>(value)) {
        if (!tensor) return {};
        AttributeProto given = make_attribute(attribute.name, attribute.type, value);
        runtime::tensor_to_proto(*tensor, *given.mutable_t());
        set.given.push_back(given);
        set.complete.push_back(given);
        continue;
      }
      set.given.push_back(make_attribute(attribute.name, attribute.type, value));
    }
    if (!std::holds_alternative<std::monostate>(value))
      set.complete.push_back(make_attribute(attribute.name, attribute.type, value));
  }
  set.text = text_of(set.given);
  return set;
}

std::vector<Variation> varied_attributes(const Subject& subject, const AttributeSet& usual) {
  std::vector<Variation> variations;
  for (size_t i = 0; i < subject.op.attributes.size(); ++i) {
    const AttributeDescription& attribute = subject.op.attributes[i];
    for (const AttributeValue& value : values_to_try(attribute, subject.limits[i])) {
      variations.push_back({changed(usual, make_attribute(attribute.name, attribute.type, value)),
                            subject.limits[i].any() == false});
    }
  }
  return variations;
}

std::vector<Refusal> refused_attributes(const Subject& subject, const AttributeSet& usual) {
  std::vector<Refusal> refusals;
  for (size_t i = 0; i < subject.op.attributes.size(); ++i) {
    const AttributeDescription& attribute = subject.op.attributes[i];
    if (attribute.required) {
      AttributeSet without = usual;
      std::erase_if(without.given,
                    [&](const AttributeProto& given) { return given.name() == attribute.name; });
      without.text = text_of(without.given);
      refusals.push_back({without, fmt::format("the attribute {} is required and missing", attribute.name)});
    }
    const AttributeProto other = of_another_type(attribute);
    refusals.push_back({changed(usual, other), fmt::format("the attribute {} is of another type than {}",
                                                           attribute.name, to_string(attribute.type))});
    for (const AttributeValue& value : values_to_refuse(attribute, subject.limits[i])) {
      refusals.push_back({changed(usual, make_attribute(attribute.name, attribute.type, value)),
                          fmt::format("the attribute {} is out of its limits", attribute.name)});
    }
  }
  return refusals;
}

}  // namespace graft::check
