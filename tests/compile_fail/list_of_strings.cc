// ORT gives kernels no lists of strings.
// error: ORT gives a kernel no list of strings
#include <graft/graft.h>
using namespace graft;

void f(In<float> x, Out<float> y, std::vector<std::string> names) {}
GRAFT_OPS(m, "my.ops") { m.def<f>("F", "names"_attr, shape<same>); }
