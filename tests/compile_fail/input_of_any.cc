// Only the tail of the inputs may be of any type.
// error: only a Variadic takes Any
#include <graft/graft.h>
using namespace graft;

void size_of(In<Any> x, Out<int64_t> y) {}
GRAFT_OPS(m, "my.ops") { m.def<size_of>("Size"); }
