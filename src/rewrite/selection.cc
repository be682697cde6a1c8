#include "rewrite/selection.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "error.h"

namespace graft::rewrite {

Selection::Selection(const InjectOptions& options) : plan_(options.plan) {
  for (const std::string& pattern : options.only) only_.emplace_back(pattern, false);
  for (const std::string& pattern : options.skip) skip_.emplace_back(pattern, false);
}

std::string Selection::find(std::vector<std::pair<std::string, bool>>& patterns, const std::string& scope,
                            std::string_view output, std::string_view node) {
  const std::string names[] = {std::string(output), std::string(node), fmt::format("{}:{}", scope, output)};
  std::string first;
  for (auto& [pattern, used] : patterns) {
    const bool named =
        std::any_of(std::begin(names), std::end(names), [&pattern = pattern](const auto& name) {
          return !name.empty() && (name == pattern || fnmatch(pattern.c_str(), name.c_str(), 0) == 0);
        });
    if (!named) continue;
    used = true;
    if (first.empty()) first = pattern;
  }
  return first;
}

std::string Selection::decline(const std::string& op, const std::string& scope, std::string_view output,
                               std::string_view node) {
  const bool chosen = !find(only_, scope, output, node).empty();
  if (!only_.empty() && !chosen) return "no --only names it";
  if (const std::string skipped = find(skip_, scope, output, node); !skipped.empty())
    return fmt::format("--skip {} names it", skipped);
  if (!plan_) return "";
  const bool planned = std::any_of(plan_->begin(), plan_->end(), [&](const PlannedPlace& place) {
    return place.op == op && place.scope == scope && place.output == output;
  });
  return planned ? "" : "the plan does not name it";
}

void Selection::refuse_unused(const Injection& injection) const {
  for (const auto* patterns : {&only_, &skip_}) {
    for (const auto& [pattern, used] : *patterns) {
      if (used) continue;
      std::vector<std::string> places;
      for (const Site& site : injection.sites) places.push_back(site.output);
      for (const NearMiss& miss : injection.misses) {
        if (miss.reason == Reason::declined) places.push_back(miss.output);
      }
      const size_t count = places.size();
      if (places.size() > 3) places.resize(3);
      throw InputError(fmt::format(
          "{} {}: no place of that name{}", patterns == &only_ ? "--only" : "--skip", pattern,
          count == 0 ? "; there is none at all"
                     : fmt::format("; there are {}, the first: {}", count, fmt::join(places, ", "))));
    }
  }
  if (!plan_) return;
  for (const PlannedPlace& place : *plan_) {
    const bool done = std::any_of(injection.sites.begin(), injection.sites.end(), [&](const Site& site) {
      return place.op == site.op && place.scope == site.scope && place.output == site.output;
    });
    if (done) continue;
    const auto refused =
        std::find_if(injection.misses.begin(), injection.misses.end(), [&](const auto& miss) {
          return place.op == miss.op && place.scope == miss.scope && place.output == miss.output;
        });
    throw InputError(fmt::format("the plan's place {} at `{}` in {} is not one: {}", place.op, place.output,
                                 place.scope,
                                 refused == injection.misses.end()
                                     ? "nothing that the operator defines is made there"
                                     : fmt::format("{}{}{}", code(refused->reason),
                                                   refused->detail.empty() ? "" : ", ", refused->detail)));
  }
}

}  // namespace graft::rewrite
