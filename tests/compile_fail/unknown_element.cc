// A tensor holds numbers, bool or strings.
// error: is no element of a tensor
#include <graft/graft.h>
using namespace graft;

struct Point { float x, y; };
void norm(In<Point> p, Out<float> y) {}
GRAFT_OPS(m, "my.ops") { m.def<norm>("Norm"); }
