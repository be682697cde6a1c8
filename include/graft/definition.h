// What an operator means, in standard ONNX operators.
//
//   definition(20, "y = DFT<onesided=1>(Unsqueeze(x, [-1]), @n, -2)")
//
// The text is what ONNX prints for the body of a function, plus nested calls, literals as arguments, lists, and @name
// for an attribute (docs/reference/definition.md). A generic functor needs none: its definition is traced.
#pragma once

#include <string>
#include <utility>

namespace graft {

/// Is a definition that holds from this opset of the default domain on, until a later one.
struct Definition {
  int opset;
  std::string text;
  bool traced = false;
};

/// Gives an operator's meaning from `opset` on; several may be given, one for each range of opsets.
inline Definition definition(int opset, std::string text) { return {opset, std::move(text)}; }

}  // namespace graft
