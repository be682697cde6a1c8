// ONNX keeps a float attribute as float32; 0.1 is not one.
// error: give_the_default_as_a_float_such_as_0_1f
#include <graft/graft.h>
using namespace graft;

struct Scale {
  constexpr auto operator()(auto x, auto factor) const { return x * factor; }
};
GRAFT_OPS(m, "my.ops") { m.def<Scale>("Scale", "factor"_attr = 0.1); }
