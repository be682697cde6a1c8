// Shape inference: the operator's shape rule on ORT's symbolic shapes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "graft/operator.h"
#include "graft/ort/api.h"

namespace graft::detail {

/// Reads the attributes of a node during shape inference.
class InferenceAttributes final : public AttributeReader {
 public:
  InferenceAttributes(const OrtApi& api, const OrtShapeInferContext* context) : api_(api), context_(context) {}

  AttributeValue find(const std::string& name, AttributeType type) const override {
    const OrtOpAttr* found = nullptr;
    if (!works(api_, api_.ShapeInferContext_GetAttribute(context_, name.c_str(), &found)) || found == nullptr) return {};
    switch (type) {
      case AttributeType::float32: return scalar<float>(found, ORT_OP_ATTR_FLOAT);
      case AttributeType::int64: return scalar<int64_t>(found, ORT_OP_ATTR_INT);
      case AttributeType::string: {
        const std::vector<char> text = list<char>(found, ORT_OP_ATTR_STRING);
        return std::string(text.begin(), text.end());
      }
      case AttributeType::floats: return list<float>(found, ORT_OP_ATTR_FLOATS);
      case AttributeType::ints: return list<int64_t>(found, ORT_OP_ATTR_INTS);
      case AttributeType::tensor: fail("a shape function cannot take the tensor attribute ", name);
      case AttributeType::none: break;
    }
    return {};
  }

 private:
  template <class T>
  T scalar(const OrtOpAttr* found, OrtOpAttrType type) const {
    T value{};
    size_t size = 0;
    check(api_, api_.ReadOpAttr(found, type, &value, sizeof value, &size));
    return value;
  }
  template <class T>
  std::vector<T> list(const OrtOpAttr* found, OrtOpAttrType type) const {
    size_t size = 0;
    works(api_, api_.ReadOpAttr(found, type, nullptr, 0, &size));
    std::vector<T> value(size / sizeof(T));
    if (size) check(api_, api_.ReadOpAttr(found, type, value.data(), size, &size));
    return value;
  }

  const OrtApi& api_;
  const OrtShapeInferContext* context_;
};

inline Shape shape_of(const OrtApi& api, const OrtTensorTypeAndShapeInfo* info) {
  size_t rank = 0;
  check(api, api.GetDimensionsCount(info, &rank));
  Shape shape;
  shape.resize(rank);
  std::array<int64_t, kMaxRank> dims;
  std::array<const char*, kMaxRank> symbols{};
  check(api, api.GetDimensions(info, dims.data(), rank));
  check(api, api.GetSymbolicDimensions(info, symbols.data(), rank));
  for (size_t i = 0; i < rank; ++i) {
    shape[int64_t(i)] = dims[i] >= 0 ? Dim(dims[i]) : Dim::unknown(symbols[i] ? symbols[i] : "");
  }
  return shape;
}

inline void set_output_shape(const OrtApi& api, OrtShapeInferContext* context, size_t index, DType dtype, const Shape& shape) {
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  check(api, api.CreateTensorTypeAndShapeInfo(&raw));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(raw, api.ReleaseTensorTypeAndShapeInfo);
  std::array<int64_t, kMaxRank> dims;
  std::array<std::string, kMaxRank> names;
  std::array<const char*, kMaxRank> symbols;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const Dim dim = shape[int64_t(i)];
    dims[i] = dim.known() ? dim.size() : -1;
    // ORT takes -1 without a name for a size. The name must be a new one: equal names mean equal sizes.
    static std::atomic<uint64_t> unknown{0};
    names[i] = dim.known() || !dim.symbol().empty() ? std::string(dim.symbol()) : message("unknown_", unknown++);
    symbols[i] = names[i].c_str();
  }
  check(api, api.SetTensorElementType(raw, ort_type(dtype)));
  check(api, api.SetDimensions(raw, dims.data(), shape.rank()));
  check(api, api.SetSymbolicDimensions(raw, symbols.data(), shape.rank()));
  check(api, api.ShapeInferContext_SetOutputTypeShape(context, index, raw));
}

/// Infers the shapes of a node's outputs for ORT, as far as they are known.
inline void infer_shapes(const OrtOperator& type, OrtShapeInferContext* context) {
  const OrtApi& api = *type.registration->api;
  const Operator& op = *type.op;
  if (!op.infer) return;
  size_t count = 0;
  check(api, api.ShapeInferContext_GetInputCount(context, &count));
  std::vector<Shape> inputs;
  std::vector<DType> types;
  for (size_t i = 0; i < count; ++i) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    check(api, api.ShapeInferContext_GetInputTypeShape(context, i, &info));
    ONNXTensorElementDataType type;
    check(api, api.GetTensorElementType(info, &type));
    types.push_back(DType(type));
    inputs.push_back(shape_of(api, info));
    // ORT shows a tensor of unknown rank and one without dimensions alike; saying nothing is right for both.
    if (inputs.back().rank() == 0) return;
  }
  std::vector<Shape> outputs(op.outputs.size());
  // ORT merges the overloads into one schema and asks the first one for all of them.
  const auto overload = std::ranges::find_if(op.overloads, [&](const Overload& o) {
    for (size_t i = 0; i < types.size(); ++i) {
      const DType expected = o.inputs[std::min(i, o.inputs.size() - 1)];
      if (expected != types[i] && expected != DType::none) return false;
    }
    return true;
  });
  if (overload == op.overloads.end()) return;
  op.infer(op, InferenceAttributes(api, context), inputs, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    // Up to 1.24 at least, ORT aborts when it is told of an output that the node leaves out, and does not say which. A
    // variadic output has at least one tensor.
    if (op.outputs[i].arity != Arity::optional) set_output_shape(api, context, i, overload->outputs[i], outputs[i]);
  }
}

}  // namespace graft::detail
