#include "verify/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace graft::verify {
using runtime::Optimisation;
using runtime::Session;
using runtime::Tensor;

namespace {

/// Lists the sets of inputs to run on. Nothing is random when the user gave every input.
std::vector<InputPlan> plans_of(const Session& session, const InputPlan& settled,
                                const JudgeOptions& options) {
  const auto is_given = [&](const auto& input) { return settled.values.contains(input.name); };
  if (std::all_of(session.inputs().begin(), session.inputs().end(), is_given)) return {settled};
  std::vector<InputPlan> plans;
  for (int i = 0; i < options.seeds; ++i) {
    plans.push_back(settled);
    plans.back().seed += static_cast<uint64_t>(i);
  }
  for (const Distribution distribution : options.also) {
    plans.push_back(settled);
    plans.back().distribution = distribution;
  }
  return plans;
}

std::string tolerance_text(const Tolerance& tolerance) {
  if (tolerance.absolute == 0 && tolerance.relative == 0) return "none is allowed";
  return fmt::format("allowed is {:g} + {:g} * |reference|", tolerance.absolute, tolerance.relative);
}

/// Says why a difference is drift, or nothing.
std::string drift(const Difference& found, const Difference& ort_itself, const char* level,
                  const InputPlan& plan, const std::optional<Tolerance>& tolerance) {
  if (!found.mismatch.empty()) return fmt::format("output {}: {} ({})", found.output, found.mismatch, level);
  if (found.largest_excess <= 1) return "";
  if (std::isfinite(found.largest_excess) && found.largest_excess <= ort_itself.largest_excess) return "";
  const Tolerance own = default_tolerance(found.type);
  const Tolerance allowed = tolerance && own.absolute > 0 ? *tolerance : own;
  const Difference::Place& place = *found.worst;
  return fmt::format(
      "output {}{}: {} became {}; {}, and ORT's own optimisation moves this output by at most {:.3g} ({}, {} "
      "inputs, seed {})",
      found.output, runtime::to_string(place.index), place.reference, place.candidate,
      tolerance_text(allowed), ort_itself.largest_absolute, level, to_string(plan.distribution), plan.seed);
}

std::string drift(const Comparison& found, const Comparison& ort_itself, const char* level,
                  const InputPlan& plan, const std::optional<Tolerance>& tolerance) {
  for (size_t i = 0; i < found.outputs.size(); ++i) {
    const std::string reason = drift(found.outputs[i], ort_itself.outputs[i], level, plan, tolerance);
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace

Judgement judge(std::shared_ptr<runtime::Runtime> runtime, const std::filesystem::path& reference,
                const std::filesystem::path& candidate, const JudgeOptions& options) {
  const auto open = [&](const std::filesystem::path& model, Optimisation optimisation) {
    return Session(
        runtime, model,
        {.threads = options.threads, .optimisation = optimisation, .libraries = options.libraries});
  };
  Session reference_optimised = open(reference, Optimisation::all);
  Session candidate_optimised = open(candidate, Optimisation::all);
  const std::string difference = interface_difference(reference_optimised, candidate_optimised);
  if (!difference.empty()) throw InputError(difference);
  Session reference_plain = open(reference, Optimisation::none);
  Session candidate_plain = open(candidate, Optimisation::none);

  Judgement judgement;
  judgement.plan = settle(reference_optimised, options.plan);
  for (const InputPlan& plan : plans_of(reference_optimised, judgement.plan, options)) {
    const std::vector<Tensor> inputs = make_inputs(reference_optimised, plan);
    const std::vector<Tensor> expected = reference_optimised.run(inputs);
    const std::vector<Tensor> expected_plain = reference_plain.run(inputs);
    const auto against = [&](const std::vector<Tensor>& wanted, const std::vector<Tensor>& found) {
      return compare_outputs(reference_optimised, wanted, found, options.tolerance);
    };
    const Levels found{against(expected, candidate_optimised.run(inputs)),
                       against(expected_plain, candidate_plain.run(inputs)),
                       against(expected_plain, expected)};
    const auto note = [&](const Comparison& comparison, const char* level) {
      if (judgement.passed())
        judgement.reason = drift(comparison, found.ort_itself, level, plan, options.tolerance);
    };
    note(found.optimised, "full optimisation");
    note(found.plain, "no optimisation");
    if (plan.distribution == Distribution::normal) {
      judgement.optimised.merge(found.optimised);
      judgement.plain.merge(found.plain);
      judgement.ort_itself.merge(found.ort_itself);
    } else {
      judgement.others.push_back({found, plan.distribution});
    }
    ++judgement.sets;
  }
  return judgement;
}

}  // namespace graft::verify
