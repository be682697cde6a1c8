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

GRAFT_OPS(m, "sdk.elementwise") {
  m.def<Select>("Select", inputs("condition", "x", "y"), overloads<float(bool, float, float), int64_t(bool, int64_t, int64_t)>);
  m.def<IsClose>("IsClose", "tolerance"_attr = 0.5f);
  m.def<Quantize>("Quantize", "scale"_attr, types<float, float16>);
  m.def<SumAndDifference>("SumAndDifference", outputs("sum", "difference"));
  m.def<Mixed>("Mixed", outputs("magnitude", "negative"), types<float, float16>);
  m.def<Saturate>("Saturate", "limit"_attr = 100, types<int8_t, int32_t, int64_t, float>);
}
