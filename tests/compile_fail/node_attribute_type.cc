// What a node says by name has the types of attributes.
// error: node.attribute<T>(name): an attribute is a float
#include <graft/graft.h>
using namespace graft;

struct Options { int a; };
void f(In<float> x, Out<float> y, Node node) { node.attribute<Options>("options"); }
GRAFT_OPS(m, "my.ops") { m.def<f>("F", shape<same>); }
