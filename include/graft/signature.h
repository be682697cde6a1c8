// Kernels from tensor functions: reads a function's parameters and calls it with tensors and attributes.
//
//   template <class T> void roll(In<T> x, Out<T> y, int64_t shift);
//   m.def<roll<float>, roll<double>>("Roll", "shift"_attr = 1, shape<same>);
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "graft/attribute.h"
#include "graft/operator.h"
#include "graft/param.h"
#include "graft/shape.h"

namespace graft::detail {

/// Lists the parameters of a function.
template <class R, class... P>
struct Signature {
  using Result = R;
  using Params = std::tuple<std::remove_cvref_t<P>...>;
  static constexpr size_t arity = sizeof...(P);
  static constexpr bool has_tensors = (param<std::remove_cvref_t<P>>::tensor || ...);
};

template <class F>
struct signature_of;
template <class R, class... P>
struct signature_of<R (*)(P...)> : Signature<R, P...> {};
template <class R, class... P>
struct signature_of<R (*)(P...) noexcept> : Signature<R, P...> {};
template <class F, class R, class... P>
struct signature_of<R (F::*)(P...) const> : Signature<R, P...> {};
template <class F, class R, class... P>
struct signature_of<R (F::*)(P...) const noexcept> : Signature<R, P...> {};
template <class F, class R, class... P>
struct signature_of<R (F::*)(P...)> : Signature<R, P...> {};

template <class S, size_t I>
using parameter = std::tuple_element_t<I, typename S::Params>;

constexpr bool is_input(Role role) { return role == Role::input || role == Role::inout; }
constexpr bool is_output(Role role) { return role == Role::output || role == Role::inout; }

/// Finds where parameter I stands: how many inputs and outputs come before it.
template <class S, size_t I>
constexpr Place place_of() {
  return []<size_t... J>(std::index_sequence<J...>) {
    return Place{(size_t(0) + ... + size_t(is_input(param<parameter<S, J>>::role))),
                 (size_t(0) + ... + size_t(is_output(param<parameter<S, J>>::role)))};
  }(std::make_index_sequence<I>{});
}

/// Calls visit(param<P>{}, place) for each of the first Tensors parameters.
template <class S, size_t Tensors, class Visit>
constexpr void for_each_parameter(Visit visit) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    (visit(param<parameter<S, I>>{}, place_of<S, I>()), ...);
  }(std::make_index_sequence<Tensors>{});
}

/// Gives the attributes of a function whose first Tensors parameters are tensors.
template <class S, size_t Tensors, class I = std::make_index_sequence<S::arity - Tensors>>
struct attributes_of;
template <class S, size_t Tensors, size_t... I>
struct attributes_of<S, Tensors, std::index_sequence<I...>> {
  static_assert((attribute_param<parameter<S, Tensors + I>>::supported && ...),
                "a parameter after the tensors is not a type that an attribute can have: use float, double, an integer, "
                "bool, std::string, or std::vector or std::span of float, int64_t or std::string");
  using Stored = std::tuple<typename attribute_param<parameter<S, Tensors + I>>::Stored...>;
  static constexpr std::array<AttributeType, sizeof...(I)> types{attribute_param<parameter<S, Tensors + I>>::type...};

  static Stored read(const Operator& op, const AttributeReader& reader) {
    return Stored{read_attribute<parameter<S, Tensors + I>>(reader, op.attributes[I])...};
  }
};

// ---- shape rules -------------------------------------------------------------------------------------------------

