// ONNX's floating operators that ORT's CPU provider computes in float32 only, in float64: written for
// clarity, not speed.
#include "verify/float64/operators.h"

#include <graft/graft.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string_view>
#include <vector>

#include "verify/float64/convolution.h"
#include "verify/float64/window.h"

using namespace graft;

namespace float64 {
namespace {

// ---- elementwise, as ONNX defines them

double celu(double x, float alpha) { return std::max(0.0, x) + std::min(0.0, alpha * std::expm1(x / alpha)); }
double elu(double x, float alpha) { return x < 0 ? alpha * std::expm1(x) : x; }
double hard_sigmoid(double x, float alpha, float beta) {
  return std::isnan(x) ? x : std::clamp(alpha * x + beta, 0.0, 1.0);
}
double hard_swish(double x) { return std::isnan(x) ? x : x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }
double leaky_relu(double x, float alpha) { return x < 0 ? alpha * x : x; }
double prelu(double x, double slope) { return x < 0 ? slope * x : x; }
double selu(double x, float alpha, float gamma) { return gamma * (x <= 0 ? alpha * std::expm1(x) : x); }
// ORT has a Sigmoid for float64, but it subtracts from 1 what is 1 but for rounding: below -37 it gives 0.
double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double softsign(double x) { return x / (1 + std::abs(x)); }
double thresholded_relu(double x, float alpha) { return x > alpha ? x : 0; }
double mish(double x) { return x * std::tanh(softplus(x)); }
double erf(double x) { return std::erf(x); }
double round_to_float16(double x) { return to_float(to_float16(static_cast<float>(x))); }
double round_to_bfloat16(double x) { return to_float(to_bfloat16(static_cast<float>(x))); }
double tan(double x) { return std::tan(x); }
double asin(double x) { return std::asin(x); }
double acos(double x) { return std::acos(x); }
double atan(double x) { return std::atan(x); }
double sinh(double x) { return std::sinh(x); }
double cosh(double x) { return std::cosh(x); }
double asinh(double x) { return std::asinh(x); }
double acosh(double x) { return std::acosh(x); }
double atanh(double x) { return std::atanh(x); }

void gelu(In<double> x, Out<double> y, std::string_view approximate) {
  for (int64_t i = 0; i < x.size(); ++i) {
    const double inner =
        approximate == "tanh"
            ? std::tanh(std::sqrt(2 / std::numbers::pi) * (x[i] + 0.044715 * x[i] * x[i] * x[i]))
            : std::erf(x[i] / std::numbers::sqrt2);
    y[i] = 0.5 * x[i] * (1 + inner);
  }
}

void clip(In<double> x, std::optional<In<double>> lower, std::optional<In<double>> upper, Out<double> y,
          float min, float max) {
  const double low = lower ? (*lower)[0] : min, high = upper ? (*upper)[0] : max;
  for (int64_t i = 0; i < x.size(); ++i) y[i] = std::isnan(x[i]) ? x[i] : std::min(std::max(x[i], low), high);
}

// ---- windows over one or two dimensions

struct ConvTranspose {
  std::vector<int64_t> kernel_shape, strides, dilations, pads, output_padding, output_shape;
  std::string auto_pad = "NOTSET";
  int64_t group = 1;

  void operator()(In<double> x, In<double> w, std::optional<In<double>> bias, Out<double> y) const {
    auto [rows, columns] =
        Window{kernel_shape, strides, dilations, pads, "NOTSET"}.axes(x.shape(), w.shape().subspan(2));
    const int64_t group_outputs = w.dim(1), out_channels = group_outputs * group,
                  group_inputs = x.dim(1) / group;
    const int64_t width = size_of(columns, w.rank() - 3), height = w.rank() == 4 ? size_of(rows, 0) : 1;
    y.allocate(spatial_shape(x.shape(), out_channels, height, width));
    for (int64_t n = 0; n < x.dim(0); ++n) {
      for (int64_t m = 0; m < out_channels; ++m) {
        double* plane = y.data() + (n * out_channels + m) * height * width;
        std::fill_n(plane, height * width, bias ? (*bias)[m] : 0.0);
        for (int64_t c = 0; c < group_inputs; ++c) {
          const int64_t channel = m / group_outputs * group_inputs + c;
          const double* source = x.data() + (n * x.dim(1) + channel) * rows.input * columns.input;
          const double* kernel =
              w.data() + (channel * group_outputs + m % group_outputs) * rows.kernel * columns.kernel;
          spread_plane(source, kernel, rows, columns, height, width, plane);
        }
      }
    }
  }

