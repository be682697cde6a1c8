// Shapes with symbolic dimensions, and the three ways to say what shape an output has.
//
//   Shape rfft_shape(Shape x, int64_t n) { x[-1] = n / 2 + 1; return x; }      // one Shape an input, then attributes
//   m.def<rfft>("Rfft", inputs("x"), "n"_attr = 512, shape<rfft_shape>);
//   m.def<roll<float>>("Roll", "shift"_attr = 1, shape<same>);                  // the shape of the first input
//
// The same function serves ORT's shape inference, where a dimension may be unknown or have only a name, and the
// allocation before a call, where all are known. A dimension that is merely passed on keeps its name.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "graft/error.h"
#include "graft/tensor.h"

namespace graft {

/// Is one dimension: a size, or unknown, perhaps with the name that the model gives it.
class Dim {
 public:
  Dim() = default;
  constexpr Dim(int64_t size) : size_(size) {}

  /// Makes an unknown dimension; `symbol` may be empty and must outlive the shape.
  static constexpr Dim unknown(std::string_view symbol = {}) {
    Dim dim(-1);
    dim.symbol_ = symbol;
    return dim;
  }

  constexpr bool known() const { return size_ >= 0; }
  constexpr std::string_view symbol() const { return symbol_; }
  /// Gives the size; -1 when it is not known.
  constexpr int64_t size() const { return size_; }

  /// Says whether both are surely the same: equal sizes, or the same name.
  friend constexpr bool operator==(Dim a, Dim b) {
    return a.known() ? a.size_ == b.size_ : !b.known() && !a.symbol_.empty() && a.symbol_ == b.symbol_;
  }
  // Arithmetic with an unknown dimension is unknown.
  friend constexpr Dim operator+(Dim a, Dim b) { return both(a, b) ? Dim(a.size_ + b.size_) : unknown(); }
  friend constexpr Dim operator*(Dim a, Dim b) { return both(a, b) ? Dim(a.size_ * b.size_) : unknown(); }
  friend constexpr Dim operator-(Dim a, Dim b) {
    if (both(a, b) && a.size_ < b.size_) fail("a dimension of ", a.size_, " is too small to take ", b.size_, " from it");
    return both(a, b) ? Dim(a.size_ - b.size_) : unknown();
  }
  friend constexpr Dim operator/(Dim a, Dim b) {
    if (b.size_ == 0) fail("a dimension of ", a.size_, " cannot be divided by 0");
    return both(a, b) ? Dim(a.size_ / b.size_) : unknown();
  }

 private:
  static constexpr bool both(Dim a, Dim b) { return a.known() && b.known(); }
  int64_t size_;
  std::string_view symbol_;
};

/// Is the shape of a tensor, dimension by dimension.
class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<Dim> dims) {
    resize(dims.size());
    std::copy(dims.begin(), dims.end(), dims_.begin());
  }
  explicit constexpr Shape(std::span<const int64_t> dims) {
    resize(dims.size());
    for (size_t i = 0; i < rank_; ++i) dims_[i] = Dim(dims[i]);
  }

  constexpr size_t rank() const { return rank_; }
  /// Makes room for this many dimensions. New ones have no value yet.
  constexpr void resize(size_t rank) {
    if (rank > kMaxRank) fail("a shape with ", rank, " dimensions is more than the ", kMaxRank, " that Graft takes");
    rank_ = rank;
  }
  /// Gives one dimension; -1 is the last one. Throws an Error when there is no such dimension.
  constexpr Dim& operator[](int64_t axis) { return dims_[index(axis)]; }
  constexpr const Dim& operator[](int64_t axis) const { return dims_[index(axis)]; }

 private:
  constexpr size_t index(int64_t axis) const {
    const int64_t i = axis < 0 ? axis + int64_t(rank_) : axis;
    if (i < 0 || i >= int64_t(rank_)) fail("a shape with ", rank_, " dimensions has no dimension ", axis);
    return size_t(i);
  }
  size_t rank_ = 0;
  std::array<Dim, kMaxRank> dims_;
};

/// Broadcasts two shapes as ONNX does. Throws an Error when two known dimensions differ and neither is 1.
constexpr Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& high = a.rank() >= b.rank() ? a : b;
  const Shape& low = a.rank() >= b.rank() ? b : a;
  Shape result = high;
  for (int64_t i = -1; i >= -int64_t(low.rank()); --i) {
    const Dim h = high[i], l = low[i];
    if (h == l || l == Dim(1)) continue;
    if (h == Dim(1)) result[i] = l;
    else if (h.known() && l.known()) fail("dimensions ", h.size(), " and ", l.size(), " do not broadcast");
    else if (!h.known() && !l.known()) result[i] = Dim::unknown();
    else result[i] = h.known() ? h : l;  // the unknown one is 1 or the same
  }
  return result;
}

struct SameShape {};
struct BroadcastShape {};
/// Names the shape rule "every output is shaped like the first input".
inline constexpr SameShape same{};
/// Names the shape rule "every output has the shape to which the inputs broadcast".
inline constexpr BroadcastShape broadcast{};

/// Is the option `shape<f>` of m.def.
template <auto F>
struct ShapeOption {};
/// Says how an operator's outputs are shaped: shape<same>, shape<broadcast> or shape<f> with a function
/// `Shape f(const Shape&..., attributes...)` (or std::array<Shape, n> for n outputs).
template <auto F>
inline constexpr ShapeOption<F> shape{};

}  // namespace graft
