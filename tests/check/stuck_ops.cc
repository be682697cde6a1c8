// An operator that does not come back from some shapes, which `graft check` must end and name.
#include <graft/graft.h>
using namespace graft;

namespace {

void stuck(In<float> x, Out<float> y) {
  for (volatile int64_t i = 0; i < x.size();) {
    y[i] = x[i];
    if (i != 7) i = i + 1;  // never gets past the eighth
  }
}

}  // namespace

GRAFT_OPS(m) { m.def<stuck>("Stuck", shape<same>, definition(13, "y = Mul(x, 1)")); }
