// A second file of the same library, with another domain in it.
#include <graft/graft.h>
using namespace graft;

struct Twice {
  constexpr auto operator()(auto x) const { return 2 * x; }
};

GRAFT_OPS(m) { m.def<Twice>("Twice"); }
GRAFT_OPS(m, "sdk.other") { m.def<Twice>("Twice"); }
