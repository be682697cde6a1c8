#include "bench/comparison.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace graft::bench {
namespace {

const OperatorUse* find(const Profile& profile, const std::string& op) {
  const auto found = std::find_if(profile.operators.begin(), profile.operators.end(),
                                  [&](const OperatorUse& use) { return use.op == op; });
  return found == profile.operators.end() ? nullptr : &*found;
}

void add(std::vector<double>& sum, const OperatorUse* use) {
  if (!use) return;
  sum.resize(std::max(sum.size(), use->milliseconds.size()));
  for (size_t i = 0; i < use->milliseconds.size(); ++i) sum[i] += use->milliseconds[i];
}

/// Gives the ratio of times of the same round; nothing when one is 0.
std::optional<Ratio> ratio_by_round(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    if (first[i] <= 0 || second[i] <= 0) return std::nullopt;
    ratios.push_back(first[i] / second[i]);
  }
  if (ratios.empty()) return std::nullopt;
  return ratio_of(ratios);
}

bool same_work(const OperatorUse* first, const OperatorUse* second) {
  return first && second && first->nodes.size() == second->nodes.size() &&
         first->bytes_in == second->bytes_in && first->bytes_out == second->bytes_out &&
         first->without_bytes == second->without_bytes;
}

}  // namespace

OperatorComparison compare_operators(const Profile& first, const Profile& second) {
  std::set<std::string> names;
  for (const Profile* profile : {&first, &second}) {
    for (const OperatorUse& use : profile->operators) names.insert(use.op);
  }
  OperatorComparison comparison;
  comparison.changed.op = "changed";
  std::vector<double> first_changed, second_changed;
  for (const std::string& op : names) {
    const OperatorUse *one = find(first, op), *other = find(second, op);
    OperatorPair pair;
    pair.op = op;
    if (one) {
      pair.first_calls = one->nodes.size();
      pair.first_ms = figures_of(one->milliseconds).median;
    }
    if (other) {
      pair.second_calls = other->nodes.size();
      pair.second_ms = figures_of(other->milliseconds).median;
    }
    pair.same_work = same_work(one, other);
    if (pair.same_work) {
      pair.speedup = ratio_by_round(one->milliseconds, other->milliseconds);
    } else {
      comparison.changed.first_calls += pair.first_calls;
      comparison.changed.second_calls += pair.second_calls;
      add(first_changed, one);
      add(second_changed, other);
    }
    comparison.pairs.push_back(std::move(pair));
  }
  comparison.changed.first_ms = figures_of(first_changed).median;
  comparison.changed.second_ms = figures_of(second_changed).median;
  comparison.changed.speedup = ratio_by_round(first_changed, second_changed);
  std::stable_sort(comparison.pairs.begin(), comparison.pairs.end(),
                   [](const OperatorPair& one, const OperatorPair& other) {
                     return std::abs(one.first_ms - one.second_ms) >
                            std::abs(other.first_ms - other.second_ms);
                   });
  return comparison;
}

}  // namespace graft::bench
