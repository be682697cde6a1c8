#pragma once
/// Lets you say what a set of times tells, and how sure that is.
///
///   Figures figures = figures_of(milliseconds);             // median, p10, p90
///   Ratio speedup = ratio_of(ratios_of_the_rounds);         // median with its confidence interval
///   if (speedup.interval && !speedup.interval->contains(1)) fmt::print("a difference\n");
#include <cstddef>
#include <optional>
#include <vector>

namespace graft::bench {

/// Gives the middle of a set of figures and its tails; all 0 of an empty set.
struct Figures {
  double least = 0, p10 = 0, median = 0, p90 = 0, most = 0;
  size_t count = 0;

  /// Gives p90 / p10, 1 for figures that do not spread; 0 when p10 is 0.
  double spread() const { return p10 > 0 ? p90 / p10 : 0; }
};

Figures figures_of(std::vector<double> figures);

struct Interval {
  double lower = 0, upper = 0;
  double confidence = 0;  ///< what the interval really covers: at least what was asked for

  bool contains(double value) const { return lower <= value && value <= upper; }
};

/// Gives an exact confidence interval of the median, from two order statistics: the k-th smallest and the
/// k-th largest figure, where k is the largest for which a fair coin thrown n times shows fewer than k heads
/// in no more than half of 1 - confidence. It assumes independent figures of one distribution and nothing of
/// its form (the sign test turned round: Conover, Practical Nonparametric Statistics, 3rd edition,
/// section 3.2). Nothing for fewer than 6 figures at 0.95.
std::optional<Interval> median_interval(std::vector<double> figures, double confidence = 0.95);

/// Holds a median ratio and its interval of 95 %.
struct Ratio {
  double median = 0;
  std::optional<Interval> interval;

  /// Tells whether the ratio is surely not 1.
  bool tells() const { return interval && !interval->contains(1); }
};

Ratio ratio_of(const std::vector<double>& ratios);

}  // namespace graft::bench
