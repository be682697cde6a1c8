// In<T> and Out<T>: what a tensor function takes.
//
//   template <class T> void reverse(In<T> x, Out<T> y) {           // with shape<same>, y is as large as x
//     for (int64_t i = 0; i < x.size(); ++i) y[i] = x[x.size() - 1 - i];
//   }
//   void range(In<int64_t> n, Out<float> y) { auto out = y.allocate({n[0]}); ... }   // without a shape rule
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "graft/dtype.h"
#include "graft/error.h"

namespace graft {

/// Is the largest number of dimensions that a tensor may have.
inline constexpr size_t kMaxRank = 32;

/// Counts the elements of a tensor of this shape; 1 for a shape without dimensions.
constexpr int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return count;
}

/// Lists the types that each tensor of a Variadic may have: Variadic<AnyOf<float, int64_t>>.
template <class... T>
struct AnyOf {};

/// Holds the dimensions of one tensor without an allocation.
class Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(std::span<const int64_t> dims) { assign(dims); }
  constexpr Dims(std::initializer_list<int64_t> dims) { assign({dims.begin(), dims.size()}); }

  /// Takes over these dimensions. Throws an Error when there are more than kMaxRank.
  constexpr void assign(std::span<const int64_t> dims) {
    resize(dims.size());
    std::copy(dims.begin(), dims.end(), dims_.begin());
  }
  constexpr void resize(size_t rank) {
    if (rank > kMaxRank) fail("a tensor has ", rank, " dimensions, more than the ", kMaxRank, " that Graft takes");
    rank_ = rank;
  }
  constexpr size_t size() const { return rank_; }
  constexpr int64_t* data() { return dims_.data(); }
  constexpr const int64_t* data() const { return dims_.data(); }
  constexpr int64_t& operator[](size_t i) { return dims_[i]; }
  constexpr int64_t operator[](size_t i) const { return dims_[i]; }
  constexpr const int64_t* begin() const { return dims_.data(); }
  constexpr const int64_t* end() const { return dims_.data() + rank_; }
  constexpr operator std::span<const int64_t>() const { return {dims_.data(), rank_}; }

 private:
  size_t rank_ = 0;
  std::array<int64_t, kMaxRank> dims_;
};

/// Is a tensor of a type known only at run time, as a kernel receives it. `data` is null for an optional input left out.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::none;
  int64_t size = 0;  ///< Number of elements.
  Dims shape;

  bool present() const { return dtype != DType::none; }
};

namespace detail {

/// What In and Out have in common: a shape, and elements in row-major order.
template <class T>
class TensorView {
 public:
  T* data() const { return static_cast<T*>(tensor_->data); }
  int64_t size() const { return tensor_->size; }
  std::span<const int64_t> shape() const { return tensor_->shape; }
  int64_t rank() const { return int64_t(tensor_->shape.size()); }

  /// Gives the size of one dimension; -1 is the last one. Throws an Error when there is no such dimension.
  int64_t dim(int64_t axis) const {
    const int64_t i = axis < 0 ? axis + rank() : axis;
    if (i < 0 || i >= rank()) fail("no dimension ", axis, " in shape ", shape());
    return tensor_->shape[size_t(i)];
  }

  T& operator[](int64_t i) const { return data()[i]; }
  T* begin() const { return data(); }
  T* end() const { return data() + size(); }
  std::span<T> span() const { return {data(), size_t(size())}; }

 protected:
  explicit TensorView(Tensor& tensor) : tensor_(&tensor) {}
  Tensor* tensor_;
};

}  // namespace detail

namespace detail {

template <class T>
inline constexpr bool is_any = false;
template <class... T>
inline constexpr bool is_any<AnyOf<T...>> = true;

/// Says at compile time why a T is no element of a tensor.
template <class T>
struct check_element {
  static_assert(!is_any<T>,
                "only a Variadic takes Any: a tensor of its own has one type in one function, and m.def<f<float>, f<int64_t>> "
                "lists a function for each");
  static constexpr bool is_complex = requires(T t) { t.real(), t.imag(); };
  static_assert(!is_complex, "ORT has no complex tensors for custom operators: add a last dimension of 2 (real, imaginary)");
  static_assert(is_complex || is_any<T> || Element<T>,
                "the T of an In<T> or Out<T> is no element of a tensor: use float, double, graft::float16, graft::bfloat16, an "
                "integer, bool or std::string");
};

}  // namespace detail