/// Calls a shape function with the inputs' shapes and as many attributes as it takes, and stores one shape an output.
template <auto F, class Attributes>
void call_shape_function(std::span<const Shape> inputs, const Attributes& attributes, std::span<Shape> outputs) {
  using S = signature_of<decltype(F)>;
  using R = std::remove_cvref_t<typename S::Result>;
  static_assert(std::is_same_v<R, Shape> || requires(R r) { { *std::begin(r) } -> std::convertible_to<Shape>; },
                "a shape function returns a graft::Shape, or a std::array<graft::Shape, n> for n outputs");
  constexpr size_t shapes = []<size_t... I>(std::index_sequence<I...>) {
    return (size_t(0) + ... + size_t(std::is_same_v<parameter<S, I>, Shape>));
  }(std::make_index_sequence<S::arity>{});
  static_assert(shapes >= 1 || S::arity == std::tuple_size_v<Attributes>,
                "a shape function takes `const Shape&` for each input, then attributes of the operator in their order");
  static_assert(S::arity - shapes <= std::tuple_size_v<Attributes>,
                "the shape function takes more attributes than the operator has");
  if (inputs.size() < shapes) fail("the shape function needs ", shapes, " inputs, got ", inputs.size());
  const auto result = [&]<size_t... I, size_t... A>(std::index_sequence<I...>, std::index_sequence<A...>) {
    return F(inputs[I]..., std::get<A>(attributes)...);
  }(std::make_index_sequence<shapes>{}, std::make_index_sequence<S::arity - shapes>{});
  if constexpr (std::is_same_v<R, Shape>) {
    for (Shape& output : outputs) output = result;
  } else if constexpr (requires { std::size(result); }) {
    if (std::size(result) != outputs.size()) {
      fail("the shape function gives ", std::size(result), " shapes for ", outputs.size(), " outputs");
    }
    std::copy(std::begin(result), std::end(result), outputs.begin());
  }
}

/// No rule: the function allocates its outputs itself.
struct ComputedRule {
  static constexpr ShapeRule rule = ShapeRule::computed;
};
template <auto F>
struct FunctionRule {
  static constexpr ShapeRule rule = ShapeRule::function;
  template <class Attributes>
  static void infer(std::span<const Shape> inputs, const Attributes& attributes, std::span<Shape> outputs) {
    call_shape_function<F>(inputs, attributes, outputs);
  }
};
struct SameRule {
  static constexpr ShapeRule rule = ShapeRule::same;
  template <class Attributes>
  static void infer(std::span<const Shape> inputs, const Attributes&, std::span<Shape> outputs) {
    if (inputs.empty()) fail("shape<same> needs an input");
    for (Shape& output : outputs) output = inputs[0];
  }
};
struct BroadcastRule {
  static constexpr ShapeRule rule = ShapeRule::broadcast;
  template <class Attributes>
  static void infer(std::span<const Shape> inputs, const Attributes&, std::span<Shape> outputs) {
    if (inputs.empty()) fail("shape<broadcast> needs an input");
    Shape result = inputs[0];
    for (const Shape& input : inputs.subspan(1)) result = broadcast_shapes(result, input);
    for (Shape& output : outputs) output = result;
  }
};

template <auto F>
constexpr auto rule_for() {
  using T = std::remove_const_t<decltype(F)>;
  if constexpr (std::is_same_v<T, SameShape>) return SameRule{};
  else if constexpr (std::is_same_v<T, BroadcastShape>) return BroadcastRule{};
  else return FunctionRule<F>{};
}

/// Broadcasts a shape with another one. Throws an Error when they do not broadcast.
inline void broadcast_to(Dims& dims, std::span<const int64_t> other) {
  const size_t low = std::min(dims.size(), other.size());
  if (other.size() > dims.size()) {
    const Dims inner = dims;
    dims.assign(other);
    std::copy_n(inner.begin(), low, dims.data() + (other.size() - low));
  }
  for (size_t i = 1; i <= low; ++i) {
    int64_t& a = dims[dims.size() - i];
    const int64_t b = other[other.size() - i];
    if (a == b || b == 1) continue;
    if (a != 1) fail("dimensions ", a, " and ", b, " do not broadcast");
    a = b;
  }
}

