// Elementwise operators with inputs of several types, with other types out, and with several outputs.
#include <graft/graft.h>
using namespace graft;

struct Select {  // a bool input
  constexpr auto operator()(auto condition, auto x, auto y) const { return where(condition, x, y); }
};
struct IsClose {  // a comparison: bool out
  constexpr auto operator()(auto x, auto y, auto tolerance) const { return abs(x - y) <= tolerance; }
};
struct Quantize {  // numbers in, int8 out
  constexpr auto operator()(auto x, auto scale) const { return cast<int8_t>(clamp(x / scale, -128, 127)); }
};
struct SumAndDifference {  // several outputs
  constexpr auto operator()(auto x, auto y) const { return outputs{x + y, x - y}; }
};
struct Mixed {  // outputs of several types
  constexpr auto operator()(auto x) const { return outputs{abs(x), x < 0}; }
};
struct Saturate {  // integers
  constexpr auto operator()(auto x, auto limit) const { return clamp(x, -limit, limit); }
};
struct Affine {  // inputs of which some may be one value along a row
  constexpr auto operator()(auto x, auto scale, auto bias) const { return x * scale + bias; }
};
struct Blend {  // more of them
  constexpr auto operator()(auto x, auto a, auto y, auto b, auto shift) const { return x * a + y * b + shift; }
};
struct Divide {  // integers: what has no result elsewhere
  constexpr auto operator()(auto x, auto y) const { return outputs{x / y, mod(x, y), fmod(x, y)}; }
};
struct Signs {  // what keeps a NaN
  constexpr auto operator()(auto x) const { return outputs{sign(x), relu(x), reciprocal(x), isnan(x), isinf(x)}; }
};
struct Step {  // a choice between two literals
  constexpr auto operator()(auto x) const { return where(x > 0, 1.f, -1.f); }
};
struct Several {  // outputs of types of their own
  constexpr auto operator()(auto x, auto n) const { return outputs{x * cast<float>(n), n < 0, cast<bool>(x) != (n == 3)}; }
};
struct Given {  // a definition that is given is not traced
  constexpr auto operator()(auto x) const { return x + x; }
};

GRAFT_OPS(m, "sdk.elementwise") {
  m.def<Affine>("Affine", inputs("x", "scale", "bias"), types<float, double, float16>);
  m.def<Blend>("Blend", inputs("x", "a", "y", "b", "shift"), types<float, float16>);
  m.def<Divide>("Divide", inputs("x", "y"), outputs("quotient", "modulo", "rest"), types<int8_t, int32_t, int64_t, uint32_t>);
  m.def<Signs>("Signs", types<float, double>);
  m.def<Step>("Step", types<float>);
  m.def<Several>("Several", inputs("x", "n"), overloads<outputs<float, bool, bool>(float, int32_t)>);
  m.def<Given>("Given", types<float>, definition(13, "y = Mul(x, 2)"));
  m.def<Select>("Select", inputs("condition", "x", "y"), overloads<float(bool, float, float), int64_t(bool, int64_t, int64_t)>);
  m.def<IsClose>("IsClose", "tolerance"_attr = 0.5f);
  m.def<Quantize>("Quantize", "scale"_attr, types<float, float16>);
  m.def<SumAndDifference>("SumAndDifference", outputs("sum", "difference"));
  m.def<Mixed>("Mixed", outputs("magnitude", "negative"), types<float, float16>);
  m.def<Saturate>("Saturate", "limit"_attr = 100, types<int8_t, int32_t, int64_t, float>);
}
