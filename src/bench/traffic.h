#pragma once
/// Lets you say how much memory operators move, and how near they come to a plain copy of as many bytes.
///
///   Traffic traffic = traffic_of(profile, profile.operators[0], copy);
///   if (auto share = traffic.share_of_copy()) fmt::print("{:.0f} % of the copy's speed\n", *share * 100);
#include <optional>

#include "bench/copy.h"
#include "bench/profile.h"

namespace graft::bench {

/// Adds up nodes of which ORT tells the tensors: those that they are given and those that they give, once
/// each.
struct Traffic {
  uint64_t bytes_in = 0, bytes_out = 0;
  size_t without_bytes = 0;      ///< nodes of which it does not; they are in no figure here
  double milliseconds = 0;       ///< what the others take
  double copy_milliseconds = 0;  ///< what copying took, node by node, if it moved as many bytes

  uint64_t bytes() const { return bytes_in + bytes_out; }

  /// Nothing where no bytes are moved or no time was seen.
  std::optional<double> bytes_per_second() const;

  /// Gives 1 where the nodes take as long as the copies would; more where caches help them, or where they
  /// leave parts of their inputs alone.
  std::optional<double> share_of_copy() const;
};

Traffic traffic_of(const Profile& profile, const OperatorUse& use, const CopyCurve& copy);

/// Adds up all nodes, in the time that a whole run takes.
Traffic traffic_of_run(const Profile& profile, double run_milliseconds, const CopyCurve& copy);

/// Gives the milliseconds of all nodes, in the median run of each type.
double milliseconds_of_nodes(const Profile& profile);

}  // namespace graft::bench
