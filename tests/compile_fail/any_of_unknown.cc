// AnyOf lists elements of tensors.
// error: is no element of a tensor
#include <graft/graft.h>
using namespace graft;

struct Point { float x, y; };
void norms(Variadic<AnyOf<float, Point>> xs, Out<float> y) {}
GRAFT_OPS(m, "my.ops") { m.def<norms>("Norms"); }
