// Scalar parameters of a functor are auto.
// error: write `auto` for them
#include <graft/graft.h>
using namespace graft;

struct Twice {
  float operator()(float x) const { return 2 * x; }
};
GRAFT_OPS(m, "my.ops") { m.def<Twice>("Twice"); }
