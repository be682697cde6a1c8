// A functor needs a call operator.
// error: this functor cannot be called with scalars
#include <graft/graft.h>
using namespace graft;

struct Nothing {};
GRAFT_OPS(m, "my.ops") { m.def<Nothing>("Nothing"); }
