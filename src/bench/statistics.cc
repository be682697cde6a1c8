#include "bench/statistics.h"

#include <algorithm>
#include <cmath>

#include "verify/timing.h"

namespace graft::bench {
namespace {

/// Gives the chance that a fair coin thrown `throws` times shows exactly `heads` heads.
double chance_of_heads(size_t heads, size_t throws) {
  const auto n = static_cast<double>(throws), k = static_cast<double>(heads);
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0));
}

}  // namespace

Figures figures_of(std::vector<double> figures) {
  if (figures.empty()) return {};
  std::sort(figures.begin(), figures.end());
  return {figures.front(),
          verify::quantile(figures, 0.1),
          verify::quantile(figures, 0.5),
          verify::quantile(figures, 0.9),
          figures.back(),
          figures.size()};
}

std::optional<Interval> median_interval(std::vector<double> figures, double confidence) {
  std::sort(figures.begin(), figures.end());
  const size_t n = figures.size();
  double tail = 0;  // the chance of fewer than k heads
  size_t k = 0;
  while (k < n / 2) {
    const double more = tail + chance_of_heads(k, n);
    if (more > (1 - confidence) / 2) break;
    tail = more;
    ++k;
  }
  if (k == 0) return std::nullopt;
  return Interval{figures[k - 1], figures[n - k], 1 - 2 * tail};
}

Ratio ratio_of(const std::vector<double>& ratios) {
  return {figures_of(ratios).median, median_interval(ratios)};
}

}  // namespace graft::bench
