// Operators that `graft fuse` made of model.onnx: each computes in one pass over memory what several nodes did.
//
// Keep this file and edit it as you like. graft_add_library builds it, and `graft inject --library` puts its operators
// into a model again.
#include <graft/graft.h>
using namespace graft;

// Mod, Equal, Cast, Mul. Serves one place.
struct ModEqualMul {
  constexpr auto operator()(auto x, auto y) const { return outputs{mod(x, 2) == y, cast<float>(x) * 1e-5}; }
};

// Cast, Add, Cast. Serves one place.
struct Add {
  constexpr auto operator()(auto x, auto bias) const { return cast<float16>(cast<float>(x) + bias); }
};

// And, Not, Xor. Serves one place.
struct AndNotXor {
  constexpr auto operator()(auto condition, auto condition2) const { return !(condition && condition2) != condition2; }
};

// Where. Serves one place.
struct Where {
  constexpr auto operator()(auto condition) const { return where(condition, 1.0f, -0.0f); }
};

// Less, IsNaN, Not, And, Add, Where, Exp, Neg, Sub, Silu. Serves one place.
struct LessIsNaNNegSubSilu {
  constexpr auto operator()(auto x) const { return silu(-exp(where(x < INFINITY && !isnan(x), x - 3, -3)) + 3); }
};

// Sub, Clip, Div, Div. Serves one place.
struct SubClipDiv {
  constexpr auto operator()(auto x, auto offset) const { return x / clamp(x - offset, 3e9, 1e16) / offset; }
};

GRAFT_OPS(m, "golden.types") {
  m.def<ModEqualMul>("ModEqualMul", inputs("x", "y"), overloads<outputs<bool, float>(int64_t, int64_t)>);
  m.def<Add>("Add", inputs("x", "bias"), overloads<float16(float16, float)>);
  m.def<AndNotXor>("AndNotXor", inputs("condition", "condition2"), overloads<bool(bool, bool)>);
  m.def<Where>("Where", inputs("condition"), overloads<float(bool)>);
  m.def<LessIsNaNNegSubSilu>("LessIsNaNNegSubSilu", types<float>);
  m.def<SubClipDiv>("SubClipDiv", inputs("x", "offset"), types<double>);
}
