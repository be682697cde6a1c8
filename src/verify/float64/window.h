#pragma once
/// Says how the window of a convolution or a pool slides over one or two dimensions.
///
///   const auto [rows, columns] = Window{kernel_shape, strides, dilations, pads, auto_pad}.axes(x.shape(),
///   kernel); y.allocate(spatial_shape(x.shape(), channels, rows.steps(false), columns.steps(false)));
#include <graft/graft.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace float64 {

using graft::Dims;
using graft::fail;

/// Holds one dimension of a window that slides over an input.
struct Axis {
  int64_t input = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  int64_t steps(bool round_up) const {
    const int64_t room = input + before + after - extent();
    if (room < 0) return 0;
    int64_t count = (room + (round_up ? stride - 1 : 0)) / stride + 1;
    if (round_up && (count - 1) * stride >= input + before)
      --count;  // a window must start in the input or before it
    return count;
  }
};

/// Says how a window slides, with the attributes of Conv and the pools.
struct Window {
  std::vector<int64_t> kernel_shape, strides, dilations, pads;
  std::string auto_pad = "NOTSET";

  /// Gives the axes of height and width; a single dimension is the width.
  std::pair<Axis, Axis> axes(std::span<const int64_t> input, std::span<const int64_t> kernel) const {
    const size_t count = kernel.size();
    if (count < 1 || count > 2 || input.size() != count + 2) {
      fail("expected one or two spatial dimensions, got an input of shape ", input);
    }
    Axis axes[2];
    for (size_t i = 0; i < count; ++i) {
      Axis& axis = axes[i + 2 - count];
      axis = {input[i + 2],
              kernel[i],
              strides.empty() ? 1 : strides[i],
              dilations.empty() ? 1 : dilations[i],
              0,
              0};
      if (!pads.empty()) {
        axis.before = pads[i];
        axis.after = pads[i + count];
      }
      if (auto_pad.starts_with("SAME")) {
        const int64_t steps = (axis.input + axis.stride - 1) / axis.stride;
        const int64_t total = std::max<int64_t>((steps - 1) * axis.stride + axis.extent() - axis.input, 0);
        axis.before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        axis.after = total - axis.before;
      } else if (auto_pad == "VALID") {
        axis.before = axis.after = 0;
      }
    }
    return {axes[0], axes[1]};
  }
};

/// Gives the output's shape: as the input's, with other channels and spatial sizes.
inline Dims spatial_shape(std::span<const int64_t> input, int64_t channels, int64_t height, int64_t width) {
  Dims shape(input);
  shape[1] = channels;
  if (input.size() == 4) shape[2] = height;
  shape[input.size() - 1] = width;
  return shape;
}

}  // namespace float64
