// What makes a schedule shorter before it runs.
#pragma once

#include "schedule.h"

namespace graft::fused {

/// Fills a schedule with a program's values: constants are computed, and operators written as others that join better where
/// the numbers stay the same (x - 3 as x + -3, relu as clamp).
void simplify(const Program& program, Schedule& schedule);
/// Puts one step in the place of several: x * sigmoid(x) becomes silu, a * b + c one loop.
void join(Schedule& schedule);

}  // namespace graft::fused
