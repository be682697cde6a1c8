#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "check/trial.h"

namespace graft::check {
using runtime::Shape;
using runtime::ShapeRule;
using runtime::Tensor;

namespace {

/// Broadcasts as ONNX does; nothing when the shapes do not.
std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t back = 1; back <= result.size(); ++back) {
    const int64_t one = back <= a.size() ? a[a.size() - back] : 1,
                  other = back <= b.size() ? b[b.size() - back] : 1;
    if (one != other && one != 1 && other != 1) return {};
    result[result.size() - back] = one == 1 ? other : one;
  }
  return result;
}

/// Gives the shape that the operator's rule asks of its outputs; nothing when it says none.
std::optional<Shape> ruled_shape(const Subject& subject, const Case& one) {
  if (one.inputs.empty()) return {};
  if (subject.op.shape == ShapeRule::same) return one.inputs[0].shape;
  if (subject.op.shape != ShapeRule::broadcast) return {};
  std::optional<Shape> shape = Shape{};
  for (const Tensor& tensor : one.inputs) {
    if (shape && tensor.type != runtime::DataType::undefined) shape = broadcast(*shape, tensor.shape);
  }
  return shape;
}

/// Gives the size of what a name stands for: "x0_1" is axis 1 of input 0.
std::optional<int64_t> size_of(const std::string& name, const Case& one) {
  size_t input = 0, axis = 0;
  if (std::sscanf(name.c_str(), "x%zu_%zu", &input, &axis) != 2) return {};
  if (input >= one.inputs.size() || axis >= one.inputs[input].shape.size()) return {};
  return one.inputs[input].shape[axis];
}

std::string inferred_text(const runtime::ValueDescription& value) {
  return to_string(value).substr(type_name(value.type).size());
}

}  // namespace

void check_shapes(Trial& trial, const runtime::Session& session, const Case& one,
                  const std::vector<Tensor>& outputs, Sizes sizes) {
  const auto ruled = ruled_shape(trial.subject, one);
  for (size_t i = 0; i < outputs.size() && i < session.outputs().size(); ++i) {
    const Shape& real = outputs[i].shape;
    if (ruled && real != *ruled) {
      trial.add(codes::shape_function,
                fmt::format("output {}: another shape than its rule `{}` says", i,
                            to_string(trial.subject.op.shape)),
                one, runtime::to_string(*ruled), runtime::to_string(real));
    }
    const runtime::ValueDescription& inferred = session.outputs()[i];
    if (inferred.shape.empty()) continue;  // a scalar, or nothing was inferred: ORT does not tell
    bool right = inferred.shape.size() == real.size();
    for (size_t axis = 0; right && axis < real.size(); ++axis) {
      const runtime::Dimension& dimension = inferred.shape[axis];
      if (dimension.size >= 0)
        right = dimension.size == real[axis];
      else if (const auto named = size_of(dimension.symbol, one))
        right = *named == real[axis];
    }
    if (right) continue;
    trial.add(codes::shape_function,
              fmt::format("output {}: another shape came than the shape function said{}", i,
                          sizes == Sizes::named ? " of sizes that have only names" : ""),
              one, inferred_text(inferred), runtime::to_string(real));
  }
}

}  // namespace graft::check
