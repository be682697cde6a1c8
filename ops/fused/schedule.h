// A program as steps over tiles: simplified once, then bound to the inputs that are one value in a tile,
// which decides which operators are joined in one loop.
//
//   const Schedule schedule(read_program("in f32; k f32 3; add f32 0 1; relu f32 2; out 3"));
//   const Bound bound = schedule.bind(0, false);          // one step: clamp(x + 3, 0, inf), from input to
//   output
//
// Steps name their values by places in a table of addresses: inputs, outputs, constants, cells (values that
// are one for the whole tile), buffers. A buffer is used again as soon as its value is not needed any more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "family.h"
#include "program.h"

namespace graft::fused {

/// Is one loop over a tile.
struct Step {
  void (*run)(std::byte* const*, const uint16_t*, int64_t);
  bool once;                         ///< All operands are one value, and so is the result.
  std::array<uint16_t, 8> places{};  ///< Of the operands, then of the result.
};

/// Is a schedule for one choice of inputs that are one value.
struct Bound {
  std::vector<Step> steps;
  std::vector<std::array<std::byte, 8>> constants;  ///< In the order of their places.
  size_t cells = 0;
  size_t buffers = 0;
  size_t width = 1;  ///< Bytes of the widest element of a buffer.
  int cost = 0;      ///< About how many additions an element takes.
};

class Schedule {
 public:
  /// Throws std::invalid_argument when a program has more inputs than kMaxInputs.
  explicit Schedule(const Program& program);

  static constexpr size_t kMaxInputs = 64;
  size_t inputs() const { return inputs_; }
  size_t outputs() const { return outputs_.size(); }
  Type input_type(size_t i) const { return items_[i].type; }
  Type output_type(size_t i) const { return output_types_[i]; }

  /// Takes out what is computed of one input alone, when a single value comes of it: a schedule for that
  /// value, and one for the rest, whose input i is that value. For an input that is small beside the outputs:
  /// sigmoid(gate) * x computes the sigmoids of a gate once, and not for each element that it broadcasts to.
  std::optional<std::pair<Schedule, Schedule>> split(size_t i) const;

  /// Bit i of `singles` says that input i is one value; `stream` that outputs pass the caches.
  Bound bind(uint64_t singles, bool stream) const;

 private:
  friend class Simplifier;
  friend class Joiner;
  friend class Binder;

  struct Item {
    Op op = Op::input;
    Type type = Type::f32;           ///< How a tile of it is held; an input: as it comes.
    const Family* family = nullptr;  ///< Null for inputs and constants.
    std::array<int, 7> operands{};
    double number = 0;     ///< Of a constant.
    int constant = -1;     ///< Its index among the constants.
    bool rounded = false;  ///< Is an input of 16 bits: no need to round it again.
  };
  bool is_constant(int v) const { return items_[size_t(v)].op == Op::constant; }
  int arity(int v) const { return items_[size_t(v)].family ? items_[size_t(v)].family->arity : 0; }
  int add_constant(double number, Type type);
  int add(const Item& item);
  /// Says of each value whether it is one for the whole tile.
  std::vector<bool> find_ones(uint64_t singles) const;
  /// Counts how often each value is read by others that are needed, or is an output.
  std::vector<int> uses() const;

  size_t inputs_ = 0;
  std::vector<Item> items_;
  std::vector<int> outputs_;
  std::vector<Type> output_types_;
  std::vector<std::array<std::byte, 8>> cells_;
};

}  // namespace graft::fused
