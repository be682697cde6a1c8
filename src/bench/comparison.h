#pragma once
/// Lets you say which operator types two models differ in, and how much faster each became.
///
///   for (const OperatorPair& pair : compare_operators(original, faster)) fmt::print("{}\n", pair.op);
#include <string>
#include <vector>

#include "bench/profile.h"
#include "bench/statistics.h"

namespace graft::bench {

/// Sets one operator type of two models side by side; a model without it has 0 calls.
struct OperatorPair {
  std::string op;
  size_t first_calls = 0, second_calls = 0;
  double first_ms = 0, second_ms = 0;  ///< medians of a run
  bool same_work = false;              ///< as many calls on as many bytes in both
  std::optional<Ratio> speedup;  ///< first / second by runs of one round; only where both do the same work
};

struct OperatorComparison {
  std::vector<OperatorPair> pairs;  ///< the largest difference in time first

  /// Adds up the types that do not do the same work in both: what a rewrite took away and what it put in its
  /// place.
  OperatorPair changed;
};

/// Compares profiles whose runs were taken in turn.
OperatorComparison compare_operators(const Profile& first, const Profile& second);

}  // namespace graft::bench
