// GRAFT_OPS and m.def: what a library holds.
//
//   GRAFT_OPS(m, "my.ops") {
//     m.def<HardSwish>("HardSwish");                                             // a generic functor, traced
//     m.def<squash>("Squash", inputs("x"), "limit"_attr = 6.f);                  // an ordinary function
//     m.def<roll<float>, roll<double>>("Roll", "shift"_attr = 1, shape<same>);   // tensors
//   }
//
// A library may have many such blocks, in many files; the macro may be used at the top level of a source file only.
#pragma once

#include <algorithm>
#include <list>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "graft/elementwise.h"
#include "graft/operator.h"
#include "graft/signature.h"
#include "graft/trace.h"

namespace graft {

struct InputNames {
  std::vector<std::string> names;
};
struct Documentation {
  std::string text;
};
/// Is the option that lists the element types of a generic functor; without it: float, double, float16, bfloat16.
template <Element... T>
struct Types {};
template <Element... T>
inline constexpr Types<T...> types{};

/// Names the inputs of an operator, in order; without it they are x, x1, x2, ...
template <class... Name>
InputNames inputs(Name... names) {
  return {{std::string(names)...}};
}
/// Is the option that lists the overloads of a generic functor whose inputs differ in type:
/// overloads<float(bool, float, float), double(bool, double, double)>; several outputs are
/// overloads<outputs<float, bool>(float, int32_t)>.
template <class... Signature>
struct Overloads {};
template <class... Signature>
inline constexpr Overloads<Signature...> overloads{};
/// Says in a sentence what the operator computes; shown by `graft describe`.
inline Documentation doc(std::string text) { return {std::move(text)}; }
struct PoolName {
  std::string name;
};
/// Says that an operator is one of several names for the same, of which a model takes one for each thing that it computes:
/// what that is stands in the attributes of a node, and in the model's function of that name.
inline PoolName pooled(std::string name) { return {std::move(name)}; }

namespace detail {

template <class Option>
inline constexpr bool is_attribute = false;
template <>
inline constexpr bool is_attribute<AttributeName> = true;
template <>
inline constexpr bool is_attribute<LimitedAttribute> = true;
template <class T>
inline constexpr bool is_attribute<AttributeDefault<T>> = true;
template <class F, class T>
inline constexpr bool is_attribute<MemberAttribute<F, T>> = true;

template <class... Options>
inline constexpr size_t attribute_count = (size_t(0) + ... + size_t(is_attribute<Options>));

/// Finds the types<...> among the options.
template <class Default, class... Options>
struct find_types {
  using type = Default;
};
template <class Default, class... T, class... Rest>
struct find_types<Default, Types<T...>, Rest...> {
  using type = Types<T...>;
};
template <class Default, class... T, class... Rest>
struct find_types<Default, Overloads<T...>, Rest...> {
  using type = Overloads<T...>;
};
template <class Default, class First, class... Rest>
struct find_types<Default, First, Rest...> : find_types<Default, Rest...> {};

template <class Option>
inline constexpr bool is_outputs = false;
template <class... T>
inline constexpr bool is_outputs<outputs<T...>> = true;

/// Counts the inputs of the first of the overloads.
template <class T>
inline constexpr size_t overload_arity = 0;
template <class R, class... T, class... Rest>
inline constexpr size_t overload_arity<Overloads<R(T...), Rest...>> = sizeof...(T);

/// Says whether input I of the chosen overloads is a bool.
template <class T, size_t I>
inline constexpr bool is_condition = false;
template <class R, class... T, class... Rest, size_t I>
inline constexpr bool is_condition<Overloads<R(T...), Rest...>, I> = std::is_same_v<std::tuple_element_t<I, std::tuple<T...>>, bool>;

/// Lists the outputs of an overload.
template <class R>
struct overload_results {
  using type = Returns<R>;
};
template <class... R>
struct overload_results<outputs<R...>> {
  using type = Returns<R...>;
};

/// Counts the outputs of what a functor returns, or of what Returns lists.
template <class W>
inline constexpr size_t result_count = 1;
template <class... W>
inline constexpr size_t result_count<outputs<W...>> = sizeof...(W);
template <class... R>
inline constexpr size_t result_count<Returns<R...>> = sizeof...(R);

/// Finds the shape<...> among the options.
template <class... Options>
struct find_rule {
  using type = ComputedRule;
};
template <auto F, class... Rest>
struct find_rule<ShapeOption<F>, Rest...> {
  using type = decltype(rule_for<F>());
};
template <class First, class... Rest>
struct find_rule<First, Rest...> : find_rule<Rest...> {};

/// Is a functor whose call operator is a template: it is traced.
template <class F>
concept Generic = !requires { &F::operator(); };

template <class F, class... S>
constexpr size_t find_arity() {
  if constexpr (std::is_invocable_v<F, S...>) return sizeof...(S);
  else if constexpr (sizeof...(S) < 16) return find_arity<F, S..., Symbol>();
  else return 0;
}

/// Gives how many parameters attributes leave; none when there are too many of them, which an assertion says. (A wrapped
/// difference would have the compiler count to 2^64.)
constexpr size_t left_of(size_t arity, size_t attributes) { return attributes < arity ? arity - attributes : 0; }

/// Finds the element type of what a functor returns for inputs of type T: T itself for a number of T's computing type.
template <class W, class T>
struct result_element {
  using C = decltype(unwrap(std::declval<W>()));
  using type = std::conditional_t<std::is_same_v<C, compute_t<T>>, T, C>;
};
template <class W, class T>
struct results_of {
  using type = Returns<typename result_element<W, T>::type>;
};
template <class... W, class T>
struct results_of<outputs<W...>, T> {
  using type = Returns<typename result_element<W, T>::type...>;
};

/// Makes the kernel of a generic functor for inputs T and outputs R; attributes become numbers of type C.
template <class F, class Results, class C, class... T, class... A>
std::unique_ptr<Kernel> make_generic(const Operator& op, const NodeInfo& node, std::type_identity<std::tuple<A...>>) {
  using Body = GenericBody<F, C, A...>;
  const auto read = [&]<size_t... J>(std::index_sequence<J...>) {
    return std::tuple<A...>{read_attribute<A>(node, op.attributes[J])...};
  };
  return make_kernel<ElementwiseKernel<Body, Results, T...>>(Body{read(std::index_sequence_for<A...>{})});
}

/// Offers the output to every input of its type, as ORT asks for it: each element is read before it is written.
template <size_t N>
size_t elementwise_pairs(int** inputs, int** outputs) {
  *inputs = new int[N];
  *outputs = new int[N];
  for (size_t i = 0; i < N; ++i) {
    (*inputs)[i] = int(i);
    (*outputs)[i] = 0;
  }
  return N;
}
/// Gives that function for inputs T and outputs R when all inputs have the first output's type, else null.
template <class... T, class R, class... More>
constexpr auto elementwise_pairs_of(Returns<R, More...>) -> size_t (*)(int**, int**) {
  if constexpr ((std::is_same_v<T, R> && ...)) return &elementwise_pairs<sizeof...(T)>;
  else return nullptr;
}

/// Is the type that attributes are turned into: that of the first input that is a number.
template <class... T>
struct attribute_number {
  using type = float;
};
template <class First, class... T>
struct attribute_number<First, T...> {
  using type = typename std::conditional_t<std::is_same_v<First, bool>, attribute_number<T...>,
                                           std::type_identity<compute_t<First>>>::type;
};

template <class... R>
std::vector<DType> dtypes_of(Returns<R...>) {
  return {dtype_of<R>...};
}

/// Is the type in which an attribute of a generic functor is stored: an integer when its default is one.
template <class Option>
struct generic_attribute {
  using type = float;
};
template <class T>
  requires std::is_integral_v<T>
struct generic_attribute<AttributeDefault<T>> {
  using type = int64_t;
};
template <class... Options>
using generic_attributes = decltype(std::tuple_cat(
    std::conditional_t<is_attribute<Options>, std::tuple<typename generic_attribute<Options>::type>, std::tuple<>>{}...));

}  // namespace detail

/// Collects the operators of one domain of a library; GRAFT_OPS hands it out.
class Module {
 public:
  Module(std::string domain, std::list<Operator>& operators) : domain_(std::move(domain)), operators_(operators) {}

