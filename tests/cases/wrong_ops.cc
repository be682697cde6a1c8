// A kernel that is not what its definition says: verification has to find it.
#include <graft/graft.h>
using namespace graft;

constexpr float nearly_hard_swish(float x) { return x * graft::min(graft::max(x + 3.f, 0.f), 6.001f) / 6.f; }

GRAFT_OPS(m) {
  m.def<nearly_hard_swish>("HardSwish", inputs("x"),
                           definition(11, "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)"));
}
