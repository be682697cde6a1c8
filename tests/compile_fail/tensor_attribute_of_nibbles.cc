// Two 4-bit integers share a byte.
// error: two 4-bit integers share a byte: take TensorOf<int8_t>
#include <graft/graft.h>
using namespace graft;

void f(In<float> x, Out<float> y, const TensorOf<int4>& table) {}
GRAFT_OPS(m, "my.ops") { m.def<f>("F", "table"_attr, shape<same>); }
