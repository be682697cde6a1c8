// Variadic and VariadicOut: any number of tensors, at the end of the inputs or the outputs.
//
//   void sum(Variadic<float> xs, Out<float> y);                    // all of one type
//   void count_bytes(Variadic<Any> xs, Out<int64_t> y) {           // each of its own
//     for (size_t i = 0; i < xs.size(); ++i) y[int64_t(i)] = xs.visit(i, [](auto x) { return bytes_of(x); });
//   }
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>

#include "graft/dtype.h"
#include "graft/operator.h"
#include "graft/tensor.h"

namespace graft {

/// Is all types that ORT's tensors hold.
using Any = AnyOf<float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
                  bool, std::string, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, int4, uint4>;

/// Is the tail of the inputs: any number of tensors of one type, at least one.
template <class T>
class Variadic : detail::check_element<T> {
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

/// Is the tail of the inputs: any number of tensors, each of one of the types T, at least one. A node with a tensor of
/// another type does not load.
template <class... T>
class Variadic<AnyOf<T...>> : detail::check_element<T>... {
  static_assert(sizeof...(T) > 0, "AnyOf<...> lists at least one type");

 public:
  explicit Variadic(std::span<const Tensor> tensors) : tensors_(tensors) {}
  size_t size() const { return tensors_.size(); }
  DType dtype(size_t i) const { return tensors_[i].dtype; }
  std::span<const int64_t> shape(size_t i) const { return tensors_[i].shape; }

  /// Calls visitor(In<T>) with tensor i as what it is, and gives what that returns.
  template <class Visitor>
  auto visit(size_t i, Visitor&& visitor) const {
    using Result = std::invoke_result_t<Visitor&, In<std::tuple_element_t<0, std::tuple<T...>>>>;
    static_assert((std::is_same_v<Result, std::invoke_result_t<Visitor&, In<T>>> && ...),
                  "a visitor returns the same type for every element type");
    return visit_as<Result, T...>(tensors_[i], visitor);
  }

 private:
  template <class Result, class First, class... Rest, class Visitor>
  static Result visit_as(const Tensor& tensor, Visitor& visitor) {
    if constexpr (sizeof...(Rest) > 0) {
      if (tensor.dtype != dtype_of<First>) return visit_as<Result, Rest...>(tensor, visitor);
    }
    return visitor(In<First>(tensor));
  }

  std::span<const Tensor> tensors_;
};

/// Is the tail of the outputs: as many tensors of one type as the node has, at least one.
template <class T>
class VariadicOut : detail::check_element<T> {
 public:
  VariadicOut(Invocation& call, size_t first) : call_(&call), first_(first) {}
  size_t size() const { return call_->outputs.size() - first_; }
  Out<T> operator[](size_t i) const { return detail::make_out<T>(*call_, first_ + i); }

 private:
  Invocation* call_;
  size_t first_;
};

template <class... T>
class VariadicOut<AnyOf<T...>> {
  static_assert(sizeof...(T) == size_t(-1),
                "ORT cannot infer the types of outputs that differ: declare each one, as Out<float> or, where a node may leave it "
                "out, std::optional<Out<int64_t>>");
};

}  // namespace graft
