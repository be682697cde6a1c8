// ORT knows the types of outputs before it runs the node.
// error: ORT cannot infer the types of outputs that differ: declare each one
#include <graft/graft.h>
using namespace graft;

void split(In<float> x, VariadicOut<Any> parts) {}
GRAFT_OPS(m, "my.ops") { m.def<split>("Split"); }
