#include "verify/float64/convolution.h"

#include <algorithm>
#include <array>

#include "verify/float64/window.h"

namespace float64 {
namespace {

using graft::Target;

constexpr int64_t panel_pixels = 16;  // two AVX-512 registers of doubles, four of AVX2
constexpr int64_t tile_outputs = 4;   // 16 output pixels of 4 channels: 8 accumulators in AVX-512
constexpr int64_t block_terms =
    256;  // terms of the sum at a time: a panel of 32 KiB stays in the first caches

/// Is one group of channels of one image: what its output channels are computed from.
struct Group {
  const double* input;    // the group's first input channel
  const double* weights;  // [outputs, terms]
  const double* bias;     // null: none
  double* output;         // the group's first output channel
  int64_t outputs, terms;
  Axis rows, columns;
  int64_t height, width;

  int64_t pixels() const { return height * width; }
};

/// Computes the output pixels [first, first + panel_pixels) of all output channels of a group.
struct Panel {
  const Group& group;
  int64_t first;
  double* patches;  // [block_terms, panel_pixels]

  template <Target> GRAFT_INLINE void operator()() const {
    const int64_t count = std::min(panel_pixels, group.pixels() - first);
    for (int64_t m = 0; m < group.outputs; ++m)
      std::fill_n(group.output + m * group.pixels() + first, count, group.bias ? group.bias[m] : 0.0);
    for (int64_t begin = 0; begin < group.terms; begin += block_terms) {
      const int64_t terms = std::min(block_terms, group.terms - begin);
      gather(begin, terms, count);
      int64_t m = 0;
      for (; m + tile_outputs <= group.outputs; m += tile_outputs)
        add_tile<tile_outputs>(m, begin, terms, count);
      for (; m < group.outputs; ++m) add_tile<1>(m, begin, terms, count);
    }
  }

  /// Copies what the windows of the panel's pixels see, term by term; padding is 0.
  GRAFT_INLINE void gather(int64_t begin, int64_t terms, int64_t count) const {
    std::array<int64_t, panel_pixels> top, left;
    for (int64_t j = 0; j < count; ++j) {
      top[size_t(j)] = (first + j) / group.width * group.rows.stride - group.rows.before;
      left[size_t(j)] = (first + j) % group.width * group.columns.stride - group.columns.before;
    }
    const bool one_row =
        count == panel_pixels && top[0] == top[panel_pixels - 1] && group.columns.stride == 1;
    const int64_t window = group.rows.kernel * group.columns.kernel;
    for (int64_t k = 0; k < terms; ++k) {
      const int64_t term = begin + k, within = term % window;
      const int64_t down = within / group.columns.kernel * group.rows.dilation;
      const int64_t right = within % group.columns.kernel * group.columns.dilation;
      const double* plane = group.input + term / window * group.rows.input * group.columns.input;
      double* patch = patches + k * panel_pixels;
      const int64_t row = top[0] + down, column = left[0] + right;
      if (one_row && row >= 0 && row < group.rows.input && column >= 0 &&
          column + panel_pixels <= group.columns.input) {
        std::copy_n(plane + row * group.columns.input + column, panel_pixels, patch);
        continue;
      }
      std::fill_n(patch, panel_pixels, 0.0);
      for (int64_t j = 0; j < count; ++j) {
        const int64_t ih = top[size_t(j)] + down, iw = left[size_t(j)] + right;
        if (ih >= 0 && ih < group.rows.input && iw >= 0 && iw < group.columns.input)
          patch[j] = plane[ih * group.columns.input + iw];
      }
    }
  }

  /// Adds some terms of the sums of `Outputs` channels.
  template <int64_t Outputs>
  GRAFT_INLINE void add_tile(int64_t m, int64_t begin, int64_t terms, int64_t count) const {
    double sums[Outputs][panel_pixels] = {};
    const double* weights = group.weights + m * group.terms + begin;
    for (int64_t k = 0; k < terms; ++k) {
      const double* patch = patches + k * panel_pixels;
      for (int64_t i = 0; i < Outputs; ++i) {
        const double weight = weights[i * group.terms + k];
        for (int64_t j = 0; j < panel_pixels; ++j) sums[i][j] += weight * patch[j];
      }
    }
    for (int64_t i = 0; i < Outputs; ++i) {
      double* out = group.output + (m + i) * group.pixels() + first;
      for (int64_t j = 0; j < count; ++j) out[j] += sums[i][j];
    }
  }
};

}  // namespace

void Conv::operator()(graft::In<double> x, graft::In<double> w, std::optional<graft::In<double>> bias,
                      graft::Out<double> y, graft::Pool pool) const {
  const auto [rows, columns] =
      Window{kernel_shape, strides, dilations, pads, auto_pad}.axes(x.shape(), w.shape().subspan(2));
  const int64_t height = rows.steps(false), width = columns.steps(false);
  y.allocate(spatial_shape(x.shape(), w.dim(0), height, width));
  if (y.size() == 0) return;
  const int64_t inputs = w.dim(1), outputs = w.dim(0) / group, terms = inputs * rows.kernel * columns.kernel;
  const int64_t panels = (height * width + panel_pixels - 1) / panel_pixels;
  pool.parallel_for(x.dim(0) * group * panels, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> patches(size_t(block_terms * panel_pixels));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t panel = i % panels, g = i / panels % group, n = i / panels / group;
      const Group of{x.data() + (n * x.dim(1) + g * inputs) * rows.input * columns.input,
                     w.data() + g * outputs * terms,
                     bias ? bias->data() + g * outputs : nullptr,
                     y.data() + (n * w.dim(0) + g * outputs) * height * width,
                     outputs,
                     terms,
                     rows,
                     columns,
                     height,
                     width};
      graft::run_for_target(Panel{of, panel * panel_pixels, patches.data()});
    }
  });
}

}  // namespace float64