  /// Gives the output's size along one axis, and sets its padding where that follows from the size.
  int64_t size_of(Axis& axis, int64_t position) const {
    const auto at = [&](const std::vector<int64_t>& values) {
      return values.empty() ? 0 : values[size_t(position)];
    };
    const int64_t full = axis.stride * (axis.input - 1) + at(output_padding) + axis.extent();
    int64_t size = full - axis.before - axis.after;
    if (output_shape.empty() && !auto_pad.starts_with("SAME")) return size;
    // ONNX may count the batch and the channels in output_shape.
    size = output_shape.empty() ? axis.input * axis.stride
                                : output_shape[output_shape.size() - (kernel_rank() - size_t(position))];
    const int64_t total = std::max<int64_t>(full - size, 0);
    axis.before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    return size;
  }
  size_t kernel_rank() const { return std::max<size_t>(std::max(kernel_shape.size(), strides.size()), 1); }

  static void spread_plane(const double* source, const double* kernel, const Axis& rows, const Axis& columns,
                           int64_t height, int64_t width, double* plane) {
    for (int64_t ih = 0; ih < rows.input; ++ih) {
      for (int64_t kh = 0; kh < rows.kernel; ++kh) {
        const int64_t oh = ih * rows.stride + kh * rows.dilation - rows.before;
        if (oh < 0 || oh >= height) continue;
        for (int64_t iw = 0; iw < columns.input; ++iw) {
          for (int64_t kw = 0; kw < columns.kernel; ++kw) {
            const int64_t ow = iw * columns.stride + kw * columns.dilation - columns.before;
            if (ow >= 0 && ow < width)
              plane[oh * width + ow] += source[ih * columns.input + iw] * kernel[kh * columns.kernel + kw];
          }
        }
      }
    }
  }
};

struct AveragePool {
  std::vector<int64_t> kernel_shape, strides, dilations, pads;
  std::string auto_pad = "NOTSET";
  int64_t ceil_mode = 0, count_include_pad = 0;

  void operator()(In<double> x, Out<double> y) const {
    const auto [rows, columns] =
        Window{kernel_shape, strides, dilations, pads, auto_pad}.axes(x.shape(), kernel_shape);
    const int64_t height = rows.steps(ceil_mode != 0), width = columns.steps(ceil_mode != 0);
    y.allocate(spatial_shape(x.shape(), x.dim(1), height, width));
    const int64_t planes = x.dim(0) * x.dim(1);
    for (int64_t p = 0; p < planes; ++p) {
      const double* source = x.data() + p * rows.input * columns.input;
      for (int64_t oh = 0; oh < height; ++oh) {
        for (int64_t ow = 0; ow < width; ++ow) {
          y[(p * height + oh) * width + ow] = average(source, rows, columns, oh * rows.stride - rows.before,
                                                      ow * columns.stride - columns.before);
        }
      }
    }
  }

  double average(const double* source, const Axis& rows, const Axis& columns, int64_t top,
                 int64_t left) const {
    double sum = 0;
    int64_t count = 0;
    for (int64_t kh = 0; kh < rows.kernel; ++kh) {
      for (int64_t kw = 0; kw < columns.kernel; ++kw) {
        const int64_t ih = top + kh * rows.dilation, iw = left + kw * columns.dilation;
        const bool inside = ih >= 0 && ih < rows.input && iw >= 0 && iw < columns.input;
        const bool in_padding = ih < rows.input + rows.after && iw < columns.input + columns.after;
        if (inside) sum += source[ih * columns.input + iw];
        count += inside || (count_include_pad && in_padding) ? 1 : 0;
      }
    }
    return count == 0 ? 0 : sum / double(count);
  }
};

/// Calls `reduce` with each plane of an input and gives a plane of one element.
template <class Reduce> void over_planes(In<double> x, Out<double> y, Reduce reduce) {
  Dims shape(x.shape());
  for (size_t i = 2; i < shape.size(); ++i) shape[i] = 1;
  y.allocate(shape);
  const int64_t size = y.size() == 0 ? 0 : x.size() / y.size();
  for (int64_t p = 0; p < y.size(); ++p) y[p] = reduce(x.span().subspan(size_t(p * size), size_t(size)));
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / double(values.size());
}

void global_average_pool(In<double> x, Out<double> y) { over_planes(x, y, mean_of); }

void global_max_pool(In<double> x, Out<double> y) {
  over_planes(x, y, [](std::span<const double> values) {
    double largest = -std::numeric_limits<double>::infinity();
    for (const double value : values) largest = std::isnan(value) ? value : std::max(largest, value);
    return largest;
  });
}

void instance_normalization(In<double> x, In<double> scale, In<double> bias, Out<double> y, float epsilon) {
  const int64_t planes = x.dim(0) * x.dim(1), size = planes == 0 ? 0 : x.size() / planes;
  for (int64_t p = 0; p < planes; ++p) {
    const std::span<const double> values = x.span().subspan(size_t(p * size), size_t(size));
    const double mean = mean_of(values);
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    const double factor = scale[p % x.dim(1)] / std::sqrt(squares / double(size) + double(epsilon));
    for (int64_t i = 0; i < size; ++i)
      y[p * size + i] = (values[size_t(i)] - mean) * factor + bias[p % x.dim(1)];
  }
}

}  // namespace
}  // namespace float64

