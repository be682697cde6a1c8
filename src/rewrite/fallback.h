#pragma once
/// Lets an injected model run where the library is not: writes an operator's definition as a function of the
/// model.
///
///   onnx::FunctionProto body = write_fallback(op, {DataType::float32}, 17);
#include <vector>

#include "rewrite/definition.h"
#include "rewrite/match.h"

namespace graft::rewrite {

/// Opens the doc string of every function that Graft embeds; what it marks is never rewritten.
constexpr std::string_view fallback_mark = "Graft fallback: ";

/// Chooses the definition for an opset: the newest that is not newer, else the oldest.
const runtime::DefinitionText& choose_definition(const runtime::OperatorDescription& op, int64_t opset);

/// Writes the function of an operator for sites of the given element types. OpsetError when the opset has no
/// words for it.
onnx::FunctionProto write_fallback(const runtime::OperatorDescription& op, const std::vector<DataType>& types,
                                   int64_t opset);

/// Tells whether a function that is there means the same as a definition, for sites of a type.
bool means_the_same(const onnx::FunctionProto& function, const Pattern& pattern, DataType type);

}  // namespace graft::rewrite