  /// Defines an operator from a functor type: a generic one (elementwise, traced), or one with tensors and state.
  template <class F, class... Options>
  void def(std::string_view name, Options... options) {
    if constexpr (detail::Generic<F>) {
      def_generic<F>(name, std::move(options)...);
    } else {
      def_stateful<F>(name, std::move(options)...);
    }
  }

  /// Defines an operator from functions, one for each combination of element types.
  template <auto... F, class... Options>
    requires(sizeof...(F) > 0)
  void def(std::string_view name, Options... options) {
    using First = detail::signature_of<std::tuple_element_t<0, std::tuple<decltype(F)...>>>;
    constexpr size_t attributes = detail::attribute_count<Options...>;
    static_assert(attributes <= First::arity, "more attributes are named than the function has parameters");
    constexpr size_t tensors = detail::left_of(First::arity, attributes);
    static_assert(((detail::signature_of<decltype(F)>::arity == First::arity) && ...),
                  "the functions of one operator must have the same number of parameters: ORT knows one schema a name");
    Operator& op = add(name);
    if constexpr (First::has_tensors) {
      using Rule = typename detail::find_rule<Options...>::type;
      describe_tensors<First, tensors>(op);
      (add_function<F, Rule, tensors>(op), ...);
      set_inference<First, tensors, Rule>(op);
    } else {
      static_assert(tensors >= 1, "an elementwise operator needs at least one parameter that is not an attribute");
      make_elementwise(op);
      set_arguments(op, tensors, 1);
      (add_elementwise<F, attributes>(op, std::make_index_sequence<tensors>{}), ...);
    }
    op.attributes.resize(attributes);
    if constexpr (attributes > 0) {
      using Attributes = detail::attributes_of<First, tensors>;
      for (size_t i = 0; i < attributes; ++i) op.attributes[i].type = Attributes::types[i];
    }
    apply(op, std::move(options)...);
  }