/// Is an input tensor: `size()` elements of type T in row-major order, to be read only.
template <class T>
class In : public detail::TensorView<const T>, detail::check_element<T> {
 public:
  explicit In(const Tensor& tensor) : detail::TensorView<const T>(const_cast<Tensor&>(tensor)) {}
};

/// Is an output tensor. With a shape rule it is allocated before the call; without one the function calls allocate once.
template <class T>
class Out : public detail::TensorView<T>, detail::check_element<T> {
 public:
  /// Allocates output `index` of a call; the SDK makes it.
  using Allocate = void (*)(void* call, size_t index, DType dtype, std::span<const int64_t> shape);
  Out(Tensor& tensor, size_t index, void* call, Allocate allocate)
      : detail::TensorView<T>(tensor), index_(index), call_(call), allocate_(allocate) {}

  /// Allocates the output with this shape and returns its elements. Throws an Error when it has been allocated already
  /// or a dimension is negative.
  std::span<T> allocate(std::span<const int64_t> shape) const {
    if (this->tensor_->present()) fail("output ", index_, " was allocated twice");
    for (int64_t dim : shape) {
      if (dim < 0) fail("output ", index_, " cannot have the shape ", shape);
    }
    allocate_(call_, index_, dtype_of<T>, shape);
    return this->span();
  }
  std::span<T> allocate(std::initializer_list<int64_t> shape) const {
    return allocate(std::span<const int64_t>(shape.begin(), shape.size()));
  }

 private:
  size_t index_;
  void* call_;
  Allocate allocate_;
};

// ---- 4-bit integers --------------------------------------------------------------------------------------------------

namespace detail {

/// Is a tensor of 4-bit integers: element 0 is in the lower half of byte 0.
template <class T>
class NibbleView {
 public:
  int64_t size() const { return tensor_->size; }
  std::span<const int64_t> shape() const { return tensor_->shape; }
  int operator[](int64_t i) const {
    const int nibble = (bytes()[i / 2] >> (i % 2 * 4)) & 15;
    return std::is_same_v<T, int4> && nibble >= 8 ? nibble - 16 : nibble;
  }

 protected:
  explicit NibbleView(Tensor& tensor) : tensor_(&tensor) {}
  uint8_t* bytes() const { return static_cast<uint8_t*>(tensor_->data); }
  Tensor* tensor_;
};

template <class T>
class NibbleOut : public NibbleView<T> {
 public:
  using Allocate = void (*)(void* call, size_t index, DType dtype, std::span<const int64_t> shape);
  NibbleOut(Tensor& tensor, size_t index, void* call, Allocate allocate)
      : NibbleView<T>(tensor), index_(index), call_(call), allocate_(allocate) {}

  /// Allocates the output with this shape.
  void allocate(std::span<const int64_t> shape) const { allocate_(call_, index_, dtype_of<T>, shape); }
  void allocate(std::initializer_list<int64_t> shape) const {
    allocate(std::span<const int64_t>(shape.begin(), shape.size()));
  }
  /// Stores a value; what does not fit becomes the nearest one that does.
  void set(int64_t i, int value) const {
    constexpr bool is_signed = std::is_same_v<T, int4>;
    const unsigned nibble = unsigned(std::clamp(value, is_signed ? -8 : 0, is_signed ? 7 : 15)) & 15u;
    uint8_t& byte = this->bytes()[i / 2];
    byte = uint8_t(i % 2 ? (byte & 0x0fu) | (nibble << 4) : (byte & 0xf0u) | nibble);
  }

 private:
  size_t index_;
  void* call_;
  Allocate allocate_;
};

}  // namespace detail

template <>
class In<int4> : public detail::NibbleView<int4> {
 public:
  explicit In(const Tensor& tensor) : NibbleView(const_cast<Tensor&>(tensor)) {}
};
template <>
class In<uint4> : public detail::NibbleView<uint4> {
 public:
  explicit In(const Tensor& tensor) : NibbleView(const_cast<Tensor&>(tensor)) {}
};
template <>
class Out<int4> : public detail::NibbleOut<int4> {
  using NibbleOut::NibbleOut;
};
template <>
class Out<uint4> : public detail::NibbleOut<uint4> {
  using NibbleOut::NibbleOut;
};

}  // namespace graft
