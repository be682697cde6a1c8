#pragma once
/// Lets you time two sessions fairly on a machine that is not quiet: interleaved, A B B A, until the budget
/// is spent.
///
///   PairTiming timing = time_interleaved(original, injected, inputs);
///   fmt::print("{:.2f} ms -> {:.2f} ms, {:.2f}x\n", timing.first.median_ms, timing.second.median_ms,
///   timing.speedup.median);
#include <vector>

#include "runtime/session.h"

namespace graft::verify {

struct TimingOptions {
  int warm_up = 3;        ///< runs of each session before the clock counts
  int least_rounds = 10;  ///< rounds even when the budget is spent; a round is A B B A
  int most_rounds = 500;
  double budget_seconds = 4;
};

/// Gives the quartiles and the ends of a set of figures.
struct Spread {
  double least = 0, lower_quartile = 0, median = 0, upper_quartile = 0, most = 0;
};

Spread spread_of(std::vector<double> figures);

/// Interpolates between figures that are sorted, and not none: 0 gives the first, 1 the last.
double quantile(const std::vector<double>& sorted, double part);

/// Gives milliseconds per run.
struct Timing {
  double best_ms = 0, median_ms = 0, lower_quartile_ms = 0, upper_quartile_ms = 0;
};

struct PairTiming {
  Timing first;
  Timing second;
  Spread speedup;           ///< first / second, one figure per round
  double best_speedup = 0;  ///< best of first / best of second
  int rounds = 0;
};

/// Times both sessions on the same inputs.
PairTiming time_interleaved(runtime::Session& first, runtime::Session& second,
                            const std::vector<runtime::Tensor>& inputs, const TimingOptions& options = {});

}  // namespace graft::verify
