// What makes a schedule shorter before it runs.
#pragma once

#include "schedule.h"

namespace graft::fused {

/// Fills a schedule with a program's values: constants are computed, and operators written as others that
/// join better where the numbers stay the same (x - 3 as x + -3, relu as clamp), and composites take the
/// place of what they are made of (x * sigmoid(x) is silu).
void simplify(const Program& program, Schedule& schedule);
/// Puts one loop in the place of several operators, a * b + c; what is one value for a tile stays by itself.
void join(Schedule& schedule, uint64_t singles);

}  // namespace graft::fused
