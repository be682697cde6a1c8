#include "bench/traffic.h"

#include "bench/statistics.h"

namespace graft::bench {
namespace {

void add(Traffic& traffic, const NodeUse& node, const CopyCurve& copy) {
  const std::optional<uint64_t> bytes = node.bytes();
  if (!bytes) {
    ++traffic.without_bytes;
    return;
  }
  traffic.bytes_in += *node.bytes_in;
  traffic.bytes_out += *node.bytes_out;
  traffic.milliseconds += node.milliseconds;
  traffic.copy_milliseconds += copy.milliseconds(*bytes);
}

}  // namespace

std::optional<double> Traffic::bytes_per_second() const {
  if (bytes() == 0 || milliseconds <= 0) return std::nullopt;
  return static_cast<double>(bytes()) / milliseconds * 1000;
}

std::optional<double> Traffic::share_of_copy() const {
  if (bytes() == 0 || milliseconds <= 0) return std::nullopt;
  return copy_milliseconds / milliseconds;
}

Traffic traffic_of(const Profile& profile, const OperatorUse& use, const CopyCurve& copy) {
  Traffic traffic;
  for (const size_t place : use.nodes) add(traffic, profile.nodes[place], copy);
  return traffic;
}

Traffic traffic_of_run(const Profile& profile, double run_milliseconds, const CopyCurve& copy) {
  Traffic traffic;
  for (const NodeUse& node : profile.nodes) add(traffic, node, copy);
  traffic.milliseconds = run_milliseconds;
  return traffic;
}

double milliseconds_of_nodes(const Profile& profile) {
  double sum = 0;
  for (const OperatorUse& use : profile.operators) sum += figures_of(use.milliseconds).median;
  return sum;
}

}  // namespace graft::bench
