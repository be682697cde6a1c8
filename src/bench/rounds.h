#pragma once
/// Lets you time one model, or two against each other, on a machine that is not quiet. A round has four
/// turns, A B B A (of one model two, A A): whatever slows the machine down steadily slows both alike, and
/// what counts is the ratio within a round.
///
///   Rounds rounds = time_rounds(first, &second, {.seconds = 4});
///   Ratio speedup = ratio_of(rounds.ratios());
#include <array>
#include <vector>

#include "runtime/session.h"

namespace graft::bench {

struct RoundOptions {
  int warm_up = 3;  ///< runs of each model that no figure counts
  int rounds = 0;   ///< exactly so many; 0: as many as the seconds allow
  double seconds = 4;
  int threads =
      1;  ///< of the sessions: with several, each turn rests first, until the other session's threads sleep
};

/// Bounds the number of rounds that the seconds decide on.
constexpr int least_rounds = 10, most_rounds = 2000;

/// Holds milliseconds per run, two turns a round.
struct Rounds {
  std::vector<std::array<double, 2>> first;
  std::vector<std::array<double, 2>> second;  ///< empty when there is one model
  int runs_per_turn = 1;

  /// Gives the time of the first model over that of the second, one figure a round.
  std::vector<double> ratios() const;

  /// Gives the first model's earlier turn over its later one: what the machine makes of two equal things.
  std::vector<double> own_ratios() const;
};

/// Waits until the threads of a session that has just run sleep: ORT's spin for a while, and would slow
/// whoever shares their core.
void rest_between_sessions();

/// Gives all turns of a model.
std::vector<double> all_turns(const std::vector<std::array<double, 2>>& rounds);

Rounds time_rounds(runtime::PreparedRun& first, runtime::PreparedRun* second, const RoundOptions& options);

}  // namespace graft::bench