 private:
  using FloatTypes = Types<float, double, float16, bfloat16>;

  [[gnu::cold, gnu::noinline]] Operator& add(std::string_view name) {
    for (const Operator& other : operators_) {
      if (other.domain == domain_ && other.name == name) {
        fail(other.full_name(), " is defined twice: ORT knows one schema a name; list the functions of several types in "
             "one m.def, or give a new meaning a new name");
      }
    }
    Operator& op = operators_.emplace_back();
    op.domain = domain_;
    op.name = name;
    return op;
  }

  [[gnu::cold, gnu::noinline]] static void set_arguments(Operator& op, size_t inputs, size_t outputs) {
    op.inputs.resize(inputs);
    op.outputs.resize(outputs);
    for (size_t i = 0; i < inputs; ++i) op.inputs[i].name = i ? "x" + std::to_string(i) : "x";
    for (size_t i = 0; i < outputs; ++i) op.outputs[i].name = i ? "y" + std::to_string(i) : "y";
  }

  /// Gives an operator the shapes of an elementwise one.
  [[gnu::cold, gnu::noinline]] static void make_elementwise(Operator& op) {
    op.elementwise = true;
    op.shape_rule = ShapeRule::broadcast;
    op.infer = [](const Operator&, const AttributeReader&, std::span<const Shape> in, std::span<Shape> out) {
      detail::BroadcastRule::infer(in, std::tuple<>{}, out);
    };
  }

