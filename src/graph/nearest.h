#pragma once
/// Lets an error ask "did you mean": finds the name that is nearest to one that is nearly right.
///
///   nearest("gate", {"Gate", "Scale"});  // "Gate"
#include <string>
#include <vector>

namespace graft::graph {

/// Gives the number of letters to change, add, drop or swap with the next to make one word of another.
size_t distance(const std::string& one, const std::string& other);

/// Gives the nearest of some names: equal but for case, `_` and `-`, or with few letters changed (one in
/// three at most). Empty when none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& names);

}  // namespace graft::graph
