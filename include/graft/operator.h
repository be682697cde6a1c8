// The schema of an operator and its kernels: one value, read by ORT's callbacks, graft_describe and the tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

/// Is what is known of a node: its name, its attributes, what its session is told, and inputs that are constants.
class NodeInfo : public AttributeReader {
 public:
  virtual std::string_view name() const { return {}; }
  /// Gives an input that is the same in every run; null when it is not. Asked while the kernel is made only.
  virtual const Tensor* constant(size_t input) const = 0;
  /// Lists the types of the node's inputs; none for one that is left out. Asked while the kernel is made only.
  virtual std::vector<DType> input_types() const { return {}; }
  /// Counts the node's outputs. Asked while the kernel is made only.
  virtual size_t output_count() const { return 0; }
  /// Gives an entry of the session's configuration. Throws an Error where they cannot be read.
  virtual std::optional<std::string> option(const std::string& key) const = 0;
};

/// Is one call of a kernel: tensors, and the services of whoever calls.
struct Invocation {
  std::span<Tensor> inputs;
  std::span<Tensor> outputs;
  Allocator allocator;
  Pool pool;
  const NodeInfo& node;
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

namespace detail {
/// Gives an output of a call to the function that computes it.
template <class T>
Out<T> make_out(Invocation& call, size_t index) {
  return Out<T>(call.outputs[index], index, &call,
                [](void* c, size_t i, DType dtype, std::span<const int64_t> shape) {
                  static_cast<Invocation*>(c)->allocate(i, dtype, shape);
                });
}
}  // namespace detail

/// Is an operator with its attributes bound, ready to compute. `run` may be called by several threads at once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(Invocation& call) const = 0;
};

/// Makes a kernel.
template <class K, class... Arguments>
std::unique_ptr<Kernel> make_kernel(Arguments&&... arguments) {
  return std::unique_ptr<Kernel>(new K(std::forward<Arguments>(arguments)...));
}

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
  std::vector<DType> inputs;  ///< DType::none: each tensor of a variadic input has a type of its own.
  std::vector<DType> outputs;
  std::unique_ptr<Kernel> (*create)(const Operator&, const NodeInfo&);
  /// Lists which output may take the memory of which input, as ORT asks for it; null when none may.
  size_t (*may_inplace)(int** inputs, int** outputs) = nullptr;
  std::vector<DType> any{};  ///< The types that the tensors of an input of DType::none may have.
};

enum class ShapeRule : uint8_t { computed, same, broadcast, function };

/// Describes an operator fully.
struct Operator {
  std::string domain;
  std::string name;
  std::string doc;
  std::string pool;  ///< Is what operators have in common that are one, under several names; empty: it stands alone.
  bool elementwise = false;
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Attribute> attributes;
  ShapeRule shape_rule = ShapeRule::computed;
  /// Infers the outputs' shapes from the inputs'; null when they are known only after computing.
  void (*infer)(const Operator&, const AttributeReader&, std::span<const Shape>, std::span<Shape>) = nullptr;
  std::shared_ptr<const void> members;  ///< Of an operator with state: the tuple of its MemberAttributes.
  bool reads_node = false;  ///< A call reads what the node says: its attributes by name, its session's options.
  std::vector<Definition> definitions;
  std::vector<Overload> overloads;

  std::string full_name() const { return domain + "::" + name; }
};

namespace detail {

/// Throws an Error when a Variadic<Any> may not have a tensor of this type at this place.
inline void check_any(const Operator& op, const Overload& overload, size_t place, DType got) {
  if (std::ranges::find(overload.any, got) != overload.any.end()) return;
  std::string expected;
  for (const DType type : overload.any) expected += (expected.empty() ? "tensor(" : ", tensor(") + std::string(dtype_name(type)) + ")";
  fail("input ", op.inputs.back().name, "[", place, "]: expected one of ", expected, ", got tensor(", dtype_name(got), ")");
}

}  // namespace detail
}  // namespace graft
