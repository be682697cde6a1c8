// More attributes than parameters.
// error: more attributes are named than the function has parameters
#include <graft/graft.h>
using namespace graft;

constexpr float half(float x) { return x / 2; }
GRAFT_OPS(m, "my.ops") { m.def<half>("Half", "a"_attr, "b"_attr = 1.f); }
