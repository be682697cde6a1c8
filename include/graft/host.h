// Calls of kernels without ORT: the C entries of graft/describe_abi.h, from the side of the library.
//
//   call_entry(entry, host, inputs, 1);        // what graft_entry.call does, with exceptions
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graft/describe_abi.h"
#include "graft/operator.h"

namespace graft::detail {

/// Gives a member that was appended to graft_host; null when the caller was made before it was.
#define GRAFT_HOST_MEMBER(host, member) \
  ((host).size >= offsetof(graft_host, member) + sizeof((host).member) ? (host).member : nullptr)

/// Copies strings that a caller gave.
inline std::vector<std::string> copy_strings(const void* data, int64_t count) {
  const std::span strings(static_cast<const graft_string*>(data), size_t(count));
  std::vector<std::string> copies;
  for (const graft_string& text : strings) copies.emplace_back(text.data, text.size);
  return copies;
}

/// Reads a tensor that a caller gave; its strings are copied into `strings`, other elements stay where they are.
inline Tensor read_value(const graft_value& value, std::vector<std::string>& strings) {
  Tensor tensor;
  tensor.dtype = DType(value.dtype);
  tensor.shape.assign({value.shape, size_t(value.rank)});
  tensor.size = element_count(tensor.shape);
  tensor.data = value.data;
  if (tensor.dtype == DType::string) {
    strings = copy_strings(value.data, tensor.size);
    tensor.data = strings.data();
  }
  return tensor;
}

/// Is a node that a graft_host describes; every input is a constant for the one call that it lives.
class HostNode final : public NodeInfo {
 public:
  HostNode(const graft_host& host, std::span<const Tensor> inputs, size_t output_count)
      : host_(host), inputs_(inputs), output_count_(output_count) {}

  std::vector<DType> input_types() const override {
    std::vector<DType> types;
    for (const Tensor& input : inputs_) types.push_back(input.dtype);
    return types;
  }
  size_t output_count() const override { return output_count_; }

  const Tensor* constant(size_t input) const override { return input < inputs_.size() ? &inputs_[input] : nullptr; }

  std::optional<std::string> option(const std::string& key) const override {
    const auto find = GRAFT_HOST_MEMBER(host_, option);
    if (find == nullptr) fail("the session option ", key, " cannot be read: the caller gives none");
    const char* value = find(host_.state, key.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  }

  AttributeValue find(const std::string& name, AttributeType type) const override {
    const void* data = nullptr;
    size_t count = 0;
    const int found = host_.attribute ? host_.attribute(host_.state, name.c_str(), int32_t(type), &data, &count) : 0;
    if (found < 0) fail("attribute ", name, ": expected ", attribute_type_name(type), ", got another type");
    if (found == 0) return {};
    switch (type) {
      case AttributeType::float32: return *static_cast<const float*>(data);
      case AttributeType::int64: return *static_cast<const int64_t*>(data);
      case AttributeType::string: return std::string(*static_cast<const char* const*>(data));
      case AttributeType::floats: return std::vector<float>(static_cast<const float*>(data), static_cast<const float*>(data) + count);
      case AttributeType::ints:
        return std::vector<int64_t>(static_cast<const int64_t*>(data), static_cast<const int64_t*>(data) + count);
      case AttributeType::tensor: {
        std::vector<std::string> strings;
        return TensorAttribute(read_value(*static_cast<const graft_value*>(data), strings));
      }
      case AttributeType::none: break;
    }
    return {};
  }

 private:
  const graft_host& host_;
  std::span<const Tensor> inputs_;
  size_t output_count_;
};

/// Is an entry together with what it calls; the C side sees the first member.
struct Entry {
  graft_entry c;
  const Operator* op;
  const Overload* overload;
};

/// Throws an Error when the caller asks for fewer or more outputs than the operator has.
inline void check_output_count(const Operator& op, size_t count) {
  const bool variadic = op.outputs.back().arity == Arity::variadic;
  const size_t needed = size_t(std::ranges::count_if(op.outputs, [](const Argument& a) { return a.arity != Arity::optional; }));
  if (count < needed || (count > op.outputs.size() && !variadic)) {
    fail("expected ", variadic ? "at least " : "", variadic ? needed : op.outputs.size(), " outputs, got ", count);
  }
}

/// Is one call: its tensors, and the strings that they refer to.
class HostCall {
 public:
  HostCall(const Entry& entry, const graft_host& host, std::span<const graft_value> values, size_t output_count)
      : op_(*entry.op), host_(host), outputs_(output_count) {
    check_output_count(op_, output_count);
    read_inputs(*entry.overload, values);
  }

