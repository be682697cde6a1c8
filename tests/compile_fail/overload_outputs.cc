// Two outputs are returned, one is listed.
// error: an overload must list as many outputs as the functor returns
#include <graft/graft.h>
using namespace graft;

struct Split {
  constexpr auto operator()(auto x) const { return outputs{x, x < 0}; }
};
GRAFT_OPS(m, "my.ops") { m.def<Split>("Split", overloads<float(float)>); }
