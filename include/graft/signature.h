// Kernels from tensor functions: reads a function's parameters and calls it with tensors and attributes.
//
//   template <class T> void roll(In<T> x, Out<T> y, int64_t shift);
//   m.def<roll<float>, roll<double>>("Roll", "shift"_attr = 1, shape<same>);
#pragma once

#include <array>
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
  static constexpr bool has_tensors = ((param<std::remove_cvref_t<P>>::role != Role::none) || ...);
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

template <class S, size_t I>
using parameter = std::tuple_element_t<I, typename S::Params>;

/// Counts the parameters below I that have this role: the index of parameter I among its kind.
template <class S, Role R, size_t... I>
constexpr size_t count_roles(std::index_sequence<I...>) {
  return (size_t(0) + ... + size_t(param<parameter<S, I>>::role == R));
}
template <class S, Role R, size_t Below>
inline constexpr size_t role_index = count_roles<S, R>(std::make_index_sequence<Below>{});

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
    return Stored{attribute_param<parameter<S, Tensors + I>>::from(reader.read(op.attributes[I]))...};
  }
};

// ---- shape rules -------------------------------------------------------------------------------------------------

/// Calls a shape function with the inputs' shapes and as many attributes as it takes, and stores one shape an output.
template <auto F, class Attributes>
void call_shape_function(std::span<const Shape> inputs, const Attributes& attributes, std::span<Shape> outputs) {
  using S = signature_of<decltype(F)>;
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
  if constexpr (std::is_same_v<std::remove_const_t<decltype(result)>, Shape>) {
    for (Shape& output : outputs) output = result;
  } else {
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

/// Allocates the outputs by the rule, before the function is called.
template <class Rule, class Attributes>
void allocate_outputs(Invocation& call, const Attributes& attributes, std::span<const DType> dtypes) {
  if constexpr (std::is_same_v<Rule, SameRule>) {
    for (size_t i = 0; i < call.outputs.size(); ++i) call.allocate(i, dtypes[i], call.inputs[0].shape);
  } else if constexpr (Rule::rule != ShapeRule::computed) {
    std::vector<Shape> inputs, outputs(call.outputs.size());
    for (const Tensor& input : call.inputs) inputs.emplace_back(std::span<const int64_t>(input.shape));
    Rule::infer(inputs, attributes, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      Dims dims;
      dims.resize(outputs[i].rank());
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        const Dim dim = outputs[i][int64_t(axis)];
        if (!dim.known()) fail("the shape function leaves dimension ", axis, " of output ", i, " unknown");
        dims[axis] = dim.size();
      }
      call.allocate(i, dtypes[i], dims);
    }
  }
}

// ---- kernels -----------------------------------------------------------------------------------------------------

/// Calls `callable(parameters...)` with tensors bound to its first parameters and attributes to its last.
template <class S, size_t Tensors, class Callable, class Attributes>
void call_with_tensors(Callable&& callable, Invocation& call, const Attributes& attributes) {
  [&]<size_t... I, size_t... A>(std::index_sequence<I...>, std::index_sequence<A...>) {
    callable(param<parameter<S, I>>::bind(call, role_index<S, param<parameter<S, I>>::role, I>)...,
             std::get<A>(attributes)...);
  }(std::make_index_sequence<Tensors>{}, std::make_index_sequence<std::tuple_size_v<Attributes>>{});
}

/// Lists the element types of a function's inputs or outputs.
template <class S, size_t Tensors, Role R>
std::vector<DType> dtypes_of_role() {
  std::vector<DType> types;
  [&]<size_t... I>(std::index_sequence<I...>) {
    const auto add = [&](auto p) {
      using P = typename decltype(p)::type;
      if constexpr (param<P>::role == R) types.push_back(param<P>::dtype);
    };
    (add(std::type_identity<parameter<S, I>>{}), ...);
  }(std::make_index_sequence<Tensors>{});
  return types;
}

inline void check_allocated(const Operator& op, const Invocation& call) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.outputs[i].present()) {
      fail("output ", op.outputs[i].name, " was never allocated: give the operator a shape rule, or call ",
           op.outputs[i].name, ".allocate({...}) in the function");
    }
  }
}

/// Is the kernel of a tensor function.
template <auto F, class Rule, size_t Tensors>
class FunctionKernel final : public Kernel {
  using S = signature_of<decltype(F)>;
  using Attributes = attributes_of<S, Tensors>;

 public:
  FunctionKernel(const Operator& op, const AttributeReader& reader)
      : op_(op), attributes_(Attributes::read(op, reader)), outputs_(dtypes_of_role<S, Tensors, Role::output>()) {}

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
  StatefulKernel(const Operator& op, const AttributeReader& reader, const std::tuple<MemberAttribute<F, T>...>& members)
      : op_(op), outputs_(dtypes_of_role<S, S::arity, Role::output>()) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((functor_.*std::get<I>(members).member = T(attribute_param<T>::from(reader.read(op.attributes[I])))), ...);
      attributes_ = {functor_.*std::get<I>(members).member...};
    }(std::index_sequence_for<T...>{});
    if constexpr (requires { functor_.prepare(); }) functor_.prepare();
  }

  void run(Invocation& call) const override {
    allocate_outputs<Rule>(call, attributes_, outputs_);
    call_with_tensors<S, S::arity>(functor_, call, std::tuple<>{});
    check_allocated(op_, call);
  }

 private:
  const Operator& op_;
  F functor_{};
  std::tuple<T...> attributes_;
  std::vector<DType> outputs_;
};

}  // namespace graft::detail
