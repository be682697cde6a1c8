// The loop of a family: a function of elements over tiles, in every variant that its family lists.
#pragma once

#include <array>
#include <tuple>
#include <utility>

#include "family.h"
#include "graft/elementwise.h"

namespace graft::fused {

template <unsigned Singles, class F, class R, class... T>
struct TileLoop {
  template <Target V>
  static GRAFT_INLINE void run(std::byte* const* address, const uint16_t* places, int64_t n) {
    run(address, places, n, std::index_sequence_for<T...>{});
  }

 private:
  template <size_t... I>
  static GRAFT_INLINE void run(std::byte* const* address, const uint16_t* places, int64_t n, std::index_sequence<I...>) {
    const auto operands = std::make_tuple(operand<I>(reinterpret_cast<const T*>(address[places[I]]))...);
    R* result = reinterpret_cast<R*>(address[places[sizeof...(T)]]);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) result[i] = F::f(std::get<I>(operands)(i)...);
  }
  template <size_t I, class E>
  static GRAFT_INLINE auto operand(const E* elements) {
    constexpr bool single = (Singles >> I) & 1;
    return graft::detail::Operand<E, single>{elements, single ? *elements : E{}};
  }
};

/// Gives the type of the elements of a tile.
template <class T>
inline constexpr Type type_of_element = Type::f32;
template <>
inline constexpr Type type_of_element<double> = Type::f64;
template <>
inline constexpr Type type_of_element<int32_t> = Type::i32;
template <>
inline constexpr Type type_of_element<int64_t> = Type::i64;
template <>
inline constexpr Type type_of_element<uint8_t> = Type::boolean;

/// Is the family of F with result R and operands T, in these variants.
template <class F, class Signature, unsigned... Singles>
struct MakeFamily;
template <class F, class R, class... T, unsigned... Singles>
struct MakeFamily<F, R(T...), Singles...> {
  static constexpr std::array<Variant, sizeof...(Singles)> variants{{{Singles, Loops::of<TileLoop<Singles, F, R, T...>>()}...}};
  static constexpr bool commutative() {
    if constexpr (requires { F::commutative; }) return F::commutative;
    else return false;
  }
  static constexpr int cost() {
    if constexpr (requires { F::cost; }) return F::cost;
    else return 1;
  }
  static constexpr Family family{variants, type_of_element<R>, sizeof...(T), commutative(), cost()};
};
template <class F, class Signature, unsigned... Singles>
inline constexpr const Family& make_family = MakeFamily<F, Signature, Singles...>::family;

// ---- functions of elements -------------------------------------------------------------------------------------------

/// Computes with integers that wrap around.
template <class T>
GRAFT_INLINE constexpr auto wrapping(T x) {
  if constexpr (std::is_integral_v<T>) return std::make_unsigned_t<T>(x);
  else return x;
}

struct Add {
  static constexpr bool commutative = true;
  template <class T>
  static GRAFT_INLINE T f(T a, T b) { return T(wrapping(a) + wrapping(b)); }
};
struct Sub {
  template <class T>
  static GRAFT_INLINE T f(T a, T b) { return T(wrapping(a) - wrapping(b)); }
};
struct Mul {
  static constexpr bool commutative = true;
  template <class T>
  static GRAFT_INLINE T f(T a, T b) { return T(wrapping(a) * wrapping(b)); }
};
struct Div {
  static constexpr int cost = 3;
  template <class T>
  static GRAFT_INLINE T f(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else if constexpr (sizeof(T) == 4) {  // exact: a double tells apart all quotients of 32-bit integers
      const double quotient = double(a) / double(b == 0 ? 1 : b);
      return b == 0 ? 0 : b == -1 ? T(0u - wrapping(a)) : T(quotient);
    } else {
      const T divisor = b == 0 || b == -1 ? T(1) : b;
      return b == 0 ? T(0) : b == -1 ? T(0u - wrapping(a)) : T(a / divisor);
    }
  }
};
struct Min {
  static constexpr bool commutative = true;
  template <class T>
  static GRAFT_INLINE T f(T a, T b) { return graft::min(a, b); }
};
struct Max {
  static constexpr bool commutative = true;
  template <class T>
  static GRAFT_INLINE T f(T a, T b) { return graft::max(a, b); }
};
struct Clamp {
  template <class T>
  static GRAFT_INLINE T f(T x, T low, T high) { return graft::clamp(x, low, high); }
};

}  // namespace graft::fused
