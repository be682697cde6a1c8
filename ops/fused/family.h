// A family is one operation on tiles in all its variants: for each processor, and for operands that are one value.
//
//   const Family& add = *family_of(Op::add, Type::f32);
//   add.variants[0].run[target()](address, places, n);     // y[i] = a[i] + b[i]; a, b and y are address[places[0..2]]
//
// Values of a tile are held as what they are computed in: f16 and bf16 as floats, bool as a byte of 0 or 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "program.h"
#include "graft/target.h"

namespace graft::fused {

/// Is how a loop finds its operands and its result: places[k] is the index of an address.
using Loops = TargetFunctions<std::byte* const*, const uint16_t*, int64_t>;

/// Is a loop for which the operands whose bits are set in `singles` are one value for all elements.
struct Variant {
  unsigned singles;
  Loops run;
};

struct Family {
  std::span<const Variant> variants;
  Type result;               ///< What a tile of the result holds.
  int arity;
  bool commutative = false;  ///< The first two operands may change places.
  int cost = 1;              ///< About how much longer than an addition it takes.
};

/// Gives how a value of a type is held in a tile.
constexpr Type held_as(Type type) { return type == Type::f16 || type == Type::bf16 ? Type::f32 : type; }
constexpr size_t size_of(Type type) {
  switch (type) {
    case Type::f16:
    case Type::bf16: return 2;
    case Type::f64:
    case Type::i64: return 8;
    case Type::boolean: return 1;
    case Type::f32:
    case Type::i32: return 4;
  }
  return 4;
}

/// Finds the family of an operator whose operands (for where: the chosen ones) are held as `type`; null for cast.
const Family* family_of(Op op, Type type);
/// Finds the conversion between two types as they are held; f16 and bf16 as the target round. Null when nothing changes.
const Family* conversion(Type from, Type to);
/// Finds the loop that brings a 16-bit input into a tile of floats, or null.
const Family* widening(Type input);
/// Finds the loop that writes a tile to an output: copies, or rounds to 16 bits.
const Family& storing(Type output);
/// Finds the loop that writes a tile to an output past the caches, or null where there is none.
const Family* streaming(Type output);

/// Finds what computes second(first(a, b), c), for add, sub and mul; null where there is none. With `reversed`:
/// second(c, first(a, b)).
const Family* pair_of(Op first, Op second, bool reversed);

/// Finds what computes unary(binary(a, b)), or binary(unary(a), b), for exp, tanh, sigmoid, erf, sqrt and abs with add and mul;
/// null where there is none.
const Family* unary_of(Op unary, Op binary);
const Family* binary_of(Op binary, Op unary);

/// Lists what stands for more than two operators, all in float; lo, hi, k and m are constants.
enum class Joined : uint8_t {
  add_clamp,          ///< clamp(a + b, lo, hi)
  mul_add_clamp,      ///< clamp(a * b + c, lo, hi)
  clamp_mul,          ///< clamp(a, lo, hi) * b
  clamp_div,          ///< clamp(a, lo, hi) / b
  add_clamp_mul,      ///< clamp(a + b, lo, hi) * c
  mul_add_clamp_mul,  ///< clamp(a * b + c, lo, hi) * d
  gate,               ///< t * clamp(t + k, lo, hi), t = a * b + c
  gate_mul,           ///< (t * clamp(t + k, lo, hi)) * m
  gate_div,           ///< (t * clamp(t + k, lo, hi)) / m
  gate_inner_mul,     ///< t * (clamp(t + k, lo, hi) * m)
  gate_inner_div      ///< t * (clamp(t + k, lo, hi) / m)
};
const Family& joined(Joined which);

}  // namespace graft::fused
