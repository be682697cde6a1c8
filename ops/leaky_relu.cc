// LeakyRelu: x where x is positive, else alpha * x.
#include <graft/graft.h>
using namespace graft;

struct LeakyRelu {
  constexpr auto operator()(auto x, auto alpha) const { return where(x > 0, x, alpha * x); }
};

GRAFT_OPS(m) { m.def<LeakyRelu>("LeakyRelu", "alpha"_attr = 0.01f); }
