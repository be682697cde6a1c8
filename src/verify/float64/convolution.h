#pragma once
/// ONNX's Conv over one or two dimensions in float64: a product of matrices, the weights and the patches that
/// the windows see, made a few output pixels at a time.
#include <graft/graft.h>

#include <optional>
#include <string>
#include <vector>

namespace float64 {

struct Conv {
  std::vector<int64_t> kernel_shape, strides, dilations, pads;
  std::string auto_pad = "NOTSET";
  int64_t group = 1;

  void operator()(graft::In<double> x, graft::In<double> w, std::optional<graft::In<double>> bias,
                  graft::Out<double> y, graft::Pool pool) const;
};

}  // namespace float64
