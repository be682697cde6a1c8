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

GRAFT_OPS(m, "bench") {
  m.def<AddOne>("AddOne", types<float>);
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
