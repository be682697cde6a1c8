// A node of a session: attributes, constants and names while its kernel is made.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "graft/operator.h"
#include "graft/ort/api.h"

namespace graft::detail {

/// Reads what ORT's two-step calls give: first the size, then the text without the NUL at its end.
template <class Get>
bool read_text(const OrtApi& api, std::string& text, Get get) {
  size_t size = 0;
  if (!works(api, get(nullptr, &size))) return false;
  text.assign(size, '\0');
  if (size && !works(api, get(text.data(), &size))) return false;
  text.resize(size ? size - 1 : 0);
  return true;
}

/// Is a node whose kernel is being made.
class OrtNodeInfo final : public NodeInfo {
 public:
  OrtNodeInfo(const OrtOperator& type, const OrtKernelInfo* info)
      : registration_(*type.registration), api_(*type.registration->api), info_(info), constants_(type.op->inputs.size()) {
    const auto get = [&](char* out, size_t* size) { return api_.KernelInfo_GetNodeName(info_, out, size); };
    if (!read_text(api_, name_, get)) name_.clear();
    for (size_t i = 0; i < constants_.size(); ++i) {
      int is_constant = 0;
      const OrtValue* value = nullptr;
      if (!type.op->inputs[i].constant) continue;
      if (!works(api_, api_.KernelInfoGetConstantInput_tensor(info_, i, &is_constant, &value)) || !is_constant || !value) continue;
      read_tensor(registration_, value, type.overload->inputs[i], constants_[i]);
    }
  }

  std::string_view name() const override { return name_; }
  const Tensor* constant(size_t input) const override {
    return input < constants_.size() && constants_[input].present() ? &constants_[input] : nullptr;
  }

  /// Tells which optional outputs the node leaves out, a bit each.
  uint64_t left_out(const Operator& op) const {
    uint64_t bits = 0;
    size_t count = 0;
    check(api_, api_.KernelInfo_GetOutputCount(info_, &count));
    for (size_t i = 0; i < op.outputs.size() && i < 64; ++i) {
      if (op.outputs[i].arity != Arity::optional) continue;
      std::string name;
      const auto get = [&](char* out, size_t* size) { return api_.KernelInfo_GetOutputName(info_, i, out, size); };
      if (i >= count || !read_text(api_, name, get) || name.empty()) bits |= uint64_t(1) << i;
    }
    return bits;
  }

  AttributeValue read(const Attribute& attribute) const override {
    AttributeValue value = find(attribute.name.c_str(), attribute.type);
    if (!std::holds_alternative<std::monostate>(value)) return checked(attribute, std::move(value));
    for (AttributeType other : {AttributeType::float32, AttributeType::int64, AttributeType::string, AttributeType::floats,
                                AttributeType::ints, AttributeType::tensor}) {
      if (other != attribute.type && !std::holds_alternative<std::monostate>(find(attribute.name.c_str(), other))) {
        fail("attribute ", attribute.name, ": expected ", attribute_type_name(attribute.type), ", got ", attribute_type_name(other));
      }
    }
    if (attribute.required()) {
      fail("the attribute ", attribute.name, " (", attribute_type_name(attribute.type), ") is required, and missing");
    }
    return attribute.default_value;
  }

 private:
  /// Gives the attribute when it is there with this type. ORT gives a kernel no lists of strings.
  AttributeValue find(const char* name, AttributeType type) const {
    switch (type) {
      case AttributeType::float32: {
        float value = 0;
        if (works(api_, api_.KernelInfoGetAttribute_float(info_, name, &value))) return value;
        break;
      }
      case AttributeType::int64: {
        int64_t value = 0;
        if (works(api_, api_.KernelInfoGetAttribute_int64(info_, name, &value))) return value;
        break;
      }
      case AttributeType::string: {
        std::string text;
        const auto get = [&](char* out, size_t* size) { return api_.KernelInfoGetAttribute_string(info_, name, out, size); };
        if (read_text(api_, text, get)) return text;
        break;
      }
      case AttributeType::floats: return list<float>(name, api_.KernelInfoGetAttributeArray_float);
      case AttributeType::ints: return list<int64_t>(name, api_.KernelInfoGetAttributeArray_int64);
      case AttributeType::tensor: return tensor(name);
      case AttributeType::none: break;
    }
    return {};
  }

  template <class T, class Get>
  AttributeValue list(const char* name, Get get) const {
    size_t size = 0;
    if (!works(api_, get(info_, name, nullptr, &size))) return {};
    std::vector<T> value(size);
    if (size) check(api_, get(info_, name, value.data(), &size));
    return value;
  }

  AttributeValue tensor(const char* name) const {
    OrtAllocator* allocator = nullptr;
    OrtValue* raw = nullptr;
    check(api_, api_.GetAllocatorWithDefaultOptions(&allocator));
    if (!works(api_, api_.KernelInfoGetAttribute_tensor(info_, name, allocator, &raw))) return {};
    const std::unique_ptr<OrtValue, void (*)(OrtValue*)> value(raw, api_.ReleaseValue);
    OrtTensorTypeAndShapeInfo* type_info = nullptr;
    check(api_, api_.GetTensorTypeAndShape(raw, &type_info));
    ONNXTensorElementDataType type;
    OrtStatus* status = api_.GetTensorElementType(type_info, &type);
    api_.ReleaseTensorTypeAndShapeInfo(type_info);
    check(api_, status);
    Tensor view;
    read_tensor(registration_, raw, DType(type), view);
    return TensorAttribute(view);
  }

  const Registration& registration_;
  const OrtApi& api_;
  const OrtKernelInfo* info_;
  std::string name_;
  std::vector<Tensor> constants_;
};

/// Is a node of a session: the operator with its attributes bound.
struct OrtNode {
  const OrtOperator* type;
  std::string name;
  uint64_t left_out;  ///< Bit i: output i is optional and left out.
  std::unique_ptr<Kernel> kernel;

  std::string describe(const char* what) const {
    return name.empty() ? message(type->op->full_name(), ": ", what)
                        : message(type->op->full_name(), " (node \"", name, "\"): ", what);
  }
};

/// Makes the kernel of a node. Throws an Error that names both.
inline std::unique_ptr<OrtNode> make_node(const OrtOperator& type, const OrtKernelInfo* info) {
  const OrtNodeInfo node_info(type, info);
  auto node = std::make_unique<OrtNode>(OrtNode{&type, std::string(node_info.name()), node_info.left_out(*type.op), nullptr});
  try {
    node->kernel = type.overload->create(*type.op, node_info);
  } catch (const std::exception& error) {
    throw Error(node->describe(error.what()));
  }
  return node;
}

}  // namespace graft::detail