/// Allocates the outputs by the rule, before the function is called.
template <class Rule, class Attributes>
void allocate_outputs(Invocation& call, const Attributes& attributes, std::span<const DType> dtypes) {
  const auto dtype = [&](size_t i) { return dtypes[std::min(i, dtypes.size() - 1)]; };
  if constexpr (std::is_same_v<Rule, SameRule>) {
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (call.wants(i)) call.allocate(i, dtype(i), call.inputs[0].shape);
    }
  } else if constexpr (std::is_same_v<Rule, BroadcastRule>) {
    Dims dims = call.inputs[0].shape;
    for (const Tensor& input : call.inputs.subspan(1)) broadcast_to(dims, input.shape);
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (call.wants(i)) call.allocate(i, dtype(i), dims);
    }
  } else if constexpr (Rule::rule != ShapeRule::computed) {
    std::vector<Shape> inputs, outputs(call.outputs.size());
    for (const Tensor& input : call.inputs) inputs.emplace_back(std::span<const int64_t>(input.shape));
    Rule::infer(inputs, attributes, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!call.wants(i)) continue;
      Dims dims;
      dims.resize(outputs[i].rank());
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        const Dim dim = outputs[i][int64_t(axis)];
        if (!dim.known()) fail("the shape function leaves dimension ", axis, " of output ", i, " unknown");
        dims[axis] = dim.size();
      }
      call.allocate(i, dtype(i), dims);
    }
  }
}

// ---- kernels -----------------------------------------------------------------------------------------------------

/// Calls `callable(parameters...)` with tensors bound to its first parameters and attributes to its last.
template <class S, size_t Tensors, class Callable, class Attributes>
void call_with_tensors(Callable&& callable, Invocation& call, const Attributes& attributes) {
  [&]<size_t... I, size_t... A>(std::index_sequence<I...>, std::index_sequence<A...>) {
    callable(param<parameter<S, I>>::bind(call, place_of<S, I>())..., std::get<A>(attributes)...);
  }(std::make_index_sequence<Tensors>{}, std::make_index_sequence<std::tuple_size_v<Attributes>>{});
}

/// Lists the element types of a function's inputs (or outputs).
template <class S, size_t Tensors>
std::vector<DType> input_dtypes() {
  std::vector<DType> types;
  for_each_parameter<S, Tensors>([&](auto p, Place) {
    if constexpr (is_input(decltype(p)::role)) types.push_back(p.dtype);
  });
  return types;
}
/// Lists the types that the tensors of a Variadic<AnyOf<...>> among the inputs may have.
template <class S, size_t Tensors>
std::vector<DType> any_dtypes() {
  std::vector<DType> types;
  for_each_parameter<S, Tensors>([&](auto p, Place) {
    if constexpr (requires { p.any; }) types.assign(p.any.begin(), p.any.end());
  });
  return types;
}
template <class S, size_t Tensors>
std::vector<DType> output_dtypes() {
  std::vector<DType> types;
  for_each_parameter<S, Tensors>([&](auto p, Place) {
    if constexpr (is_output(decltype(p)::role)) types.push_back(p.dtype);
  });
  return types;
}

/// Lists the pairs of input and output that share one tensor, as ORT asks for them.
template <class S, size_t Tensors>
size_t inout_pairs(int** inputs, int** outputs) {
  constexpr size_t room = Tensors ? Tensors : 1;
  *inputs = new int[room];
  *outputs = new int[room];
  size_t count = 0;
  for_each_parameter<S, Tensors>([&](auto p, Place place) {
    if constexpr (decltype(p)::role == Role::inout) {
      (*inputs)[count] = int(place.input);
      (*outputs)[count++] = int(place.output);
    }
  });
  return count;
}
template <class S, size_t Tensors>
constexpr bool has_inout() {
  bool found = false;
  for_each_parameter<S, Tensors>([&](auto p, Place) { found = found || decltype(p)::role == Role::inout; });
  return found;
}

/// Gives that function for operators that have such pairs, else null.
template <class S, size_t Tensors>
constexpr auto inout_pairs_of() -> size_t (*)(int**, int**) {
  if constexpr (has_inout<S, Tensors>()) return &inout_pairs<S, Tensors>;
  else return nullptr;
}

/// Says whether a call of a function reads what its node says.
template <class S, size_t Tensors>
constexpr bool reads_node() {
  bool found = false;
  for_each_parameter<S, Tensors>([&](auto p, Place) { found = found || requires { p.reads_node; }; });
  return found;
}

