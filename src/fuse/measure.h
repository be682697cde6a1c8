#pragma once
/// Lets the gain of every fused region be known from one pair of profiles.
///
///   std::vector<Gain> gains = profile_sites(runtime, analysis, candidate, libraries, inputs, 1);
#include <memory>
#include <vector>

#include "bench/rounds.h"
#include "bench/statistics.h"
#include "fuse/candidate.h"
#include "runtime/session.h"
#include "runtime/tensor.h"

namespace graft::fuse {

/// Holds what a site took as nodes of its own and what it takes as one. Subgraphs that did not run leave 0.
struct Gain {
  double before_ms = 0, after_ms = 0;        ///< of a run
  double bytes_before = 0, bytes_after = 0;  ///< read and written by its nodes
  bool ran = false;
};

struct MeasureOptions {
  std::vector<std::filesystem::path> libraries;  ///< all of them, the fused operators' too
  int threads = 1;
  runtime::Optimisation level = runtime::Optimisation::all;
  double seconds = 4;
};

/// Profiles the original and the candidate in turn, and adds up the nodes of each site of the candidate.
std::vector<Gain> profile_sites(const std::shared_ptr<runtime::Runtime>& runtime, const Analysis& analysis,
                                const Candidate& candidate, const std::vector<runtime::Tensor>& inputs,
                                const MeasureOptions& options);

struct WholeTimes {
  bench::Figures before_ms, after_ms;
  bench::Ratio speedup;
  size_t rounds = 0;
};

/// Times both models in turn.
WholeTimes time_whole(const std::shared_ptr<runtime::Runtime>& runtime, const std::filesystem::path& original,
                      const std::filesystem::path& candidate, const std::vector<runtime::Tensor>& inputs,
                      const MeasureOptions& options);

}  // namespace graft::fuse
