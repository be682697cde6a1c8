// More attributes than a functor has parameters for.
// error: the functor needs a parameter for each attribute, after at least one input
#include <graft/graft.h>
using namespace graft;

struct Half {
  constexpr auto operator()(auto x) const { return x / 2; }
};
GRAFT_OPS(m, "my.ops") { m.def<Half>("Half", "a"_attr, "b"_attr = 1.f); }
