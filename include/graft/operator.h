// The schema of an operator and its kernels: one value, read by ORT's callbacks, graft_describe and the tests.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graft/attribute.h"
#include "graft/definition.h"
#include "graft/dtype.h"
#include "graft/shape.h"
#include "graft/tensor.h"

namespace graft {

/// Calls tasks on ORT's threads, or on those of a caller of graft_describe.
struct Pool {
  void* state = nullptr;
  void (*parallel_for)(void* state, void (*task)(void*, size_t), size_t count, void* argument) = nullptr;

  /// Calls task(i) for every i below count and returns when all are done. Throws an Error when ORT could not run it.
  /// A task that throws does not stop the others; the first exception is thrown again here.
  template <class Task>
  void run(size_t count, Task task) const {
    if (count == 1 || parallel_for == nullptr) {
      for (size_t i = 0; i < count; ++i) task(i);
      return;
    }
    struct Shared {
      Task& task;
      std::exception_ptr error{};
      std::atomic_flag failed{};
    } shared{task};
    const auto call = [](void* argument, size_t i) {
      Shared& s = *static_cast<Shared*>(argument);
      try {
        s.task(i);
      } catch (...) {
        if (!s.failed.test_and_set()) s.error = std::current_exception();
      }
    };
    parallel_for(state, call, count, &shared);
    if (shared.error) std::rethrow_exception(shared.error);
  }
};

/// Is one call of a kernel: tensors, and the services of whoever calls.
struct Invocation {
  std::span<Tensor> inputs;
  std::span<Tensor> outputs;
  Allocator allocator;
  Pool pool;

  /// Allocates an output and returns it.
  Tensor& allocate(size_t index, DType dtype, std::span<const int64_t> shape) {
    Tensor& output = outputs[index];
    output.shape.assign(shape);
    output.size = element_count(shape);
    output.data = allocator.allocate(allocator.state, index, dtype, shape);
    output.dtype = dtype;
    return output;
  }
};

/// Is an operator with its attributes bound, ready to compute. `run` may be called by several threads at once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(Invocation& call) const = 0;
};

enum class Arity : uint8_t { required, optional, variadic };

/// Is an input or output of an operator.
struct Argument {
  std::string name;
  Arity arity = Arity::required;
};

struct Operator;

/// Is an operator for one combination of element types.
struct Overload {
  std::vector<DType> inputs;
  std::vector<DType> outputs;
  std::function<std::unique_ptr<Kernel>(const Operator&, const AttributeReader&)> create;
};

enum class ShapeRule : uint8_t { computed, same, broadcast, function };

/// Describes an operator fully.
struct Operator {
  std::string domain;
  std::string name;
  std::string doc;
  bool elementwise = false;
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Attribute> attributes;
  ShapeRule shape_rule = ShapeRule::computed;
  /// Infers the outputs' shapes from the inputs'; empty when they are known only after computing.
  std::function<void(const AttributeReader&, std::span<const Shape>, std::span<Shape>)> infer;
  std::vector<Definition> definitions;
  std::vector<Overload> overloads;

  std::string full_name() const { return domain + "::" + name; }
};

}  // namespace graft
