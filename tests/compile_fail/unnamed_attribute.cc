// C++ has no parameter names, so an attribute needs one.
// error: a parameter after the outputs is not named
#include <graft/graft.h>
using namespace graft;

void roll(In<float> x, Out<float> y, int64_t shift) {}
GRAFT_OPS(m, "my.ops") { m.def<roll>("Roll", shape<same>); }
