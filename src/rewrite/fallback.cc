#include "rewrite/fallback.h"

#include <fmt/format.h>

#include <algorithm>

namespace graft::rewrite {

const runtime::DefinitionText& choose_definition(const runtime::OperatorDescription& op, int64_t opset) {
  const runtime::DefinitionText* chosen = &op.definitions.at(0);
  for (const auto& definition : op.definitions) {
    if (definition.opset <= opset) chosen = &definition;
  }
  return *chosen;
}

Fallback write_fallback(const runtime::OperatorDescription& op, const std::set<DataType>& types,
                        int64_t opset) {
  const runtime::DefinitionText& text = choose_definition(op, opset);
  const Definition definition = parse_definition(text.text, text.opset, signature_of(op));
  Wording wording;
  wording.element = types.empty() ? DataType::float32 : *types.begin();
  for (const DataType type : types) {
    if (type != DataType::float32 && wording.element != DataType::float64) wording.element = type;
  }
  wording.follows = opset >= cast_like_opset || types.size() > 1;
  wording.opset = opset;
  Fallback fallback;
  fallback.function = write_function(definition, wording, &fallback.literals);
  fallback.function.set_doc_string(fmt::format("{}{}", fallback_mark, text.text));
  return fallback;
}

onnx::FunctionProto write_body(const runtime::OperatorDescription& op, DataType type, int64_t opset) {
  const runtime::DefinitionText& text = choose_definition(op, opset);
  const Definition definition = parse_definition(text.text, text.opset, signature_of(op));
  return write_function(definition, {type, false, opset});
}

onnx::AttributeProto make_literal(const LiteralAttribute& literal, DataType type,
                                  const std::vector<double>& source_values) {
  onnx::AttributeProto attribute;
  attribute.set_name(literal.name);
  attribute.set_type(onnx::AttributeProto::TENSOR);
  std::vector<double> values = source_values;
  if (literal.source.empty()) {
    values.clear();
    for (const Number& number : literal.numbers) values.push_back(number.value);
  }
  set_numbers(*attribute.mutable_t(), type, values, literal.list);
  return attribute;
}

std::optional<Fallback> recognise(const onnx::FunctionProto& function, const runtime::OperatorDescription& op,
                                  DataType type, int64_t opset) {
  const auto same = [](const auto& one, const auto& other) {
    return one.size() == other.size() &&
           std::equal(one.begin(), one.end(), other.begin(), [](const auto& a, const auto& b) {
             if constexpr (std::is_same_v<std::decay_t<decltype(a)>, std::string>)
               return a == b;
             else
               return a.SerializeAsString() == b.SerializeAsString();
           });
  };
  for (const std::set<DataType>& types : {std::set{type}, std::set{type, DataType::float64}}) {
    try {
      Fallback fallback = write_fallback(op, types, opset);
      const onnx::FunctionProto& written = fallback.function;
      if (same(function.node(), written.node()) && same(function.input(), written.input()) &&
          same(function.output(), written.output()) && same(function.attribute(), written.attribute()))
        return fallback;
    } catch (const OpsetError&) {
      continue;
    }
  }
  return {};
}

bool means_the_same(const onnx::FunctionProto& function, const Pattern& pattern, DataType type) {
  const Signature& signature = pattern.definition().signature;
  if (function.input_size() != static_cast<int>(signature.inputs.size()) ||
      function.output_size() != static_cast<int>(signature.outputs.size()))
    return false;
  onnx::FunctionProto copy = function;
  graph::Index index(copy);
  const graph::Constants constants(index);
  const Spellings spellings(index);
  const NormalForm normal(index, constants, spellings);
  const graph::Types types(index, constants);
  const ValueId output = index.scope(0).outputs.at(0);
  if (output == none) return false;
  Matcher matcher(normal, types);
  const auto match = matcher.match(pattern, output);
  if (!match) return false;
  for (size_t at = 0; at < match->inputs.size(); ++at) {
    if (match->inputs[at] != none && match->inputs[at] != index.scope(0).inputs[at]) return false;
  }
  // A body with literals of one type serves sites of that type only.
  for (const ValueId value : match->constants) {
    const graph::Constant* constant = constants.find(value);
    if (constant && constant->type != DataType::undefined && constant->type != DataType::int64 &&
        constant->type != type)
      return false;
  }
  return true;
}

}  // namespace graft::rewrite
