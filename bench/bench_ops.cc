// The functions of graft/math.h as operators, for bench/kernels.cc.
#include <graft/graft.h>
using namespace graft;

#define BENCH_OP(Name, function) \
  struct Name {                  \
    constexpr auto operator()(auto x) const { return function; } \
  };
BENCH_OP(Exp, exp(x))
BENCH_OP(Sigmoid, sigmoid(x))
BENCH_OP(Silu, silu(x))
BENCH_OP(Tanh, tanh(x))
BENCH_OP(Erf, erf(x))
BENCH_OP(Gelu, gelu(x))
BENCH_OP(GeluTanh, gelu_tanh(x))
BENCH_OP(Softplus, softplus(x))
BENCH_OP(Mish, mish(x))
BENCH_OP(Log, log(x))
BENCH_OP(Sin, sin(x))
BENCH_OP(Sqrt, sqrt(x))
BENCH_OP(HardSwish, x* clamp(x + 3, 0, 6) / 6)
BENCH_OP(AddOne, x + 1)

// The regions of bench/fused.cc, as a compiler sees them.
struct ScaleBiasSwish {
  constexpr auto operator()(auto x, auto scale, auto bias) const {
    const auto t = x * scale + bias;
    return t * clamp(t + 3, 0, 6) / 6;
  }
};
struct AddClipMul {
  constexpr auto operator()(auto x, auto y) const { return clamp(x + y, 0, 6) * 0.5; }
};
struct Gate {
  constexpr auto operator()(auto x, auto y) const { return x * sigmoid(y); }
};
struct HardGate {
  constexpr auto operator()(auto x, auto y) const { return x * clamp(y * 0.2 + 0.5, 0, 1); }
};
struct GeluChain {
  constexpr auto operator()(auto x) const { return x * (erf(x / 1.4142135) + 1) * 0.5; }
};
struct ScaleBias {
  constexpr auto operator()(auto x, auto scale, auto bias) const { return x * scale + bias; }
};
struct Eight {
  constexpr auto operator()(auto x, auto y) const {
    const auto t = x * 0.9 + 0.1;
    return max(t * clamp(t + 3, 0, 6) / 6 + y, 0);
  }
};
struct EightOthers {
  constexpr auto operator()(auto x, auto y) const {
    const auto d = y - sqrt(abs(x) + 1) * 0.5;
    return d * d / 2 + exp(y);
  }
};

GRAFT_OPS(m, "bench") {
  m.def<AddOne>("AddOne", types<float>);
  m.def<ScaleBiasSwish>("ScaleBiasSwish", types<float>);
  m.def<AddClipMul>("AddClipMul", types<float>);
  m.def<Gate>("Gate", types<float>);
  m.def<HardGate>("HardGate", types<float>);
  m.def<GeluChain>("GeluChain", types<float>);
  m.def<ScaleBias>("ScaleBias", types<float>);
  m.def<Eight>("Eight", types<float>);
  m.def<EightOthers>("EightOthers", types<float>);
  m.def<Exp>("Exp", types<float>);
  m.def<Sigmoid>("Sigmoid", types<float>);
  m.def<Silu>("Silu", types<float>);
  m.def<Tanh>("Tanh", types<float>);
  m.def<Erf>("Erf", types<float>);
  m.def<Gelu>("Gelu", types<float>);
  m.def<GeluTanh>("GeluTanh", types<float>);
  m.def<Softplus>("Softplus", types<float>);
  m.def<Mish>("Mish", types<float>);
  m.def<Log>("Log", types<float>);
  m.def<Sin>("Sin", types<float>);
  m.def<Sqrt>("Sqrt", types<float>);
  m.def<HardSwish>("HardSwish", types<float, float16, bfloat16>);
}
