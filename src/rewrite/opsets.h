#pragma once
/// Lets you ask what ONNX's operator sets have words for.
///
///   if (first_opset("Erf") > opset) ...
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace graft::rewrite {

/// Gives the first opset in which an operator exists and broadcasts as it does today; 0 for one that is not
/// ONNX's.
int64_t first_opset(std::string_view op);

/// Lists the names of ONNX's own operators.
std::vector<std::string> standard_operators();

/// Gives the newest opset that is known here; a name first_opset() does not know may be newer.
constexpr int64_t newest_opset = 28;

/// Tells whether ONNX types an input as int64 whatever the type of the data (axes, shapes, lengths, ...).
bool is_integer_input(std::string_view op, size_t slot);

/// Gives the opset from which `axes` is an input instead of an attribute; 0 when the operator has none.
int64_t axes_become_input(std::string_view op);

}  // namespace graft::rewrite
