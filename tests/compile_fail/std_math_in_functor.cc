// Standard math is a scalar call; graft's is widened.
// error: no matching function for call to
#include <graft/graft.h>
using namespace graft;

struct Swish {
  constexpr auto operator()(auto x) const { return x / (1 + std::exp(-x)); }
};
GRAFT_OPS(m, "my.ops") { m.def<Swish>("Swish"); }