  template <class F, class... Options>
  void def_generic(std::string_view name, Options... options) {
    static_assert(std::is_empty_v<F>, "a generic functor has no data members: give it attributes as trailing parameters");
    using Chosen = typename detail::find_types<FloatTypes, Options...>::type;
    constexpr size_t attributes = detail::attribute_count<Options...>;
    constexpr size_t typed = detail::overload_arity<Chosen>;
    constexpr size_t count = generic_inputs<F, typed, attributes>();

    Operator& op = add(name);
    make_elementwise(op);
    op.attributes.resize(attributes);
    using Stored = detail::generic_attributes<Options...>;
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((op.attributes[I].type = detail::attribute_param<std::tuple_element_t<I, Stored>>::type), ...);
    }(std::make_index_sequence<attributes>{});
    add_generic<F, Stored>(op, Chosen{}, std::make_index_sequence<count>{}, std::make_index_sequence<attributes>{});
    set_arguments(op, count, op.overloads.front().outputs.size());
    apply(op, std::move(options)...);
    if (op.definitions.empty()) {  // one that is given stands for all
      trace<F, Chosen>(op, std::make_index_sequence<count>{}, std::make_index_sequence<attributes>{});
    }
  }

  template <class F, size_t Typed, size_t Attributes>
  static constexpr size_t generic_inputs() {
    if constexpr (Typed > 0) {
      return Typed;
    } else {
      constexpr size_t arity = detail::find_arity<F, Symbol>();
      static_assert(arity > 0, "this functor cannot be called with scalars: write `constexpr auto operator()(auto x) const`");
      static_assert(Attributes < arity, "the functor needs a parameter for each attribute, after at least one input");
      return detail::left_of(arity, Attributes);
    }
  }

  template <size_t, class T>
  using always = T;

  /// Adds an overload for each type, all inputs of that type.
  template <class F, class Stored, class... T, size_t... I, size_t... A>
  static void add_generic(Operator& op, Types<T...>, std::index_sequence<I...>, std::index_sequence<A...>) {
    static_assert(!(is_storage_only<T> || ...),
                  "8-bit floats and 4-bit integers are for storage: take In<T> and Out<T>, and convert with to_float and to_float8");
    const auto add_type = [&]<class E>(std::type_identity<E>) {
      using C = compute_t<E>;
      using W = decltype(F{}(std::declval<always<I, detail::Wrapped<C>>>()..., std::declval<always<A, Scalar<C>>>()...));
      using Results = typename detail::results_of<W, E>::type;
      op.overloads.push_back({{always<I, std::integral_constant<DType, dtype_of<E>>>::value...},
                              detail::dtypes_of(Results{}),
                              [](const Operator& o, const NodeInfo& node) {
                                return detail::make_generic<F, Results, C, always<I, E>...>(o, node, std::type_identity<Stored>{});
                              },
                              detail::elementwise_pairs_of<always<I, E>...>(Results{})});
    };
    (add_type(std::type_identity<T>{}), ...);
  }

  /// Adds the overloads that are spelled out.
  template <class F, class Stored, class... Signature, size_t... I, size_t... A>
  static void add_generic(Operator& op, Overloads<Signature...>, std::index_sequence<I...>, std::index_sequence<A...>) {
    const auto add_signature = [&]<class R, class... T>(std::type_identity<R(T...)>) {
      static_assert(sizeof...(T) == sizeof...(I), "the overloads of one operator must have the same number of inputs");
      using C = typename detail::attribute_number<T...>::type;
      using Results = typename detail::overload_results<R>::type;
      using W = decltype(F{}(std::declval<detail::Wrapped<compute_t<T>>>()..., std::declval<always<A, Scalar<C>>>()...));
      static_assert(detail::result_count<W> == detail::result_count<Results>,
                    "an overload must list as many outputs as the functor returns: overloads<outputs<float, bool>(float)>");
      op.overloads.push_back({{dtype_of<T>...}, detail::dtypes_of(Results{}), [](const Operator& o, const NodeInfo& node) {
                                return detail::make_generic<F, Results, C, T...>(o, node, std::type_identity<Stored>{});
                              },
                              detail::elementwise_pairs_of<T...>(Results{})});
    };
    (add_signature(std::type_identity<Signature>{}), ...);
  }

