// Runs a program over tensors: tile by tile, so that what is between input and output stays in the first
// cache.
//
//   const Engine engine(read_program("in f32; in f32; add f32 0 1; relu f32 2; out 3"));
//   engine.run(inputs, outputs, shape, pool);             // the outputs have the shape to which the inputs
//   broadcast
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "graft/pool.h"
#include "graft/tensor.h"
#include "program.h"
#include "schedule.h"

namespace graft::fused {

/// Is an input: its elements, and its shape.
struct View {
  const std::byte* data;
  std::span<const int64_t> shape;
  int64_t size;
};

class Engine {
 public:
  explicit Engine(const Program& program) : Engine(Schedule(program)) {}
  explicit Engine(Schedule schedule);
  ~Engine();

  /// May be called by several threads at once.
  void run(std::span<const View> inputs, std::span<std::byte* const> outputs, std::span<const int64_t> shape,
           const Pool& pool) const;

 private:
  struct Call;
  struct Kept;
  struct Split;
  const Bound& bound_for(uint64_t singles, bool stream) const;
  bool run_split(const Call& call) const;
  const Split& split_for(uint64_t partial) const;
  template <size_t N> void run_broadcast(Call& call) const;
  void run_dense(Call& call) const;

  Schedule schedule_;
  std::vector<size_t> input_sizes_;  ///< Bytes of an element.
  std::vector<size_t> output_sizes_;
  mutable std::atomic<Kept*> kept_{nullptr};  ///< Bound schedules, a list that only grows at its head.
  mutable std::atomic<Split*> splits_{nullptr};
};

}  // namespace graft::fused
