// What a visitor returns cannot depend on the tensor's type.
// error: a visitor returns the same type for every element type
#include <graft/graft.h>
using namespace graft;

void firsts(Variadic<AnyOf<float, int64_t>> xs, Out<double> y) {
  y.allocate({1})[0] = double(xs.visit(0, [](auto x) { return x[0]; }));
}
GRAFT_OPS(m, "my.ops") { m.def<firsts>("Firsts"); }