  /// Calls the functor with symbols, and keeps what it writes as the operator's definition. A bool is a condition.
  template <class F, class Chosen, size_t... I, size_t... A>
  [[gnu::cold, gnu::noinline]] static void trace(Operator& op, std::index_sequence<I...>, std::index_sequence<A...>) {
    Tracer tracer;
    const auto input = [&]<size_t K>(std::integral_constant<size_t, K>) {
      if constexpr (detail::is_condition<Chosen, K>) return tracer.condition(op.inputs[K].name);
      else return tracer.input(op.inputs[K].name);
    };
    const auto result = F{}(input(std::integral_constant<size_t, I>{})..., tracer.attribute(op.attributes[A].name)...);
    std::vector<std::string> names;
    for (const Argument& output : op.outputs) names.push_back(output.name);
    op.definitions.push_back([&] {
      if constexpr (requires { result.values; }) {
        return std::apply([&](const auto&... r) { return tracer.definition(names, r...); }, result.values);
      } else {
        return tracer.definition(names, result);
      }
    }());
  }

  template <auto F, size_t Attributes, size_t... I>
  static void add_elementwise(Operator& op, std::index_sequence<I...>) {
    using S = detail::signature_of<decltype(F)>;
    using R = std::remove_cvref_t<typename S::Result>;
    static_assert(Element<R>, "an elementwise function returns an element: float, double, an integer, bool, ...");
    static_assert((Element<detail::parameter<S, I>> && ...),
                  "a parameter is no element of a tensor: take scalars (elementwise), or In<T> and Out<T> (tensors)");
    op.overloads.push_back(
        {{dtype_of<detail::parameter<S, I>>...}, {dtype_of<R>}, [](const Operator& o, const NodeInfo& reader) {
           using Read = detail::attributes_of<S, sizeof...(I)>;
           return [&]<class... A>(std::tuple<A...> attributes) {
             using Body = detail::FunctionBody<F, A...>;
             return make_kernel<detail::ElementwiseKernel<Body, detail::Returns<R>, detail::parameter<S, I>...>>(
                 Body{std::move(attributes)});
           }(Read::read(o, reader));
         },
         detail::elementwise_pairs_of<detail::parameter<S, I>...>(detail::Returns<R>{})});
  }

  template <class S, size_t Tensors>
  static void describe_tensors(Operator& op) {
    std::vector<Argument> inputs, outputs;
    static_assert(detail::numbers_before_outputs<S, Tensors>(),
                  "a parameter after the outputs is not named: name it with \"name\"_attr (an attribute), or move it before "
                  "the first Out (an input tensor of one element)");
    detail::for_each_parameter<S, Tensors>([&](auto p, Place) {
      using P = decltype(p);
      static_assert(P::role != Role::none,
                    "a parameter is neither a tensor (In, Out, InOut, Const, Variadic, std::optional<In>), a number, a "
                    "std::span, a Pool, a Node or a Scratch, nor named as an attribute: the last parameters are attributes, "
                    "each named by \"name\"_attr");
      constexpr bool constant = requires { P::constant; };
      if constexpr (detail::is_input(P::role)) inputs.push_back({"", P::arity, constant});
      if constexpr (detail::is_output(P::role)) outputs.push_back({"", P::arity});
    });
    set_arguments(op, inputs.size(), outputs.size());
    check_arities(op, "input", inputs, op.inputs);
    check_arities(op, "output", outputs, op.outputs);
    if (outputs.empty()) fail(op.full_name(), " has no output: take an Out<T>");
    op.reads_node = detail::reads_node<S, Tensors>();
  }

