#pragma once
/// Lets you measure one model, or two against each other, and know how far the figures can be trusted.
///
///   Measurement found = measure(runtime, {.model = "model.onnx", .other = "faster.onnx"}, say);
///   for (const std::string& warning : found.warnings) fmt::print("{}\n", warning);
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/comparison.h"
#include "bench/copy.h"
#include "bench/profile.h"
#include "bench/rounds.h"
#include "bench/statistics.h"
#include "verify/judgement.h"

namespace graft::bench {

struct Request {
  std::filesystem::path model;
  std::filesystem::path other;  ///< empty: one model alone
  std::vector<std::filesystem::path> libraries;
  std::vector<std::string> providers;  ///< in order of preference; none: the CPU
  verify::InputPlan plan;
  int threads = 1;
  int rounds = 0;  ///< 0: as many as the seconds allow
  double seconds = 4;
  bool verify = true;  ///< compare the outputs of two models
};

struct ModelMeasurement {
  std::string file;
  Figures milliseconds;  ///< of a run, over all turns
  Profile profile;
  std::vector<size_t>
      fallbacks;  ///< places in the profile's nodes: what ran on a provider that nobody asked for
};

struct PairMeasurement {
  Ratio speedup;   ///< time of the model over time of the other
  Figures ratios;  ///< one figure a round
  Ratio own;       ///< the model against itself: its earlier over its later turn in each round
  OperatorComparison operators;
  std::optional<verify::Judgement> judgement;
};

struct Measurement {
  verify::InputPlan plan;  ///< settled
  CopyCurve copy;
  std::vector<ModelMeasurement> models;  ///< one or two
  std::optional<PairMeasurement> pair;
  Rounds rounds;
  std::vector<std::string> warnings;
};

/// Measures; `say` is told what is going on. Errors are those of Session, settle and judge.
Measurement measure(std::shared_ptr<runtime::Runtime> runtime, const Request& request,
                    const std::function<void(const std::string&)>& say);

/// Says what makes the figures of these rounds doubtful, one sentence each: times that spread widely, a model
/// that differs from itself, two halves that disagree, too few rounds.
std::vector<std::string> doubts(const Rounds& rounds);

}  // namespace graft::bench
