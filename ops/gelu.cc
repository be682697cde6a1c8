// GELU: x times the normal distribution function of x (Hendrycks and Gimpel, Gaussian Error Linear Units, 2016).
#include <graft/graft.h>

struct Gelu {
  constexpr auto operator()(auto x) const { return gelu(x); }
};

GRAFT_OPS(m) { m.def<Gelu>("Gelu"); }
