// Every operator lies in a domain.
// error: name_the_domain_as_in_GRAFT_OPS_m_my_ops
#include <graft/graft.h>
using namespace graft;

struct Twice {
  constexpr auto operator()(auto x) const { return 2 * x; }
};
GRAFT_OPS(m) { m.def<Twice>("Twice"); }