/// Says whether every plain number among the inputs comes before the first output; after it, one is a forgotten name.
template <class S, size_t Tensors>
constexpr bool numbers_before_outputs() {
  return []<size_t... I>(std::index_sequence<I...>) {
    return ((param<parameter<S, I>>::role != Role::input || param<parameter<S, I>>::tensor || place_of<S, I>().output == 0) && ...);
  }(std::make_index_sequence<Tensors>{});
}

/// Throws an Error when an input that must be a constant is not.
inline void check_constants(const Operator& op, const NodeInfo& node) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].constant && node.constant(i) == nullptr) {
      fail("the input ", op.inputs[i].name, " must be a constant (an initializer that is no graph input), got a value that is computed or given");
    }
  }
}

inline void check_allocated(const Operator& op, const Invocation& call) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.wants(i) && !call.outputs[i].present()) {
      const std::string& name = op.outputs[std::min(i, op.outputs.size() - 1)].name;
      fail("output ", name, " was never allocated: give the operator a shape rule, or call ", name,
           ".allocate({...}) in the function");
    }
  }
}

/// Is the kernel of a tensor function.
template <auto F, class Rule, size_t Tensors>
class FunctionKernel final : public Kernel {
  using S = signature_of<decltype(F)>;
  using Attributes = attributes_of<S, Tensors>;

 public:
  FunctionKernel(const Operator& op, const NodeInfo& node)
      : op_(op), attributes_(Attributes::read(op, node)), outputs_(output_dtypes<S, Tensors>()) {
    check_constants(op, node);
  }

  void run(Invocation& call) const override {
    allocate_outputs<Rule>(call, attributes_, outputs_);
    call_with_tensors<S, Tensors>(F, call, attributes_);
    check_allocated(op_, call);
  }

 private:
  const Operator& op_;
  typename Attributes::Stored attributes_;
  std::vector<DType> outputs_;
};

/// Is the kernel of a functor with state: its attributes T are data members, and prepare() has run once.
template <class F, class Rule, class... T>
class StatefulKernel final : public Kernel {
  using S = signature_of<decltype(&F::operator())>;

 public:
  StatefulKernel(const Operator& op, const NodeInfo& node, const std::tuple<MemberAttribute<F, T>...>& members)
      : op_(op), outputs_(output_dtypes<S, S::arity>()) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((functor_.*std::get<I>(members).member = T(read_attribute<T>(node, op.attributes[I]))), ...);
      attributes_ = {functor_.*std::get<I>(members).member...};
    }(std::index_sequence_for<T...>{});
    check_constants(op, node);
    prepare(node);
  }

  void run(Invocation& call) const override {
    allocate_outputs<Rule>(call, attributes_, outputs_);
    call_with_tensors<S, S::arity>(functor_, call, std::tuple<>{});
    check_allocated(op_, call);
  }

 private:
  /// Calls prepare() when the functor has one, with as many constant inputs as it takes, and the node if it likes.
  void prepare(const NodeInfo& node) {
    if constexpr (requires { &F::prepare; }) {
      using P = signature_of<decltype(&F::prepare)>;
      static_assert(is_prepare<P>(std::make_index_sequence<P::arity>{}), "prepare takes constant inputs, Const<In<T>>, and a Node");
      std::vector<Tensor> constants;
      for (size_t i = 0; i < op_.inputs.size(); ++i) {
        if (op_.inputs[i].constant) constants.push_back(*node.constant(i));
      }
      constexpr size_t wanted = place_of<P, P::arity>().input;
      if (constants.size() < wanted) fail("prepare takes ", wanted, " constants, the operator has ", constants.size());
      Invocation call{constants, {}, {}, {}, node};
      call_with_tensors<P, P::arity>([&](auto&&... p) { functor_.prepare(std::forward<decltype(p)>(p)...); }, call, std::tuple<>{});
    }
  }
  template <class P, size_t... I>
  static constexpr bool is_prepare(std::index_sequence<I...>) {
    return ((requires { param<parameter<P, I>>::constant; } || requires { param<parameter<P, I>>::reads_node; }) && ...);
  }

  const Operator& op_;
  F functor_{};
  std::tuple<T...> attributes_;
  std::vector<DType> outputs_;
};

}  // namespace graft::detail
