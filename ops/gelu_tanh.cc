// GELU in its tanh form: 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
#include <graft/graft.h>

struct GeluTanh {
  constexpr auto operator()(auto x) const { return gelu_tanh(x); }
};

GRAFT_OPS(m) { m.def<GeluTanh>("GeluTanh"); }
