// Defines one name twice: RegisterCustomOps must say so.
#include <graft/graft.h>
using namespace graft;

struct Twice {
  constexpr auto operator()(auto x) const { return 2 * x; }
};
struct Thrice {
  constexpr auto operator()(auto x) const { return 3 * x; }
};

GRAFT_OPS(m, "sdk.twice") {
  m.def<Twice>("Times");
  m.def<Thrice>("Times");
}
