// A branch on a comparison cannot be widened by the compiler.
// error: a branch in an elementwise functor is written where(condition, a, b)
#include <graft/graft.h>
using namespace graft;

struct Relu {
  constexpr auto operator()(auto x) const {
    if (x > 0) return x;
    return 0 * x;
  }
};
GRAFT_OPS(m, "my.ops") { m.def<Relu>("Relu"); }