  [[gnu::cold, gnu::noinline]] static void check_arities(const Operator& op, std::string_view what, const std::vector<Argument>& found,
                            std::vector<Argument>& arguments) {
    for (size_t i = 0; i < found.size(); ++i) {
      arguments[i].arity = found[i].arity;
      arguments[i].constant = found[i].constant;
      if (found[i].arity == Arity::variadic && i + 1 != found.size()) {
        fail(op.full_name(), ": a variadic ", what, " must be the last one");
      }
      if (found[i].arity == Arity::required && i > 0 && found[i - 1].arity == Arity::optional) {
        fail(op.full_name(), ": a required ", what, " cannot follow an optional one");
      }
    }
  }

  template <auto F, class Rule, size_t Tensors>
  static void add_function(Operator& op) {
    using S = detail::signature_of<decltype(F)>;
    op.overloads.push_back({detail::input_dtypes<S, Tensors>(),
                            detail::output_dtypes<S, Tensors>(),
                            [](const Operator& o, const NodeInfo& node) {
                              return make_kernel<detail::FunctionKernel<F, Rule, Tensors>>(o, node);
                            },
                            detail::inout_pairs_of<S, Tensors>(),
                            detail::any_dtypes<S, Tensors>()});
    const Overload& added = op.overloads.back();
    if (added.inputs.size() != op.inputs.size() || added.outputs.size() != op.outputs.size()) {
      fail(op.full_name(), ": its functions differ in the number of inputs or outputs; ORT knows one schema a name");
    }
  }

  template <class S, size_t Tensors, class Rule>
  static void set_inference(Operator& op) {
    op.shape_rule = Rule::rule;
    if constexpr (Rule::rule != ShapeRule::computed) {
      op.infer = [](const Operator& o, const AttributeReader& reader, std::span<const Shape> in, std::span<Shape> out) {
        Rule::infer(in, detail::attributes_of<S, Tensors>::read(o, reader), out);
      };
    } else {
      infer_inouts<S, Tensors>(op);
    }
  }

  /// Without a rule, outputs that are inputs too have a known shape; when all are, the operator's shapes are known.
  template <class S, size_t Tensors>
  static void infer_inouts(Operator& op) {
    if constexpr (detail::has_inout<S, Tensors>()) {
      size_t known = 0;
      detail::for_each_parameter<S, Tensors>([&](auto p, Place) { known += decltype(p)::role == Role::inout; });
      if (known != op.outputs.size()) return;
      op.shape_rule = ShapeRule::same;
      op.infer = [](const Operator&, const AttributeReader&, std::span<const Shape> in, std::span<Shape> out) {
        detail::for_each_parameter<S, Tensors>([&](auto p, Place place) {
          if constexpr (decltype(p)::role == Role::inout) out[place.output] = in[place.input];
        });
      };
    }
  }

  template <class F, class... Options>
  void def_stateful(std::string_view name, Options... options) {
    using S = detail::signature_of<decltype(&F::operator())>;
    static_assert(S::has_tensors,
                  "a functor with ordinary scalar parameters: write `auto` for them (it is then traced), or pass a function");
    Operator& op = add(name);
    describe_tensors<S, S::arity>(op);
    if constexpr (requires { &F::prepare; }) {  // which may keep its Node for later
      using P = detail::signature_of<decltype(&F::prepare)>;
      op.reads_node = op.reads_node || detail::reads_node<P, P::arity>();
    }
    using Rule = typename detail::find_rule<Options...>::type;
    add_stateful<F, Rule>(op, members<F>(options...));
    apply(op, std::move(options)...);
  }

