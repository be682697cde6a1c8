// HardSigmoid: clip(alpha * x + beta, 0, 1), as ONNX's operator of that name.
#include <graft/graft.h>
using namespace graft;

struct HardSigmoid {
  constexpr auto operator()(auto x, auto alpha, auto beta) const { return clamp(alpha * x + beta, 0, 1); }
};

GRAFT_OPS(m) { m.def<HardSigmoid>("HardSigmoid", "alpha"_attr = 0.2f, "beta"_attr = 0.5f); }
