// Operators that `graft fuse` made of model.onnx: each computes in one pass over memory what several nodes did.
//
// Keep this file and edit it as you like. graft_add_library builds it, and `graft inject --library` puts its operators
// into a model again.
#include <graft/graft.h>
using namespace graft;

// HardSwish. Serves 12 places: hardswish_0.tmp_0, hardswish_1.tmp_0, hardswish_2.tmp_0 and others.
struct HardSwish {
  constexpr auto operator()(auto x) const { return x * clamp(x + 3, 0, 6) / 6; }
};

// Mul, Add, HardSwish. Serves 9 places: hardswish_14.tmp_0, hardswish_15.tmp_0 and others.
struct MulAddHardSwish {
  constexpr auto operator()(auto x, auto scale, auto bias) const {
    const auto biased = x * scale + bias;
    return biased * clamp(biased + 3, 0, 6) / 6;
  }
};

// Add, HardSwish, Mul, Mul, Add. Serves 10 places: batch_norm_9.tmp_2 and others.
struct AddHardSwishMulAdd {
  constexpr auto operator()(auto x, auto bias, auto scale, auto gain, auto shift) const {
    const auto biased = x + bias;
    return biased * clamp(biased + 3, 0, 6) / 6 * scale * gain + shift;
  }
};

// HardSigmoid, Mul. Serves 8 places: elementwise_mul_3 and others.
struct HardSigmoidMul {
  constexpr auto operator()(auto x, auto gate) const { return x * clamp(gate * 0.16666667 + 0.5, 0, 1); }
};

// Sub, Square, Add, Sqrt, Div, Mul. Serves 2 places: layer_norm_4.tmp_2 and others.
struct SubSquareSqrtDivMul {
  constexpr auto operator()(auto x, auto mean, auto scale) const {
    const auto difference = x - mean;
    return outputs{difference / sqrt(difference * difference + 1e-6) * scale, difference};
  }
};

// Gelu, Add. Serves 4 places: gelu_2.tmp_0 and others.
struct GeluAdd {
  constexpr auto operator()(auto x, auto residual) const { return gelu(x) + residual; }
};

// Where, Mul. Serves one place: scores.
struct WhereMul {
  constexpr auto operator()(auto x, auto condition) const { return where(condition, x, -INFINITY) * 0.125; }
};

// Mul, Add, Relu, Mul, Add, Relu, Mul, Add, Add. Serves 3 places: relu_7.tmp_0 and others.
struct MulAddReluMulAdd {
  constexpr auto operator()(auto x, auto scale1, auto bias1, auto scale2, auto bias2, auto scale3,
                            auto bias3, auto residual) const {
    return relu(relu(x * scale1 + bias1) * scale2 + bias2) * scale3 + bias3 + residual;
  }
};

GRAFT_OPS(m, "golden.ocr") {
  m.def<HardSwish>("HardSwish", types<float>);
  m.def<MulAddHardSwish>("MulAddHardSwish", inputs("x", "scale", "bias"), types<float>);
  m.def<AddHardSwishMulAdd>("AddHardSwishMulAdd", inputs("x", "bias", "scale", "gain", "shift"), types<float>);
  m.def<HardSigmoidMul>("HardSigmoidMul", inputs("x", "gate"), types<float>);
  m.def<SubSquareSqrtDivMul>("SubSquareSqrtDivMul", inputs("x", "mean", "scale"), types<float>);
  m.def<GeluAdd>("GeluAdd", inputs("x", "residual"), types<float>);
  m.def<WhereMul>("WhereMul", inputs("x", "condition"), overloads<float(float, bool)>);
  m.def<MulAddReluMulAdd>("MulAddReluMulAdd",
        inputs("x", "scale1", "bias1", "scale2", "bias2", "scale3", "bias3", "residual"), types<float>);
}
