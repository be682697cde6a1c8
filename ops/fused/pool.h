// The names of the operators that run programs.
#pragma once

#include <array>
#include <string>

#include "program.h"

namespace graft::fused {

/// Says how many names there are for each type of the outputs, in the order of kTypeNames. Each one costs a session 16 us.
inline constexpr std::array<int, kTypeNames.size()> kPoolSizes = {48, 8, 16, 4, 4, 4, 4};

/// Gives a name: Fused_f32_0.
inline std::string pool_name(Type type, int number) {
  return "Fused_" + std::string(kTypeNames[size_t(type)]) + "_" + std::to_string(number);
}

}  // namespace graft::fused
