#pragma once
/// Lets you ask whether a changed model still computes the same, with ORT's own rounding as the measure
/// beside it.
///
///   Judgement judgement = judge(runtime, "model.onnx", "injected.onnx", {.libraries = {"libgraft_ops.so"}});
///   if (!judgement.passed()) fmt::print("{}\n", judgement.reason);
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/session.h"
#include "verify/compare.h"
#include "verify/inputs.h"

namespace graft::verify {

struct JudgeOptions {
  std::vector<std::filesystem::path> libraries = {};
  InputPlan plan = {};
  int seeds = 3;  ///< sets of generated inputs: seed, seed + 1, ...; one when all inputs are given
  int threads = 1;
  std::optional<Tolerance> tolerance = {};  ///< else default_tolerance of each output's type
};

/// Holds the differences of the candidate, and of ORT with itself, over all sets of inputs.
struct Judgement {
  Comparison optimised;   ///< candidate against reference, both at full optimisation
  Comparison plain;       ///< both without optimisation
  Comparison ort_itself;  ///< reference: full against no optimisation
  InputPlan plan;         ///< settled: the shapes that were used
  std::string reason;     ///< why it failed, one line; empty when it passed
  bool passed() const { return reason.empty(); }
};

/// Compares the models on generated and given inputs. It fails when an output differs in shape or type, or
/// when a difference is out of tolerance and larger than ORT's own between no and full optimisation of the
/// reference. InputError when a model does not load or the two differ in inputs or outputs.
Judgement judge(std::shared_ptr<runtime::Runtime> runtime, const std::filesystem::path& reference,
                const std::filesystem::path& candidate, const JudgeOptions& options = {});

}  // namespace graft::verify
