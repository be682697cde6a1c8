// What a tensor function may take: one specialisation of param<P> for each kind of parameter.
//
//   void weighted_sum(In<float> first, std::optional<In<float>> bias, Variadic<float> rest, Out<float> y, float scale);
//
// A new kind of parameter is one more specialisation; the dispatcher knows none by name.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "graft/operator.h"
#include "graft/tensor.h"

namespace graft {

/// Is the tail of the inputs: any number of tensors of one type, at least one.
template <Element T>
class Variadic {
 public:
  explicit Variadic(std::span<Tensor> tensors) : tensors_(tensors) {}
  size_t size() const { return tensors_.size(); }
  In<T> operator[](size_t i) const { return In<T>(tensors_[i]); }

  class Iterator {
   public:
    explicit Iterator(const Tensor* tensor) : tensor_(tensor) {}
    In<T> operator*() const { return In<T>(*tensor_); }
    Iterator& operator++() { return ++tensor_, *this; }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    const Tensor* tensor_;
  };
  Iterator begin() const { return Iterator(tensors_.data()); }
  Iterator end() const { return Iterator(tensors_.data() + tensors_.size()); }

 private:
  std::span<Tensor> tensors_;
};

enum class Role : uint8_t { none, input, output };

/// Says what a parameter of type P is to an operator. Attributes are not listed here: they are the last parameters.
template <class P>
struct param {
  static constexpr Role role = Role::none;
};

template <class T>
struct param<In<T>> {
  static constexpr Role role = Role::input;
  static constexpr Arity arity = Arity::required;
  static constexpr DType dtype = dtype_of<T>;
  static In<T> bind(Invocation& call, size_t index) { return In<T>(call.inputs[index]); }
};

template <class T>
struct param<std::optional<In<T>>> {
  static constexpr Role role = Role::input;
  static constexpr Arity arity = Arity::optional;
  static constexpr DType dtype = dtype_of<T>;
  static std::optional<In<T>> bind(Invocation& call, size_t index) {
    if (index >= call.inputs.size() || !call.inputs[index].present()) return std::nullopt;
    return In<T>(call.inputs[index]);
  }
};

template <class T>
struct param<Variadic<T>> {
  static constexpr Role role = Role::input;
  static constexpr Arity arity = Arity::variadic;
  static constexpr DType dtype = dtype_of<T>;
  static Variadic<T> bind(Invocation& call, size_t index) { return Variadic<T>(call.inputs.subspan(index)); }
};

template <class T>
struct param<Out<T>> {
  static constexpr Role role = Role::output;
  static constexpr Arity arity = Arity::required;
  static constexpr DType dtype = dtype_of<T>;
  static Out<T> bind(Invocation& call, size_t index) { return Out<T>(call.outputs[index], index, call.allocator); }
};

}  // namespace graft
