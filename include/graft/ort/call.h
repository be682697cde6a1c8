// One call of a kernel: tensors from ORT and back.
#pragma once

#include <algorithm>
#include <array>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graft/operator.h"
#include "graft/ort/api.h"
#include "graft/ort/node.h"

namespace graft::detail {

/// Holds a few tensors without an allocation.
class Tensors {
 public:
  explicit Tensors(size_t count) : count_(count) {
    if (count > inline_.size()) more_.resize(count);
  }
  operator std::span<Tensor>() { return {more_.empty() ? inline_.data() : more_.data(), count_}; }

 private:
  size_t count_;
  std::array<Tensor, 4> inline_;
  std::vector<Tensor> more_;
};

/// Is a call as the kernel's services see it.
struct OrtCall {
  const Registration& registration;
  OrtKernelContext* context;
  OrtAllocator* scratch_allocator = nullptr;
  /// Strings have no memory of their own in ORT's interface: inputs are copied, outputs are handed over at the end.
  std::list<std::vector<std::string>> strings{};
  std::vector<std::pair<OrtValue*, const std::vector<std::string>*>> string_outputs{};

  const OrtApi& api() const { return *registration.api; }

  static void* output(void* state, size_t index, DType dtype, std::span<const int64_t> shape) {
    OrtCall& call = *static_cast<OrtCall*>(state);
    OrtValue* value = nullptr;
    check(call.api(), call.api().KernelContext_GetOutput(call.context, index, shape.data(), shape.size(), &value));
    if (dtype == DType::string) {
      std::vector<std::string>& list = call.add_strings(std::vector<std::string>(size_t(element_count(shape))));
      call.string_outputs.emplace_back(value, &list);
      return list.data();
    }
    void* data = nullptr;
    check(call.api(), call.api().GetTensorMutableData(value, &data));
    return data;
  }
  static void* scratch(void* state, size_t bytes) {
    OrtCall& call = *static_cast<OrtCall*>(state);
    if (call.scratch_allocator == nullptr) {
      check(call.api(), call.api().KernelContext_GetAllocator(call.context, call.registration.cpu, &call.scratch_allocator));
    }
    void* memory = call.scratch_allocator->Alloc(call.scratch_allocator, bytes);
    if (memory == nullptr) fail("no memory for a scratch buffer of ", bytes, " bytes");
    return memory;
  }
  static void release(void* state, void* memory) {
    OrtAllocator* allocator = static_cast<OrtCall*>(state)->scratch_allocator;
    allocator->Free(allocator, memory);
  }
  static void parallel_for(void* state, void (*task)(void*, size_t), size_t count, void* argument) {
    const OrtCall& call = *static_cast<OrtCall*>(state);
    check(call.api(), call.api().KernelContext_ParallelFor(call.context, task, count, 0, argument));
  }

  void read_input(size_t index, DType dtype, Tensor& tensor) {
    const OrtValue* value = nullptr;
    check(api(), api().KernelContext_GetInput(context, index, &value));
    if (value == nullptr) return;  // an optional input that is left out
    if (dtype != DType::string) read_numbers(registration, value, dtype, tensor);
    else read_tensor(registration, value, dtype, tensor, add_strings({}));
  }

  std::vector<std::string>& add_strings(std::vector<std::string> list) {
    return strings.emplace_back(std::move(list));
  }

  /// Hands the strings of the outputs to ORT.
  void write_strings() const {
    for (const auto& [value, list] : string_outputs) {
      for (size_t i = 0; i < list->size(); ++i) {
        const std::string& text = (*list)[i];
        char* memory = nullptr;
        check(api(), api().GetResizedStringTensorElementBuffer(value, i, text.size(), &memory));
        std::copy(text.begin(), text.end(), memory);
      }
    }
  }
};

inline void compute(const OrtNode& node, OrtKernelContext* context) {
  const Registration& registration = *node.type->registration;
  const Operator& op = *node.type->op;
  const std::vector<DType>& types = node.type->overload->inputs;
  OrtCall call{registration, context};
  size_t count = op.inputs.size(), output_count = op.outputs.size();
  if (count > 0 && op.inputs.back().arity != Arity::required) {
    check(call.api(), call.api().KernelContext_GetInputCount(context, &count));
  }
  if (op.outputs.back().arity == Arity::variadic) {
    check(call.api(), call.api().KernelContext_GetOutputCount(context, &output_count));
  }
  Tensors input_store(count), output_store(output_count);
  const std::span<Tensor> inputs = input_store, outputs = output_store;
  for (size_t i = 0; i < count; ++i) {
    const size_t position = std::min(i, types.size() - 1);
    call.read_input(i, types[position] == DType::none ? node.any_types[i - position] : types[position], inputs[i]);
    if (!inputs[i].present() && op.inputs[position].arity != Arity::optional) {
      fail("the input ", op.inputs[position].name, " is required, and left out");
    }
  }
  Invocation invocation{inputs,
                        outputs,
                        {&call, &OrtCall::output, &OrtCall::scratch, &OrtCall::release},
                        Pool(&call, registration.version >= kApiWithThreads ? &OrtCall::parallel_for : nullptr),
                        node.info,
                        node.left_out};
  node.kernel->run(invocation);
  call.write_strings();
}

/// Computes a node. Throws an Error that names it.
inline void compute_node(void* kernel, OrtKernelContext* context) {
  const OrtNode& node = *static_cast<OrtNode*>(kernel);
  try {
    compute(node, context);
  } catch (const std::exception& error) {
    throw Error(node.describe(error.what()));
  }
}

}  // namespace graft::detail
