// The schema of an operator and its kernels: one value, read by ORT's callbacks, graft_describe and the tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graft/attribute.h"
#include "graft/definition.h"
#include "graft/dtype.h"
#include "graft/pool.h"
#include "graft/shape.h"
#include "graft/tensor.h"

namespace graft {

/// Gives memory: outputs, and scratch for the time of a call. ORT's, or that of a caller of graft_describe.
struct Allocator {
  void* state = nullptr;
  void* (*output)(void* state, size_t index, DType dtype, std::span<const int64_t> shape) = nullptr;
  void* (*scratch)(void* state, size_t bytes) = nullptr;
  void (*release)(void* state, void* memory) = nullptr;
};

/// Is one call of a kernel: tensors, and the services of whoever calls.
struct Invocation {
  std::span<Tensor> inputs;
  std::span<Tensor> outputs;
  Allocator allocator;
  Pool pool;
  std::string_view node_name = {};
  uint64_t left_out = 0;  ///< Bit i says that nobody wants output i, which is optional.

  bool wants(size_t output) const { return output < outputs.size() && (output >= 64 || !((left_out >> output) & 1)); }

  /// Allocates an output and returns it.
  Tensor& allocate(size_t index, DType dtype, std::span<const int64_t> shape) {
    Tensor& output = outputs[index];
    output.shape.assign(shape);
    output.size = element_count(shape);
    output.data = allocator.output(allocator.state, index, dtype, shape);
    output.dtype = dtype;
    return output;
  }
};

/// Is what is known of a node when its kernel is made: attributes, name, and inputs that are constants.
class NodeInfo : public AttributeReader {
 public:
  virtual std::string_view name() const { return {}; }
  /// Gives an input that is the same in every run; null when it is not.
  virtual const Tensor* constant(size_t input) const = 0;
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
  bool constant = false;  ///< An input that must be an initializer.
};

struct Operator;

/// Is an operator for one combination of element types.
struct Overload {
  std::vector<DType> inputs;
  std::vector<DType> outputs;
  std::function<std::unique_ptr<Kernel>(const Operator&, const NodeInfo&)> create;
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
  /// Lists which output may take the memory of which input, as ORT asks for it; null when none may.
  size_t (*may_inplace)(int** inputs, int** outputs) = nullptr;
  std::vector<Definition> definitions;
  std::vector<Overload> overloads;

  std::string full_name() const { return domain + "::" + name; }
};

}  // namespace graft
