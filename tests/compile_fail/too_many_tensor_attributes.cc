// More attributes than a function of tensors has parameters.
// error: more attributes are named than the function has parameters
#include <graft/graft.h>
using namespace graft;

void copy(In<float> x, Out<float> y);
GRAFT_OPS(m, "my.ops") { m.def<copy>("Copy", "a"_attr, "b"_attr, "c"_attr, "d"_attr = 1.f); }
