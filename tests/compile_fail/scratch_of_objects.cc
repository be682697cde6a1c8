// Scratch memory is not constructed.
// error: Scratch holds plain numbers
#include <graft/graft.h>
using namespace graft;

void f(In<float> x, Out<float> y, Scratch<std::string> s) {}
GRAFT_OPS(m, "my.ops") { m.def<f>("F", shape<same>); }
