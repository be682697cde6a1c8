// HardSwish: x * clip(x + 3, 0, 6) / 6 (Howard et al., Searching for MobileNetV3, 2019).
#include <graft/graft.h>

struct HardSwish {
  constexpr auto operator()(auto x) const { return x * clamp(x + 3, 0, 6) / 6; }
};

GRAFT_OPS(m) { m.def<HardSwish>("HardSwish"); }
