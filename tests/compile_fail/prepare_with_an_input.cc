// prepare runs before there are inputs.
// error: prepare takes constant inputs, Const<In<T>>, and a Node
#include <graft/graft.h>
using namespace graft;

struct Scaled {
  float factor = 1;
  void prepare(In<float> w) { factor = w[0]; }
  void operator()(In<float> x, In<float> w, Out<float> y) const {}
};
GRAFT_OPS(m, "my.ops") { m.def<Scaled>("Scaled", shape<same>); }
