#pragma once
/// Lets an injected model run where the library is not: writes an operator's definition as a function of the
/// model.
///
///   onnx::FunctionProto body = write_fallback(op, {DataType::float32}, 17).function;
#include <optional>
#include <set>
#include <vector>

#include "rewrite/definition.h"
#include "rewrite/match.h"

namespace graft::rewrite {

/// Opens the doc string of every function that Graft embeds; what it marks is never rewritten.
constexpr std::string_view fallback_mark = "Graft fallback: ";

/// Chooses the definition for an opset: the newest that is not newer, else the oldest.
const runtime::DefinitionText& choose_definition(const runtime::OperatorDescription& op, int64_t opset);

/// Is a function to embed, with the literals that each calling node brings as attributes.
struct Fallback {
  onnx::FunctionProto function;
  std::vector<LiteralAttribute> literals;
};

/// Writes the function of an operator for sites of the given element types. From opset 15 on its literals
/// follow the type that it is called with (CastLike), so that a tool may change the model's types afterwards.
/// Before, they have the type of the sites; when there are several, each node brings its own. OpsetError when
/// the opset has no words.
Fallback write_fallback(const runtime::OperatorDescription& op, const std::set<DataType>& types,
                        int64_t opset);

/// Writes what an operator computes for one element type, with literals of that type.
onnx::FunctionProto write_body(const runtime::OperatorDescription& op, DataType type, int64_t opset);

/// Makes the attribute that a calling node brings: the literal in the type of the place. `source_values` are
/// those of the attribute that it stands for, if it does.
onnx::AttributeProto make_literal(const LiteralAttribute& literal, DataType type,
                                  const std::vector<double>& source_values);

/// Gives the fallback that a function is, for sites of a type, when it is one that Graft would write.
std::optional<Fallback> recognise(const onnx::FunctionProto& function, const runtime::OperatorDescription& op,
                                  DataType type, int64_t opset);

/// Tells whether a function that is there means the same as a definition, for sites of a type.
bool means_the_same(const onnx::FunctionProto& function, const Pattern& pattern, DataType type);

}  // namespace graft::rewrite
