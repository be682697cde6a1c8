#pragma once
/// Lets you read the text of a definition.
///
///   Signature signature{"my.ops", "HardSwish", {"x"}, {"y"}, {}, {}};
///   Definition definition = parse_definition("y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)", 11, signature);
///
///   definition := assignment { (";" | newline) assignment }     # a comment goes to the end of the line
///   assignment := name {"," name} "=" expression                # the operator's outputs must be among the
///   names expression := number | list | string | name | "@"attribute | call call       := [domain "::"]
///   OpType ["<" name "=" value {"," ...} ">"] "(" [expression {"," expression}] ")" value      := number |
///   list | string | "@"attribute
#include <string_view>

#include "rewrite/expression.h"
#include "runtime/library.h"

namespace graft::rewrite {

/// Reads a definition. InputError names the operator, the line and the column, and what was expected.
Definition parse_definition(std::string_view text, int64_t opset, const Signature& signature);

/// Gives the names and types of an operator's ports and attributes.
Signature signature_of(const runtime::OperatorDescription& op);

}  // namespace graft::rewrite
