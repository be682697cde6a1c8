#pragma once
/// Lets you ask whether a changed model still computes the same, with ORT's own rounding as the measure
/// beside it.
///
///   Judgement judgement = judge(runtime, "model.onnx", "injected.onnx", {.libraries = {"libgraft_ops.so"}});
///   if (!judgement.passed()) fmt::print("{}\n", judgement.reason);
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/session.h"
#include "verify/compare.h"
#include "verify/inputs.h"

namespace graft::verify {

struct JudgeOptions {
  std::vector<std::filesystem::path> libraries = {};  ///< registered for both models
  InputPlan plan = {};
  int seeds = 3;                                          ///< sets of normal inputs, from plan.seed on
  std::vector<Distribution> also = {Distribution::wide};  ///< one more set of each
  int threads = 1;
  std::optional<Tolerance> tolerance = {};  ///< for floating outputs; else default_tolerance of each type
};

/// Holds the differences of the candidate from the reference, and of ORT from itself.
struct Levels {
  Comparison optimised;   ///< candidate against reference, both at full optimisation
  Comparison plain;       ///< both without optimisation
  Comparison ort_itself;  ///< the reference at full optimisation against itself without
};

/// Holds what one set of inputs of another distribution gave; inputs that no model was made for amplify
/// rounding.
struct OtherInputs : Levels {
  Distribution distribution = Distribution::wide;
};

/// Holds the differences over all sets of normal or given inputs, and those of other inputs one by one.
struct Judgement : Levels {
  std::vector<OtherInputs> others;
  InputPlan plan;      ///< settled: the shapes that were used
  int sets = 0;        ///< of inputs that both models were run on
  std::string reason;  ///< why it failed, one line that names output and place; empty when it passed

  bool passed() const { return reason.empty(); }
};

/// Compares the models on generated and given inputs. It fails when an output differs in shape or type, or
/// when a difference is out of tolerance and beyond ORT's own between no and full optimisation of the
/// reference on the same inputs. InputError when a model does not load or run, or the two differ in inputs or
/// outputs.
Judgement judge(std::shared_ptr<runtime::Runtime> runtime, const std::filesystem::path& reference,
                const std::filesystem::path& candidate, const JudgeOptions& options = {});

}  // namespace graft::verify
