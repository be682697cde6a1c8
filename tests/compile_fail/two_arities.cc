// One name has one schema.
// error: the functions of one operator must have the same number of parameters
#include <graft/graft.h>
using namespace graft;

constexpr float one(float x) { return x; }
constexpr float two(float x, float y) { return x + y; }
GRAFT_OPS(m, "my.ops") { m.def<one, two>("Sum"); }
