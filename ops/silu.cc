// SiLU, also called swish: x * sigmoid(x).
#include <graft/graft.h>

struct Silu {
  constexpr auto operator()(auto x) const { return silu(x); }
};

GRAFT_OPS(m) { m.def<Silu>("Silu"); }
