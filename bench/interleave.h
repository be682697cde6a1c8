#pragma once
/// Lets you time several things fairly on a machine that is not quiet: each round runs all of them, forwards and then
/// backwards, and what counts is the ratio within a round. A turn runs one thing a few times, the first time untimed, so
/// that it finds the caches as it leaves them itself and not as its neighbours did. Before a turn comes a rest: the threads
/// of ORT sessions spin for a while after a run, and would slow whoever shares their core.
///
///   Interleaved rounds({{"chain", chain}, {"fused", fused}});
///   rounds.run(2.0);
///   rounds.print();
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace graft::bench {

/// Gives the q-quantile (0 to 1) of figures.
inline double quantile(std::vector<double> figures, double q) {
  std::sort(figures.begin(), figures.end());
  return figures[std::min(figures.size() - 1, size_t(q * double(figures.size() - 1) + 0.5))];
}

class Interleaved {
 public:
  using Entry = std::pair<std::string, std::function<void()>>;

  explicit Interleaved(std::vector<Entry> entries) : entries_(std::move(entries)), times_(entries_.size()) {}

  /// Runs rounds for this many seconds, at least ten.
  void run(double seconds) {
    std::vector<int> repeats;
    for (auto& [name, work] : entries_) {
      for (int i = 0; i < 3; ++i) work();
      repeats.push_back(int(std::clamp(500.0 / microseconds(work, 1), 2.0, 50.0)));
    }
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (int round = 0; round < 10 || Clock::now() < end; ++round) {
      for (size_t i = 0; i < entries_.size(); ++i) {
        const size_t k = round % 2 ? entries_.size() - 1 - i : i;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        entries_[k].second();
        times_[k].push_back(microseconds(entries_[k].second, repeats[k]));
      }
    }
  }

  const std::string& name(size_t i) const { return entries_[i].first; }
  double best(size_t i) const { return quantile(times_[i], 0); }
  double median(size_t i) const { return quantile(times_[i], 0.5); }

  /// Gives entry a's time over entry b's: of the best, and the quartiles of the rounds.
  struct Ratio {
    double best, lower, median, upper;
  };
  Ratio ratio(size_t a, size_t b) const {
    std::vector<double> rounds;
    for (size_t i = 0; i < times_[a].size(); ++i) rounds.push_back(times_[a][i] / times_[b][i]);
    return {best(a) / best(b), quantile(rounds, 0.25), quantile(rounds, 0.5), quantile(rounds, 0.75)};
  }

  /// Prints each entry's best and median, and how many times as fast as entry 0 it is.
  void print() const {
    for (size_t i = 0; i < entries_.size(); ++i) {
      const Ratio r = ratio(0, i);
      fmt::print("  {:<28} {:>10.1f} {:>10.1f} us   {:>6.2f}x best {:>6.2f}x median ({:.2f} to {:.2f})\n",
                 entries_[i].first, best(i), median(i), r.best, r.median, r.lower, r.upper);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Gives the time of one run, as the mean of a few.
  static double microseconds(const std::function<void()>& work, int repeats) {
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) work();
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / repeats;
  }

  std::vector<Entry> entries_;
  std::vector<std::vector<double>> times_;
};

}  // namespace graft::bench
