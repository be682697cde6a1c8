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
  int seeds = 3;  ///< sets of normal inputs, from plan.seed on
  std::vector<Distribution> also = {Distribution::wide, Distribution::strokes};  ///< one more set of each
  std::vector<int64_t> batches =
      {};  ///< sizes of open first dimensions to run on too, where the reference takes them
  int threads = 1;
  std::optional<Tolerance> tolerance = {};  ///< given: it alone decides on floating outputs
  bool float64 = true;                      ///< evaluate the reference in float64
  double float64_seconds =
      20;  ///< once they are spent, sets of inputs go without; a suspicion has them again
};

/// Holds the differences of the candidate from the reference, and of ORT from itself.
struct Levels {
  Comparison optimised;        ///< candidate against reference, both at full optimisation
  Comparison plain;            ///< both without optimisation
  Comparison ort_itself;       ///< the reference at full optimisation against itself without
  Comparison reference_error;  ///< the reference, at both levels, against its float64 evaluation; empty
                               ///< without one. Of values of 16 bits also as the standard computes them,
                               ///< since ORT does not round them at each node
  Comparison candidate_error;  ///< the candidate, at both levels, against the same

  /// Keeps the larger differences of both.
  void merge(const Levels& other);
};

/// Holds what one set of inputs of another distribution gave; inputs that no model was made for amplify
/// rounding.
struct OtherInputs : Levels {
  Distribution distribution = Distribution::wide;
};

/// Holds the differences over all sets of normal or given inputs, and those of other inputs one by one.
struct Judgement : Levels {
  std::vector<OtherInputs> others;
  InputPlan plan;                ///< settled: the shapes that were used
  int sets = 0;                  ///< of inputs that both models were run on
  std::vector<int64_t> batches;  ///< sizes of first dimensions that the reference took
  std::string float64_note;  ///< why there is no float64 evaluation, or what it lacks; one line, empty when
                             ///< it is whole
  std::string reason;        ///< why it failed, one line that names output and place; empty when it passed

  bool passed() const { return reason.empty(); }
};

/// Compares the models on generated and given inputs. Drift, for which it fails, is
/// - an output of another shape or type, or an integer, bool or string that differs;
/// - a given tolerance that is not kept;
/// - without one, where the reference can be evaluated in float64: being further from that than the reference
///   and one ulp, by its largest error or by the 90th percentile of its errors in ulp, where further sets of
///   inputs confirm it: most of them by more than 1.5 times the reference's, or one by more than 4 times the
///   reference's largest. docs/reference/verify.md tells why, and what was measured;
/// - else a difference out of default_tolerance and beyond ORT's own between no and full optimisation.
/// InputError when a model does not load or run, or the two differ in inputs or outputs.
Judgement judge(std::shared_ptr<runtime::Runtime> runtime, const std::filesystem::path& reference,
                const std::filesystem::path& candidate, const JudgeOptions& options = {});

}  // namespace graft::verify
