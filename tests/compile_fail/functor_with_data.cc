// A traced functor is a pure formula.
// error: a generic functor has no data members
#include <graft/graft.h>
using namespace graft;

struct Scale {
  float factor = 2;
  constexpr auto operator()(auto x) const { return x * factor; }
};
GRAFT_OPS(m, "my.ops") { m.def<Scale>("Scale"); }
