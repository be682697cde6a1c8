// Softplus: log(1 + exp(x)).
#include <graft/graft.h>

struct Softplus {
  constexpr auto operator()(auto x) const { return softplus(x); }
};

GRAFT_OPS(m) { m.def<Softplus>("Softplus"); }
