#include "bench/rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace graft::bench {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double time_once(runtime::PreparedRun& run) {
  const auto start = Clock::now();
  run.once();
  return milliseconds_since(start);
}

/// Times turns of one length.
struct Turns {
  int runs = 1;
  bool settle =
      false;  ///< one run that does not count, so that the caches are as the model leaves them itself
  bool rest = false;

  double take(runtime::PreparedRun& run) const {
    if (rest) rest_between_sessions();
    if (settle || rest) run.once();
    const auto start = Clock::now();
    for (int i = 0; i < runs; ++i) run.once();
    return milliseconds_since(start) / runs;
  }
};

}  // namespace

void rest_between_sessions() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

std::vector<double> all_turns(const std::vector<std::array<double, 2>>& rounds) {
  std::vector<double> turns;
  for (const auto& round : rounds) turns.insert(turns.end(), round.begin(), round.end());
  return turns;
}

std::vector<double> Rounds::ratios() const {
  std::vector<double> ratios;
  for (size_t i = 0; i < second.size(); ++i)
    ratios.push_back((first[i][0] + first[i][1]) / (second[i][0] + second[i][1]));
  return ratios;
}

std::vector<double> Rounds::own_ratios() const {
  std::vector<double> ratios;
  for (const auto& [earlier, later] : first) ratios.push_back(earlier / later);
  return ratios;
}

Rounds time_rounds(runtime::PreparedRun& first, runtime::PreparedRun* second, const RoundOptions& options) {
  Rounds rounds;
  double fastest = time_once(first);
  for (int i = 0; i < options.warm_up; ++i) {
    fastest = std::min(fastest, time_once(first));
    if (second) fastest = std::min(fastest, time_once(*second));
  }
  // A shorter turn would measure the clock and the scheduler; a model that runs longer than the caches
  // remember settles nothing.
  constexpr double shortest_turn_ms = 1, longest_settled_ms = 5;
  Turns turns;
  turns.runs =
      static_cast<int>(std::clamp(std::ceil(shortest_turn_ms / std::max(fastest, 1e-4)), 1.0, 10000.0));
  turns.settle = second != nullptr && fastest < longest_settled_ms;
  turns.rest = second != nullptr && options.threads > 1;
  rounds.runs_per_turn = turns.runs;

  const auto start = Clock::now();
  const auto wanted = [&](int done) {
    if (options.rounds > 0) return done < options.rounds;
    return done < least_rounds || (done < most_rounds && milliseconds_since(start) < options.seconds * 1000);
  };
  for (int done = 0; wanted(done); ++done) {
    std::array<double, 2> a{}, b{};
    a[0] = turns.take(first);
    if (second) {
      b[0] = turns.take(*second);
      b[1] = turns.take(*second);
    }
    a[1] = turns.take(first);
    rounds.first.push_back(a);
    if (second) rounds.second.push_back(b);
  }
  return rounds;
}

}  // namespace graft::bench
