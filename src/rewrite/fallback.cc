#include "rewrite/fallback.h"

#include <fmt/format.h>

namespace graft::rewrite {

const runtime::DefinitionText& choose_definition(const runtime::OperatorDescription& op, int64_t opset) {
  const runtime::DefinitionText* chosen = &op.definitions.at(0);
  for (const auto& definition : op.definitions) {
    if (definition.opset <= opset) chosen = &definition;
  }
  return *chosen;
}

onnx::FunctionProto write_fallback(const runtime::OperatorDescription& op, const std::vector<DataType>& types,
                                   int64_t opset) {
  const runtime::DefinitionText& text = choose_definition(op, opset);
  const Definition definition = parse_definition(text.text, text.opset, signature_of(op));
  Wording wording;
  wording.element = types.at(0);
  wording.mixed = types.size() > 1;
  wording.opset = opset;
  onnx::FunctionProto function = write_function(definition, wording);
  function.set_doc_string(fmt::format("{}{}", fallback_mark, text.text));
  return function;
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
