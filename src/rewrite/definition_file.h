#pragma once
/// Lets a user say what the operators of a library mean that does not say so itself.
///
///   complete(libraries, read_definitions("my_ops.def"));
///
/// The file is written as ONNX writes functions as text, with definitions (definition.h) for bodies:
///
///   <domain: "my.ops", opset_import: ["": 16]>
///   Leaky <alpha: float = 0.01> (x) => (y) {
///     y = Where(Greater(x, 0), x, Mul(x, @alpha))
///   }
///
/// An attribute without a value is required; its type is float, int, string, floats or ints. Several
/// functions may follow each other, one name several times for several opsets. `#` begins a comment.
#include <filesystem>
#include <string_view>
#include <vector>

#include "runtime/library.h"

namespace graft::rewrite {

/// Is what the file says of one operator for one opset.
struct WrittenDefinition {
  std::string domain, name;
  std::vector<std::string> inputs, outputs;
  std::vector<runtime::AttributeDescription> attributes;
  runtime::DefinitionText text;
};

/// Reads a file. InputError names it, the line and column, and what was expected.
std::vector<WrittenDefinition> read_definitions(const std::filesystem::path& file);

/// Reads the text of a file; `name` opens the messages.
std::vector<WrittenDefinition> parse_definitions(std::string_view text, const std::string& name);

/// Puts definitions into the descriptions of their operators, with the names of inputs, outputs and
/// attributes. What a library says itself is replaced. InputError when no library has the operator, or it has
/// another number of inputs or outputs.
void complete(std::vector<runtime::LibraryDescription>& libraries,
              const std::vector<WrittenDefinition>& definitions);

}  // namespace graft::rewrite