  template <class F, class Option>
  static auto member(const Option& option) {
    if constexpr (detail::is_attribute<Option>) {
      static_assert(requires { option.member; }, "an operator with state binds its attributes with attribute(\"n\", &F::n)");
      return std::tuple(option);
    } else {
      return std::tuple<>{};
    }
  }
  template <class F, class... Options>
  static auto members(const Options&... options) {
    return std::tuple_cat(member<F>(options)...);
  }

  template <class F, class Rule, class... T>
  static void add_stateful(Operator& op, std::tuple<MemberAttribute<F, T>...> members) {
    using Members = std::tuple<MemberAttribute<F, T>...>;
    using S = detail::signature_of<decltype(&F::operator())>;
    static_assert((detail::attribute_param<T>::supported && ...), "a data member is not of a type that an attribute can have");
    op.attributes.resize(sizeof...(T));
    [&]<size_t... I>(std::index_sequence<I...>) { ((op.attributes[I].type = detail::attribute_param<T>::type), ...); }(
        std::index_sequence_for<T...>{});
    op.overloads.push_back({detail::input_dtypes<S, S::arity>(),
                            detail::output_dtypes<S, S::arity>(),
                            [](const Operator& o, const NodeInfo& node) {
                              const auto& bound = *static_cast<const Members*>(o.members.get());
                              return make_kernel<detail::StatefulKernel<F, Rule, T...>>(o, node, bound);
                            },
                            detail::inout_pairs_of<S, S::arity>(),
                            detail::any_dtypes<S, S::arity>()});
    op.members = std::make_shared<const Members>(std::move(members));
    op.shape_rule = Rule::rule;
    if constexpr (Rule::rule != ShapeRule::computed) {
      op.infer = [](const Operator& o, const AttributeReader& reader, std::span<const Shape> in, std::span<Shape> out) {
        [&]<size_t... I>(std::index_sequence<I...>) {
          Rule::infer(in, std::tuple<T...>{T(detail::read_attribute<T>(reader, o.attributes[I]))...}, out);
        }(std::index_sequence_for<T...>{});
      };
    } else {
      infer_inouts<S, S::arity>(op);
    }
  }

  // ---- options ---------------------------------------------------------------------------------------------------

  template <class... Options>
  [[gnu::cold, gnu::noinline]] static void apply(Operator& op, Options... options) {
    [[maybe_unused]] size_t attribute = 0;
    constexpr bool named = (false || ... || detail::is_outputs<Options>);
    (apply_one(op, attribute, std::move(options)), ...);
    const auto is_input = [&](const std::string& name) { return std::ranges::find(op.inputs, name, &Argument::name) != op.inputs.end(); };
    if (!named && std::ranges::any_of(op.outputs, is_input, &Argument::name)) {  // inputs("x", "y") took the default
      for (size_t i = 0; i < op.outputs.size(); ++i) op.outputs[i].name = i ? "out" + std::to_string(i) : "out";
    }
    check_names(op);
  }

  /// Throws an Error when two inputs, outputs or attributes share a name: definitions and errors go by names.
  [[gnu::cold, gnu::noinline]] static void check_names(const Operator& op) {
    std::vector<std::string> names;
    for (const Argument& argument : op.inputs) names.push_back(argument.name);
    for (const Argument& argument : op.outputs) names.push_back(argument.name);
    for (const Attribute& attribute : op.attributes) names.push_back(attribute.name);
    for (auto name = names.begin(); name != names.end(); ++name) {
      if (std::find(names.begin(), name, *name) != name) {
        fail(op.full_name(), ": two of its inputs, outputs and attributes are named ", *name);
      }
    }
  }

