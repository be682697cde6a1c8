#pragma once
/// Lets you find where two models part: the first node whose result is no longer the same.
///
///   if (auto culprit = bisect(runtime, "model.onnx", "other.onnx", options, judgement.plan))
///     fmt::print("{} makes {}: {}\n", culprit->candidate_node, culprit->value, culprit->reason);
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "verify/judgement.h"

namespace graft::verify {

/// Is the first value that both models make and that drifts.
struct Culprit {
  std::string value;
  std::string reference_node, candidate_node;  ///< "Clip `p2o.Clip.0`"
  std::string reason;                          ///< as Judgement has it
};

/// Judges values of the main graph that bear the same name in both models, by halves: a drift is taken to
/// stay on the way to the outputs. `plan` is settled. Nothing when no value between inputs and outputs drifts
/// by itself, or the models share none. `say` is told what goes on. InputError as for judge().
std::optional<Culprit> bisect(std::shared_ptr<runtime::Runtime> runtime,
                              const std::filesystem::path& reference, const std::filesystem::path& candidate,
                              const JudgeOptions& options, const InputPlan& plan,
                              const std::function<void(const std::string&)>& say);

}  // namespace graft::verify
