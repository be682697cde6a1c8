// Mish: x * tanh(softplus(x)) (Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019).
#include <graft/graft.h>

struct Mish {
  constexpr auto operator()(auto x) const { return mish(x); }
};

GRAFT_OPS(m) { m.def<Mish>("Mish"); }
