// ONNX broadcasting through collapsed strides: no input is copied, and dimensions that walk alike are one.
//
//   BroadcastPlan<2> plan = plan_broadcast<2>({&x, &bias});    // x [8,64,56,56], bias [64,1,1]
//   // plan.extent = {8, 64, 3136}, plan.stride[1] = {0, 1, 0}
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "graft/error.h"
#include "graft/tensor.h"

namespace graft {

/// Says how N inputs walk through one output.
template <size_t N>
struct BroadcastPlan {
  Dims shape;      ///< Shape of the output.
  int64_t size;    ///< Number of elements of the output.
  size_t rank;     ///< Collapsed dimensions, outermost first; at least 1.
  std::array<int64_t, kMaxRank> extent;
  std::array<std::array<int64_t, kMaxRank>, N> stride;  ///< In elements; the last one of an input is 0 or 1.
  std::array<bool, N> dense;  ///< This input walks exactly as the output does.
};

/// Plans the broadcast of these shapes. Throws an Error that shows them when they do not broadcast.
template <size_t N>
[[gnu::noinline]] BroadcastPlan<N> plan_broadcast(const std::array<const Dims*, N>& inputs) {
  BroadcastPlan<N> plan;
  size_t rank = 0;
  for (const Dims* dims : inputs) rank = std::max(rank, dims->size());
  plan.shape.resize(rank);
  const auto dim = [&](size_t input, size_t axis) {
    const size_t missing = rank - inputs[input]->size();
    return axis < missing ? int64_t(1) : (*inputs[input])[axis - missing];
  };
  for (size_t axis = 0; axis < rank; ++axis) {
    int64_t extent = 1;
    for (size_t i = 0; i < N; ++i) {
      const int64_t d = dim(i, axis);
      if (extent != 1 && d != 1 && d != extent) {
        std::string shapes;
        for (const Dims* dims : inputs) shapes += message(shapes.empty() ? "" : " and ", std::span<const int64_t>(*dims));
        fail("the shapes ", shapes, " do not broadcast");
      }
      if (d != 1) extent = d;
    }
    plan.shape[axis] = extent;
  }
  plan.size = element_count(plan.shape);
  for (size_t i = 0; i < N; ++i) plan.dense[i] = element_count(*inputs[i]) == plan.size;

  // From the innermost dimension outwards; `step` is how far one step along the axis goes in each input.
  std::array<int64_t, N> step;
  step.fill(1);
  size_t collapsed = 0;  // filled from the end of the arrays' first `rank` places, innermost first
  for (size_t axis = rank; axis-- > 0;) {
    const int64_t extent = plan.shape[axis];
    if (extent == 1) continue;
    std::array<int64_t, N> stride;
    for (size_t i = 0; i < N; ++i) {
      const int64_t d = dim(i, axis);
      stride[i] = d == 1 ? 0 : step[i];
      step[i] *= d;
    }
    if (collapsed > 0) {
      bool walks_on = true;
      for (size_t i = 0; i < N; ++i) {
        walks_on = walks_on && stride[i] == plan.stride[i][collapsed - 1] * plan.extent[collapsed - 1];
      }
      if (walks_on) {
        plan.extent[collapsed - 1] *= extent;
        continue;
      }
    }
    plan.extent[collapsed] = extent;
    for (size_t i = 0; i < N; ++i) plan.stride[i][collapsed] = stride[i];
    ++collapsed;
  }
  if (collapsed == 0) {  // one element
    plan.extent[0] = 1;
    for (size_t i = 0; i < N; ++i) plan.stride[i][0] = 1;
    collapsed = 1;
  }
  plan.rank = collapsed;
  std::reverse(plan.extent.begin(), plan.extent.begin() + collapsed);
  for (auto& stride : plan.stride) std::reverse(stride.begin(), stride.begin() + collapsed);
  return plan;
}

/// Walks through the output elements [begin, end) of a plan in runs along the innermost dimension: calls
/// run(offsets, position, count) with each input's offset, the position in the output, and the number of elements.
template <size_t N, class Run>
void for_each_run(const BroadcastPlan<N>& plan, int64_t begin, int64_t end, Run run) {
  if (begin >= end) return;
  const size_t inner = plan.rank - 1;
  std::array<int64_t, kMaxRank> index;
  std::array<int64_t, N> offset{};
  int64_t rest = begin;
  for (size_t axis = plan.rank; axis-- > 0;) {
    index[axis] = rest % plan.extent[axis];
    rest /= plan.extent[axis];
    for (size_t i = 0; i < N; ++i) offset[i] += index[axis] * plan.stride[i][axis];
  }
  for (int64_t position = begin; position < end;) {
    const int64_t count = std::min(plan.extent[inner] - index[inner], end - position);
    run(offset, position, count);
    position += count;
    index[inner] += count;
    for (size_t i = 0; i < N; ++i) offset[i] += count * plan.stride[i][inner];
    for (size_t axis = inner; index[axis] == plan.extent[axis] && axis > 0; --axis) {
      index[axis] = 0;
      ++index[axis - 1];
      for (size_t i = 0; i < N; ++i) {
        offset[i] += plan.stride[i][axis - 1] - plan.extent[axis] * plan.stride[i][axis];
      }
    }
  }
}

}  // namespace graft
