#pragma once
/// Lets a check know what a value's element type really is: worked out from the inputs on, whatever the model
/// declares of values in between, and through the libraries' operators.
///
///   ElementTypes types(model, index, libraries);
///   if (types.of(value) == DataType::float64) ...
#include <vector>

#include "doctor/libraries.h"
#include "graph/index.h"
#include "graph/types.h"

namespace graft::doctor {

class ElementTypes {
 public:
  ElementTypes(const onnx::ModelProto& model, const graph::Index& index, const Libraries& libraries);

  /// Gives the type, undefined where it is not known.
  runtime::DataType of(graph::ValueId value) const { return type(value).type; }

  const graph::Type& type(graph::ValueId value) const {
    return value == graph::none ? nothing_ : types_[static_cast<size_t>(value)];
  }

 private:
  std::vector<graph::Type> types_;
  graph::Type nothing_;
};

}  // namespace graft::doctor
