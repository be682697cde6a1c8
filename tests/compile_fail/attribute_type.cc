// An attribute is a number, a string, a list of numbers or a tensor.
// error: is not a type that an attribute can have
#include <graft/graft.h>
using namespace graft;

struct Options { int a; };
void f(In<float> x, Out<float> y, Options o) {}
GRAFT_OPS(m, "my.ops") { m.def<f>("F", "o"_attr, shape<same>); }