  template <class Option>
  static void apply_one(Operator& op, size_t& attribute, Option option) {
    if constexpr (detail::is_attribute<Option>) {
      Attribute& bound = op.attributes[attribute++];
      bound.name = option.name;
      try {
        if constexpr (requires { option.limits; }) bound.limits = option.limits;
        if constexpr (requires { option.value; }) bound.default_value = detail::default_for(bound.type, option.value);
        if constexpr (requires { option.member; }) {
          if (option.is_required) bound.example = option.example;
          else bound.default_value = default_of_member(bound.type, option);
        }
        bound.limits.check(bound.default_value);
      } catch (const Error& error) {
        fail(op.full_name(), ": attribute ", bound.name, ": ", error.what());
      }
    } else if constexpr (std::is_same_v<Option, InputNames>) {
      rename(op, "inputs", op.inputs, option.names);
    } else if constexpr (detail::is_outputs<Option>) {
      rename(op, "outputs", op.outputs, std::apply([](const auto&... n) { return std::vector<std::string>{std::string(n)...}; }, option.values));
    } else if constexpr (std::is_same_v<Option, Documentation>) {
      op.doc = std::move(option.text);
    } else if constexpr (std::is_same_v<Option, PoolName>) {
      op.pool = std::move(option.name);
    } else if constexpr (std::is_same_v<Option, Definition>) {
      op.definitions.push_back(std::move(option));
    }
  }

  template <class F, class T>
  static AttributeValue default_of_member(AttributeType type, const MemberAttribute<F, T>& option) {
    return detail::default_for(type, F{}.*option.member);
  }

  [[gnu::cold, gnu::noinline]] static void rename(const Operator& op, std::string_view what, std::vector<Argument>& arguments,
                     const std::vector<std::string>& names) {
    if (names.size() != arguments.size()) {
      fail(op.full_name(), ": ", what, "(...) names ", names.size(), ", the function has ", arguments.size());
    }
    for (size_t i = 0; i < names.size(); ++i) arguments[i].name = names[i];
  }

  std::string domain_;
  std::list<Operator>& operators_;
};

namespace detail {

/// Is one GRAFT_OPS block. Static initialisers run inside dlopen, so they only link blocks into a list.
struct Block {
  std::string_view domain;
  void (*body)(Module&);
  Block* next = nullptr;

  Block(std::string_view d, void (*b)(Module&)) : domain(d), body(b) {
    Block** end = &first();
    while (*end) end = &(*end)->next;
    *end = this;
  }
  static Block*& first() {
    static constinit Block* head = nullptr;
    return head;
  }
};

/// Collects what all blocks of this library define. Throws an Error when they contradict each other.
inline const std::list<Operator>& operators() {
  static const std::list<Operator> all = [] {
    std::list<Operator> result;
    for (const Block* block = Block::first(); block; block = block->next) {
      Module module{std::string(block->domain), result};
      block->body(module);
    }
    return result;
  }();
  return all;
}

}  // namespace detail
}  // namespace graft

#define GRAFT_JOIN2(a, b) a##b
#define GRAFT_JOIN(a, b) GRAFT_JOIN2(a, b)
#define GRAFT_OPS_NAMED(function, block, m, d)           \
  [[gnu::cold]] static void function(::graft::Module& m); \
  static ::graft::detail::Block block((d), &function);   \
  static void function([[maybe_unused]] ::graft::Module& m)
#define GRAFT_OPS_2(m, d) GRAFT_OPS_NAMED(GRAFT_JOIN(graft_ops_, __LINE__), GRAFT_JOIN(graft_block_, __LINE__), m, d)
#if !defined(GRAFT_DOMAIN)
#define GRAFT_DOMAIN ::graft::name_the_domain_as_in_GRAFT_OPS_m_my_ops
#endif
#define GRAFT_OPS_1(m) GRAFT_OPS_2(m, GRAFT_DOMAIN)
#define GRAFT_OPS_PICK(a, b, name, ...) name
/// Opens a block that defines operators: GRAFT_OPS(m, "my.ops") { m.def<...>(...); }. Without a domain it takes the one
/// that graft_add_library(... DOMAIN d ...) names.
#define GRAFT_OPS(...) GRAFT_OPS_PICK(__VA_ARGS__, GRAFT_OPS_2, GRAFT_OPS_1, )(__VA_ARGS__)
