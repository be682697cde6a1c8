// A node of a session: attributes, constants and names while its kernel is made.
#pragma once

#include <list>
#include <memory>
#include <optional>
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

/// Is a node as ORT shows it to its kernel.
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
      read_tensor(registration_, value, type.overload->inputs[i], constants_[i], constant_strings_.emplace_back());
    }
  }

  std::string_view name() const override { return name_; }
  const Tensor* constant(size_t input) const override {
    return input < constants_.size() && constants_[input].present() ? &constants_[input] : nullptr;
  }

  std::vector<DType> input_types() const override {
    size_t count = 0;
    check(api_, api_.KernelInfo_GetInputCount(info_, &count));
    std::vector<DType> types;
    for (size_t i = 0; i < count; ++i) types.push_back(input_type(i));
    return types;
  }
  size_t output_count() const override {
    size_t count = 0;
    check(api_, api_.KernelInfo_GetOutputCount(info_, &count));
    return count;
  }

  /// Keeps what calls may ask for. ORT's own object ends when the kernel is made, so one that reads the node gets a copy.
  void keep_for_calls(bool reads_node) {
    constants_.clear();
    constant_strings_.clear();
    if (reads_node) {
      OrtKernelInfo* copy = nullptr;
      check(api_, api_.CopyKernelInfo(info_, &copy));
      kept_ = {copy, api_.ReleaseKernelInfo};
    }
    info_ = kept_.get();
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

  /// Lists the types of the tensors of a Variadic<Any>; none for an operator without one.
  std::vector<DType> any_types(const Operator& op, const Overload& overload) const {
    std::vector<DType> types;
    if (overload.any.empty()) return types;
    size_t count = 0;
    check(api_, api_.KernelInfo_GetInputCount(info_, &count));
    for (size_t i = op.inputs.size() - 1; i < count; ++i) {
      types.push_back(input_type(i));
      check_any(op, overload, types.size() - 1, types.back());
    }
    return types;
  }

  AttributeValue find(const std::string& name, AttributeType type) const override {
    AttributeValue value = find_as(name.c_str(), type);
    if (says_something(value)) return value;
    for (AttributeType other : {AttributeType::float32, AttributeType::int64, AttributeType::string, AttributeType::floats,
                                AttributeType::ints, AttributeType::tensor}) {
      if (other != type && says_something(find_as(name.c_str(), other))) {
        fail("attribute ", name, ": expected ", attribute_type_name(type), ", got ", attribute_type_name(other));
      }
    }
    return value;
  }

  std::optional<std::string> option(const std::string& key) const override {
    const LaterApi& later = registration_.later;
    if (later.config_entries == nullptr) {
      fail("the session option ", key, " cannot be read: ONNX Runtime shows them to operators from 1.", kLaterApi, " on, this is 1.",
           registration_.runtime);
    }
    void* raw = nullptr;
    check(api_, later.config_entries(info_, &raw));
    const std::unique_ptr<void, void (*)(void*)> pairs(raw, later.release_pairs);
    const char* value = later.key_value(pairs.get(), key.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  }

 private:
  /// Says whether an attribute of this type was surely there: ORT gives an empty list for one of any other type.
  static bool says_something(const AttributeValue& value) {
    if (const auto* floats = std::get_if<std::vector<float>>(&value)) return !floats->empty();
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) return !ints->empty();
    return !std::holds_alternative<std::monostate>(value);
  }

  DType input_type(size_t index) const {
    OrtTypeInfo* raw = nullptr;
    check(api_, api_.KernelInfo_GetInputTypeInfo(info_, index, &raw));
    const std::unique_ptr<OrtTypeInfo, void (*)(OrtTypeInfo*)> info(raw, api_.ReleaseTypeInfo);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    check(api_, api_.CastTypeInfoToTensorInfo(raw, &tensor));
    if (tensor == nullptr) return DType::none;  // a sequence, a map
    ONNXTensorElementDataType type;
    check(api_, api_.GetTensorElementType(tensor, &type));
    return DType(type);
  }

  /// Gives the attribute when it is there with this type. ORT gives a kernel no lists of strings.
  AttributeValue find_as(const char* name, AttributeType type) const {
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
    std::vector<std::string> strings;
    read_tensor(registration_, raw, DType(type), view, strings);
    return TensorAttribute(view);
  }

  const Registration& registration_;
  const OrtApi& api_;
  const OrtKernelInfo* info_;
  std::unique_ptr<OrtKernelInfo, void (*)(OrtKernelInfo*)> kept_{nullptr, nullptr};
  std::string name_;
  std::vector<Tensor> constants_;
  std::list<std::vector<std::string>> constant_strings_;
};

/// Is a node of a session: the operator with its attributes bound.
struct OrtNode {
  const OrtOperator* type;
  OrtNodeInfo info;
  uint64_t left_out = 0;           ///< Bit i: output i is optional and left out.
  std::vector<DType> any_types{};  ///< Of the tensors of a Variadic<Any>.
  std::unique_ptr<Kernel> kernel{};

  std::string describe(const char* what) const {
    const std::string_view name = info.name();
    return name.empty() ? message(type->op->full_name(), ": ", what)
                        : message(type->op->full_name(), " (node \"", name, "\"): ", what);
  }
};

/// Makes the kernel of a node. Throws an Error that names both.
inline std::unique_ptr<OrtNode> make_node(const OrtOperator& type, const OrtKernelInfo* info) {
  auto node = std::make_unique<OrtNode>(OrtNode{&type, OrtNodeInfo(type, info)});
  try {
    node->left_out = node->info.left_out(*type.op);
    node->any_types = node->info.any_types(*type.op, *type.overload);
    node->kernel = type.overload->create(*type.op, node->info);
    node->info.keep_for_calls(type.op->reads_node);
  } catch (const std::exception& error) {
    throw Error(node->describe(error.what()));
  }
  return node;
}

}  // namespace graft::detail