  void run(const Overload& overload) {
    const HostNode node(host_, inputs_, outputs_.size());
    const Allocator allocator{this, &HostCall::output,
                              [](void*, size_t bytes) { return ::operator new(bytes, std::align_val_t(64)); },
                              [](void*, void* memory) { ::operator delete(memory, std::align_val_t(64)); }};
    Invocation call{inputs_, outputs_, allocator, Pool{host_.state, host_.parallel_for}, node};
    overload.create(op_, node)->run(call);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].dtype == DType::string) put_strings(i);
    }
  }

 private:
  void read_inputs(const Overload& overload, std::span<const graft_value> values) {
    const bool variadic = !op_.inputs.empty() && op_.inputs.back().arity == Arity::variadic;
    if (values.size() > op_.inputs.size() && !variadic) {
      fail("expected at most ", op_.inputs.size(), " inputs, got ", values.size());
    }
    inputs_.resize(std::max(values.size(), op_.inputs.size()));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const size_t position = std::min(i, op_.inputs.size() - 1);
      const Argument& argument = op_.inputs[position];
      if (i >= values.size() || values[i].dtype == 0) {
        if (argument.arity != Arity::optional) fail("the input ", argument.name, " is required");
        continue;
      }
      const DType expected = overload.inputs[position], got = DType(values[i].dtype);
      if (expected == DType::none) check_any(op_, overload, i - position, got);
      else if (got != expected) {
        fail("input ", argument.name, ": expected tensor(", dtype_name(expected), "), got tensor(", dtype_name(got), ")");
      }
      inputs_[i] = read_value(values[i], strings_.emplace_back());
    }
  }

  static void* output(void* state, size_t index, DType dtype, std::span<const int64_t> shape) {
    HostCall& call = *static_cast<HostCall*>(state);
    if (dtype == DType::string) return call.strings_.emplace_back(size_t(element_count(shape))).data();
    void* memory = call.host_.allocate(call.host_.state, index, int32_t(dtype), shape.data(), shape.size());
    if (memory == nullptr) fail("the caller gave no memory for output ", index, " of shape ", shape);
    return memory;
  }

  /// Hands the strings of an output to the caller.
  void put_strings(size_t index) const {
    const Tensor& output = outputs_[index];
    const std::span elements(static_cast<const std::string*>(output.data), size_t(output.size));
    std::vector<graft_string> strings;
    for (const std::string& text : elements) strings.push_back({text.data(), text.size()});
    const auto put = GRAFT_HOST_MEMBER(host_, put_strings);
    if (put == nullptr || put(host_.state, index, strings.data(), output.shape.data(), output.shape.size()) != 0) {
      fail("the caller takes no strings for output ", index, " of shape ", std::span<const int64_t>(output.shape));
    }
  }

  const Operator& op_;
  const graft_host& host_;
  std::list<std::vector<std::string>> strings_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
};
#undef GRAFT_HOST_MEMBER

/// Checks the tensors against the schema and hands them to the kernel. Throws an Error.
inline void call_entry(const Entry& entry, const graft_host& host, std::span<const graft_value> inputs, size_t output_count) {
  HostCall(entry, host, inputs, output_count).run(*entry.overload);
}

}  // namespace graft::detail
