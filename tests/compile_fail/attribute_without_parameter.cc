// Each attribute is a parameter after at least one input.
// error: the functor needs a parameter for each attribute
#include <graft/graft.h>
using namespace graft;

struct Twice {
  constexpr auto operator()(auto x) const { return 2 * x; }
};
GRAFT_OPS(m, "my.ops") { m.def<Twice>("Twice", "factor"_attr = 2.f); }
