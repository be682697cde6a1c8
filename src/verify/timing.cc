#include "verify/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace graft::verify {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Gives milliseconds per run over `repeats` runs.
double time_runs(runtime::PreparedRun& run, int repeats) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) run.once();
  return milliseconds_since(start) / repeats;
}

Timing timing_of(const std::vector<double>& runs) {
  const Spread spread = spread_of(runs);
  return {spread.least, spread.median, spread.lower_quartile, spread.upper_quartile};
}

}  // namespace

double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Spread spread_of(std::vector<double> figures) {
  if (figures.empty()) return {};
  std::sort(figures.begin(), figures.end());
  return {figures.front(), quantile(figures, 0.25), quantile(figures, 0.5), quantile(figures, 0.75),
          figures.back()};
}

PairTiming time_interleaved(runtime::Session& first, runtime::Session& second,
                            const std::vector<runtime::Tensor>& inputs, const TimingOptions& options) {
  runtime::PreparedRun a = first.prepare(inputs);
  runtime::PreparedRun b = second.prepare(inputs);
  double fastest = 1e9;
  for (int i = 0; i < std::max(options.warm_up, 1); ++i)
    fastest = std::min({fastest, time_runs(a, 1), time_runs(b, 1)});
  // A sample shorter than this would measure the clock and the scheduler.
  constexpr double shortest_sample_ms = 0.2;
  const int repeats =
      static_cast<int>(std::clamp(std::ceil(shortest_sample_ms / std::max(fastest, 1e-6)), 1.0, 1000.0));

  std::vector<double> runs_a, runs_b, ratios;
  const auto start = Clock::now();
  int rounds = 0;
  while (rounds < options.most_rounds &&
         (rounds < options.least_rounds || milliseconds_since(start) < options.budget_seconds * 1000)) {
    const double a1 = time_runs(a, repeats), b1 = time_runs(b, repeats);
    const double b2 = time_runs(b, repeats), a2 = time_runs(a, repeats);
    runs_a.insert(runs_a.end(), {a1, a2});
    runs_b.insert(runs_b.end(), {b1, b2});
    ratios.push_back((a1 + a2) / (b1 + b2));
    ++rounds;
  }
  PairTiming timing;
  timing.first = timing_of(runs_a);
  timing.second = timing_of(runs_b);
  timing.speedup = spread_of(ratios);
  timing.best_speedup = timing.second.best_ms > 0 ? timing.first.best_ms / timing.second.best_ms : 0;
  timing.rounds = rounds;
  return timing;
}

}  // namespace graft::verify