GRAFT_OPS(m, "graft.float64") {
  m.def<float64::celu>("Celu", "alpha"_attr = 1.f);
  m.def<float64::elu>("Elu", "alpha"_attr = 1.f);
  m.def<float64::hard_sigmoid>("HardSigmoid", "alpha"_attr = 0.2f, "beta"_attr = 0.5f);
  m.def<float64::hard_swish>("HardSwish");
  m.def<float64::leaky_relu>("LeakyRelu", "alpha"_attr = 0.01f);
  m.def<float64::prelu>("PRelu", inputs("x", "slope"));
  m.def<float64::selu>("Selu", "alpha"_attr = 1.67326319217681884765625f,
                       "gamma"_attr = 1.05070102214813232421875f);
  m.def<float64::softplus>("Softplus");
  m.def<float64::softsign>("Softsign");
  m.def<float64::thresholded_relu>("ThresholdedRelu", "alpha"_attr = 1.f);
  m.def<float64::mish>("Mish");
  m.def<float64::erf>("Erf");
  m.def<float64::sigmoid>("Sigmoid");
  m.def<float64::round_to_float16>(graft::verify::round_to_float16);
  m.def<float64::round_to_bfloat16>(graft::verify::round_to_bfloat16);
  m.def<float64::tan>("Tan");
  m.def<float64::asin>("Asin");
  m.def<float64::acos>("Acos");
  m.def<float64::atan>("Atan");
  m.def<float64::sinh>("Sinh");
  m.def<float64::cosh>("Cosh");
  m.def<float64::asinh>("Asinh");
  m.def<float64::acosh>("Acosh");
  m.def<float64::atanh>("Atanh");
  m.def<float64::gelu>("Gelu", "approximate"_attr = "none", shape<same>);
  m.def<float64::clip>("Clip", inputs("x", "lower", "upper"),
                       "min"_attr = -std::numeric_limits<float>::infinity(),
                       "max"_attr = std::numeric_limits<float>::infinity(), shape<same>);
  m.def<float64::Conv>(
      "Conv", inputs("x", "w", "bias"), attribute("kernel_shape", &float64::Conv::kernel_shape),
      attribute("strides", &float64::Conv::strides), attribute("dilations", &float64::Conv::dilations),
      attribute("pads", &float64::Conv::pads), attribute("auto_pad", &float64::Conv::auto_pad),
      attribute("group", &float64::Conv::group));
  m.def<float64::ConvTranspose>("ConvTranspose", inputs("x", "w", "bias"),
                                attribute("kernel_shape", &float64::ConvTranspose::kernel_shape),
                                attribute("strides", &float64::ConvTranspose::strides),
                                attribute("dilations", &float64::ConvTranspose::dilations),
                                attribute("pads", &float64::ConvTranspose::pads),
                                attribute("output_padding", &float64::ConvTranspose::output_padding),
                                attribute("output_shape", &float64::ConvTranspose::output_shape),
                                attribute("auto_pad", &float64::ConvTranspose::auto_pad),
                                attribute("group", &float64::ConvTranspose::group));
  m.def<float64::AveragePool>("AveragePool", attribute("kernel_shape", &float64::AveragePool::kernel_shape),
                              attribute("strides", &float64::AveragePool::strides),
                              attribute("dilations", &float64::AveragePool::dilations),
                              attribute("pads", &float64::AveragePool::pads),
                              attribute("auto_pad", &float64::AveragePool::auto_pad),
                              attribute("ceil_mode", &float64::AveragePool::ceil_mode),
                              attribute("count_include_pad", &float64::AveragePool::count_include_pad));
  m.def<float64::global_average_pool>("GlobalAveragePool");
  m.def<float64::global_max_pool>("GlobalMaxPool");
  m.def<float64::instance_normalization>("InstanceNormalization", inputs("x", "scale", "bias"),
                                         "epsilon"_attr = 1e-5f, shape<same>);
}

namespace graft::verify {

OrtStatus* register_float64_operators(OrtSessionOptions* options, const OrtApiBase* base) {
  return RegisterCustomOps(options, base);
}

std::set<std::string> float64_operators() {
  std::set<std::string> names;
  for (const auto& op : detail::operators()) names.insert(op.name);
  return names;
}

}  // namespace graft::verify
