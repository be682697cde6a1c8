// What a tensor function may take: one specialisation of param<P> for each kind of parameter.
//
//   void weighted_sum(In<float> first, std::optional<In<float>> bias, Variadic<float> rest, Out<float> y, float scale);
//   void normalize(InOut<float> x, float epsilon, Scratch<double> sums, Pool pool, Node node);
//
// A new kind of parameter is one more specialisation; the dispatcher knows none by name. Attributes are not listed here:
// they are the last parameters, each named by "name"_attr.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "graft/node.h"
#include "graft/operator.h"
#include "graft/tensor.h"
#include "graft/variadic.h"

namespace graft {

enum class Role : uint8_t { none, input, output, inout, service };

/// Says which input and which output of the operator a parameter is.
struct Place {
  size_t input;
  size_t output;
};

/// Says what a parameter of type P is to an operator. `tensor` tells a tensor function from an elementwise one.
template <class P>
struct param {
  static constexpr Role role = Role::none;
  static constexpr bool tensor = false;
};

namespace detail {
template <Role R, Arity A, class T>
struct tensor_param {
  static constexpr Role role = R;
  static constexpr bool tensor = true;
  static constexpr Arity arity = A;
  static constexpr DType dtype = dtype_of<T>;
};
/// Is a parameter that is neither an input nor an output.
struct service_param {
  static constexpr Role role = Role::service;
  static constexpr bool tensor = true;
};
}  // namespace detail

// ---- In, Out, and the same when they may be left out -----------------------------------------------------------------

template <class T>
struct param<In<T>> : detail::tensor_param<Role::input, Arity::required, T> {
  static In<T> bind(Invocation& call, Place place) { return In<T>(call.inputs[place.input]); }
};

template <class T>
struct param<std::optional<In<T>>> : detail::tensor_param<Role::input, Arity::optional, T> {
  static std::optional<In<T>> bind(Invocation& call, Place place) {
    if (place.input >= call.inputs.size() || !call.inputs[place.input].present()) return std::nullopt;
    return In<T>(call.inputs[place.input]);
  }
};

template <class T>
struct param<Out<T>> : detail::tensor_param<Role::output, Arity::required, T> {
  static Out<T> bind(Invocation& call, Place place) { return detail::make_out<T>(call, place.output); }
};

template <class T>
struct param<std::optional<Out<T>>> : detail::tensor_param<Role::output, Arity::optional, T> {
  static std::optional<Out<T>> bind(Invocation& call, Place place) {
    if (!call.wants(place.output)) return std::nullopt;
    return detail::make_out<T>(call, place.output);
  }
};

// ---- scalars and spans -----------------------------------------------------------------------------------------------

/// Before the attributes, a plain number is an input tensor of one element.
template <Element T>
struct param<T> : detail::tensor_param<Role::input, Arity::required, T> {
  static constexpr bool tensor = false;
  static T bind(Invocation& call, Place place) {
    const Tensor& input = call.inputs[place.input];
    if (input.size != 1) fail("input ", place.input, ": expected one number, got shape ", std::span<const int64_t>(input.shape));
    return *static_cast<const T*>(input.data);
  }
};

/// A span is an input tensor whose shape does not matter: its elements in row-major order.
template <Element T>
struct param<std::span<const T>> : detail::tensor_param<Role::input, Arity::required, T> {
  static std::span<const T> bind(Invocation& call, Place place) { return In<T>(call.inputs[place.input]).span(); }
};
template <Element T>
struct param<std::span<T>> : detail::tensor_param<Role::output, Arity::required, T> {
  static std::span<T> bind(Invocation& call, Place place) {
    if (!call.outputs[place.output].present()) {
      fail("output ", place.output, " is a std::span, so the operator needs a shape rule: add shape<same> or another");
    }
    return detail::make_out<T>(call, place.output).span();
  }
};

// ---- any number of tensors -------------------------------------------------------------------------------------------

template <class T>
struct param<Variadic<T>> : detail::tensor_param<Role::input, Arity::variadic, T> {
  static Variadic<T> bind(Invocation& call, Place place) { return Variadic<T>(call.inputs.subspan(place.input)); }
};

template <class... T>
struct param<Variadic<AnyOf<T...>>> : detail::tensor_param<Role::input, Arity::variadic, AnyOf<T...>> {
  static constexpr std::array any{dtype_of<T>...};
  static Variadic<AnyOf<T...>> bind(Invocation& call, Place place) {
    return Variadic<AnyOf<T...>>(call.inputs.subspan(place.input));
  }
};

template <class T>
struct param<VariadicOut<T>> : detail::tensor_param<Role::output, Arity::variadic, T> {
  static VariadicOut<T> bind(Invocation& call, Place place) { return VariadicOut<T>(call, place.output); }
};

// ---- constants, in place ---------------------------------------------------------------------------------------------

/// Is an input that must be the same in every run (an initializer): an operator with state sees it once, in
/// prepare(Const<In<T>>), for weights that are arranged ahead. A node whose input is not constant does not load.
template <class T>
class Const;
template <class T>
class Const<In<T>> : public In<T> {
 public:
  using In<T>::In;
};

template <class T>
struct param<Const<In<T>>> : detail::tensor_param<Role::input, Arity::required, T> {
  static constexpr bool constant = true;
  static Const<In<T>> bind(Invocation& call, Place place) { return Const<In<T>>(call.inputs[place.input]); }
};

/// Is an input and an output of one shape in one tensor: it holds the input's elements when the function is called and
/// the output's when it returns. Where ORT gives the output the input's memory nothing is copied.
template <Element T>
class InOut : public detail::TensorView<T> {
 public:
  explicit InOut(Tensor& output) : detail::TensorView<T>(output) {}
};

template <class T>
struct param<InOut<T>> : detail::tensor_param<Role::inout, Arity::required, T> {
  static InOut<T> bind(Invocation& call, Place place) {
    const Tensor& input = call.inputs[place.input];
    Tensor& output = call.outputs[place.output];
    if (!output.present()) call.allocate(place.output, dtype_of<T>, input.shape);
    if (output.size != input.size) {
      fail("output ", place.output, " has the shape ", std::span<const int64_t>(output.shape), ", its input ",
           std::span<const int64_t>(input.shape), ": an InOut keeps its shape");
    }
    if (output.data != input.data && input.size > 0) {
      if constexpr (std::is_trivially_copyable_v<T>) std::memcpy(output.data, input.data, size_t(input.size) * sizeof(T));
      else std::copy_n(static_cast<const T*>(input.data), input.size, static_cast<T*>(output.data));
    }
    return InOut<T>(output);
  }
};

// ---- services --------------------------------------------------------------------------------------------------------

template <>
struct param<Pool> : detail::service_param {
  static Pool bind(Invocation& call, Place) { return call.pool; }
};

template <>
struct param<Node> : detail::service_param {
  static constexpr bool reads_node = true;
  static Node bind(Invocation& call, Place) { return Node(call.node); }
};

/// Is the type of a Scratch whose size is known only inside the function.
struct AnySize {};

/// Is memory for the time of one call, from ORT's allocator and not initialised. Scratch<T> gives it by allocate(n);
/// Scratch<T, size> comes with size(shapes...) elements, where `int64_t size(const Shape& x, ...)` takes the shapes of as
/// many inputs as it likes.
template <class T, auto Size = AnySize{}>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T>, "Scratch holds plain numbers: memory is not constructed");

 public:
  explicit Scratch(const Allocator& allocator) : allocator_(allocator) {}
  Scratch(Scratch&& other) noexcept
      : allocator_(other.allocator_), blocks_(std::exchange(other.blocks_, {})), first_(std::exchange(other.first_, nullptr)),
        size_(other.size_) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (first_) allocator_.release(allocator_.state, first_);
    for (void* block : blocks_) allocator_.release(allocator_.state, block);
  }

  /// Allocates room for n elements; it may be called several times.
  std::span<T> allocate(int64_t n) {
    if (n < 0) fail("a scratch buffer cannot have ", n, " elements");
    if (n == 0) return {};
    void* memory = allocator_.scratch(allocator_.state, size_t(n) * sizeof(T));
    if (first_ == nullptr) first_ = memory, size_ = n;
    else blocks_.push_back(memory);
    return {static_cast<T*>(memory), size_t(n)};
  }
  T* data() const { return static_cast<T*>(first_); }
  int64_t size() const { return size_; }
  T& operator[](int64_t i) const { return data()[i]; }
  std::span<T> span() const { return {data(), size_t(size_)}; }

 private:
  Allocator allocator_;
  std::vector<void*> blocks_;  // beyond the first
  void* first_ = nullptr;
  int64_t size_ = 0;
};

namespace detail {
template <class... S>
constexpr size_t count_params(int64_t (*)(S...)) {
  return sizeof...(S);
}
}  // namespace detail

template <class T, auto Size>
struct param<Scratch<T, Size>> : detail::service_param {
  static Scratch<T, Size> bind(Invocation& call, Place) {
    Scratch<T, Size> scratch(call.allocator);
    if constexpr (!std::is_same_v<std::remove_const_t<decltype(Size)>, AnySize>) {
      constexpr size_t count = detail::count_params(Size);
      if (call.inputs.size() < count) fail("the size of a scratch buffer needs ", count, " inputs, got ", call.inputs.size());
      scratch.allocate([&]<size_t... I>(std::index_sequence<I...>) {
        return Size(Shape(std::span<const int64_t>(call.inputs[I].shape))...);
      }(std::make_index_sequence<count>{}));
    }
    return scratch;
  }
};

}  // namespace graft
