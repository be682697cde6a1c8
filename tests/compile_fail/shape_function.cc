// A shape function gives a Shape.
// error: a shape function returns a graft::Shape
#include <graft/graft.h>
using namespace graft;

int64_t length(const Shape& x) { return 1; }
void f(In<float> x, Out<float> y) {}
GRAFT_OPS(m, "my.ops") { m.def<f>("F", shape<length>); }
