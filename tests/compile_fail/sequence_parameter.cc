// ORT cannot type sequences of custom operators.
// error: a parameter is neither a tensor
#include <graft/graft.h>
using namespace graft;

void concat(std::vector<In<float>> xs, Out<float> y) {}
GRAFT_OPS(m, "my.ops") { m.def<concat>("Concat"); }
