#include "verify/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "verify/float64/evaluation.h"

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
  const auto is_drawn = [&](const auto& input) { return is_floating(input.type) && !is_given(input); };
  if (std::none_of(session.inputs().begin(), session.inputs().end(), is_drawn)) return plans;
  for (const Distribution distribution : options.also) {
    if (distribution == Distribution::strokes && !takes_images(session, settled)) continue;
    plans.push_back(settled);
    plans.back().distribution = distribution;
  }
  return plans;
}

std::string inputs_text(const InputPlan& plan) {
  return fmt::format("{} inputs, seed {}", to_string(plan.distribution), plan.seed);
}

std::string place_text(const Difference& difference) {
  const Difference::Place& place = *difference.worst;
  return fmt::format("output {}{}: {} became {}", difference.output, runtime::to_string(place.index),
                     place.reference, place.candidate);
}

/// Says how a difference breaks a tolerance, or nothing.
std::string beyond_tolerance(const Difference& found, const JudgeOptions& options, const std::string& where) {
  if (found.largest_excess <= 1) return "";
  const Tolerance own = default_tolerance(found.type);
  const Tolerance allowed = options.tolerance && own.absolute > 0 ? *options.tolerance : own;
  if (allowed.absolute == 0 && allowed.relative == 0) return fmt::format("{} ({})", place_text(found), where);
  return fmt::format("{}; allowed is {:g} + {:g} * |reference| ({})", place_text(found), allowed.absolute,
                     allowed.relative, where);
}

/// Gives one unit in the last place: relative to any normal number, at most, and at zero.
Tolerance unit_in_the_last_place(runtime::DataType type) {
  switch (type) {
    case runtime::DataType::float64:
      return {0x1p-1074, 0x1p-52};
    case runtime::DataType::float16:
      return {0x1p-24, 0x1p-10};
    case runtime::DataType::bfloat16:
      return {0x1p-133, 0x1p-7};
    default:
      return {0x1p-149, 0x1p-23};
  }
}

// How many times the reference's error the candidate's may be; judgement.h gives the reason.
constexpr double allowed_times = 4;

/// Says how the candidate's outputs are further from float64 than the reference's, or nothing. `reference`
/// holds the largest errors of the reference, `candidate` those of the candidate.
std::string beyond_float64(const Difference& reference, const Difference& candidate, const Tensor& truth,
                           const Tensor& found) {
  const Tolerance unit = unit_in_the_last_place(truth.type);
  const Difference beyond =
      compare_tensors(candidate.output, truth, found,
                      Tolerance{allowed_times * reference.largest_absolute + unit.absolute, unit.relative});
  if (beyond.largest_excess > 1) {
    return fmt::format(
        "output {}{}: {} instead of {} in a float64 evaluation, from which the reference is {:.3g} away at "
        "most",
        beyond.output, runtime::to_string(beyond.worst->index), beyond.worst->candidate,
        beyond.worst->reference, reference.largest_absolute);
  }
  if (candidate.ulp_90 > allowed_times * reference.ulp_90 + 1) {
    return fmt::format(
        "output {}: 10 % of the elements are {:.3g} ulp and more away from a float64 evaluation, those of "
        "the "
        "reference {:.3g}",
        candidate.output, candidate.ulp_90, reference.ulp_90);
  }
  return "";
}

/// Judges one output on one set of inputs, without float64.
std::string drift_of(const Levels& levels, size_t output, const JudgeOptions& options, bool has_float64,
                     const InputPlan& plan) {
  const Difference& ort_itself = levels.ort_itself.outputs[output];
  for (const auto& [comparison, level] :
       {std::pair(&levels.optimised, "full optimisation"), std::pair(&levels.plain, "no optimisation")}) {
    const Difference& found = comparison->outputs[output];
    if (!found.mismatch.empty())
      return fmt::format("output {}: {} ({})", found.output, found.mismatch, level);
    const bool is_exact = default_tolerance(found.type).absolute == 0;
    const bool by_float64 =
        has_float64 && !options.tolerance && !is_exact && std::isfinite(found.largest_absolute);
    if (by_float64) continue;
    if (!options.tolerance && std::isfinite(found.largest_excess) &&
        found.largest_excess <= ort_itself.largest_excess)
      continue;
    const std::string reason =
        beyond_tolerance(found, options, fmt::format("{}, {}", level, inputs_text(plan)));
    if (!reason.empty()) return reason;
  }
  return "";
}

/// Changes the first dimension of every input that leaves it open; false when there is none.
bool set_batch(const Session& session, InputPlan& plan, int64_t size) {
  bool changed = false;
  for (const runtime::ValueDescription& input : session.inputs()) {
    const auto shape = plan.shapes.find(input.name);
    if (input.shape.empty() || input.shape[0].size >= 0 || shape == plan.shapes.end() || shape->second.empty() ||
        plan.values.contains(input.name) || shape->second[0] == size)
      continue;
    shape->second[0] = size;
    changed = true;
  }
  return changed;
}

/// Holds what one set of inputs gave: the float64 evaluation and the candidate's outputs at both levels.
struct Evaluated {
  Distribution distribution;
  std::vector<Tensor> truth, found, found_plain;
};

/// Judges by the errors against float64; `levels` holds the largest over all sets of the distribution.
std::string drift_from_float64(const Levels& levels, const Evaluated& set) {
  for (size_t i = 0; i < set.truth.size(); ++i) {
    const Difference& reference = levels.reference_error.outputs[i];
    const Difference& candidate = levels.candidate_error.outputs[i];
    if (default_tolerance(candidate.type).absolute == 0) continue;
    if (!candidate.mismatch.empty() || !std::isfinite(reference.largest_absolute)) continue;
    for (const std::vector<Tensor>* found : {&set.found, &set.found_plain}) {
      const std::string reason = beyond_float64(reference, candidate, set.truth[i], (*found)[i]);
      if (!reason.empty()) return reason;
    }
  }
  return "";
}

/// Rounds the outputs of a float64 evaluation to the types of the model's own.
std::vector<Tensor> rounded_like(const std::vector<Tensor>& exact, const std::vector<Tensor>& like) {
  std::vector<Tensor> rounded;
  for (size_t i = 0; i < exact.size(); ++i) {
    const bool is_widened =
        exact[i].type != like[i].type && is_floating(exact[i].type) && is_floating(like[i].type);
    rounded.push_back(is_widened ? convert(exact[i], like[i].type) : exact[i]);
  }
  return rounded;
}

/// Holds the float64 evaluation of the reference, as long as there is one and time for it.
class Exact {
 public:
  Exact(const std::shared_ptr<runtime::Runtime>& runtime, const std::filesystem::path& model,
        const JudgeOptions& options)
      : seconds_left_(options.float64_seconds) {
    if (!options.float64) return;
    const auto open = [&](Halves halves, std::optional<Float64Evaluation>& evaluation) {
      try {
        evaluation.emplace(runtime, model, std::vector<std::filesystem::path>{}, options.threads, halves);
      } catch (const InputError&) {
        if (options.libraries.empty()) throw;
        evaluation.emplace(runtime, model, options.libraries, options.threads, halves);
      }
    };
    try {
      open(Halves::exact, evaluation_);
      if (evaluation_->has_halves()) open(Halves::rounded, standard_);
      if (!evaluation_->rounded().empty()) {
        note_ = fmt::format("computed in float32 within the float64 evaluation: {}",
                            fmt::join(evaluation_->rounded(), ", "));
      }
    } catch (const InputError& error) {
      give_up(error);
    }
  }

  /// Gives the outputs, rounded to the types of `like`; nothing when there is no evaluation or no time left.
  std::optional<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, const std::vector<Tensor>& like) {
    return run(evaluation_, inputs, like);
  }

  /// Gives what a runtime computes that rounds 16-bit values at every node, as the standard says; nothing for models
  /// without such values.
  std::optional<std::vector<Tensor>> run_by_the_standard(const std::vector<Tensor>& inputs,
                                                         const std::vector<Tensor>& like) {
    return run(standard_, inputs, like);
  }

  const std::string& note() const { return note_; }

 private:
  std::optional<std::vector<Tensor>> run(std::optional<Float64Evaluation>& evaluation, const std::vector<Tensor>& inputs,
                                         const std::vector<Tensor>& like) {
    if (!evaluation || seconds_left_ <= 0) return {};
    const auto start = std::chrono::steady_clock::now();
    try {
      std::vector<Tensor> outputs = rounded_like(evaluation->run(inputs), like);
      seconds_left_ -= std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return outputs;
    } catch (const InputError& error) {
      give_up(error);
      return {};
    }
  }

  void give_up(const InputError& error) {
    note_ = fmt::format("no float64 evaluation: {}", error.what());
    evaluation_.reset();
    standard_.reset();
  }

  std::optional<Float64Evaluation> evaluation_, standard_;
  double seconds_left_;
  std::string note_;
};

}  // namespace

void Levels::merge(const Levels& other) {
  optimised.merge(other.optimised);
  plain.merge(other.plain);
  ort_itself.merge(other.ort_itself);
  reference_error.merge(other.reference_error);
  candidate_error.merge(other.candidate_error);
}

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
  Exact exact(runtime, reference, options);
  std::vector<Evaluated> evaluated;
  for (const InputPlan& plan : plans_of(reference_optimised, judgement.plan, options)) {
    const std::vector<Tensor> inputs = make_inputs(reference_optimised, plan);
    const std::vector<Tensor> expected = reference_optimised.run(inputs),
                              expected_plain = reference_plain.run(inputs);
    const std::vector<Tensor> found = candidate_optimised.run(inputs),
                              found_plain = candidate_plain.run(inputs);
    const auto against = [&](const std::vector<Tensor>& wanted, const std::vector<Tensor>& outputs) {
      return compare_outputs(reference_optimised, wanted, outputs, options.tolerance);
    };
    Levels levels{against(expected, found),
                  against(expected_plain, found_plain),
                  against(expected_plain, expected),
                  {},
                  {}};
    // At NaN and infinities float64 kernels need not do as float32 kernels do: there the reference itself is
    // the measure.
    std::optional<std::vector<Tensor>> truth;
    if (plan.distribution != Distribution::special) truth = exact.run(inputs, expected);
    if (truth) {
      levels.reference_error = against(*truth, expected);
      levels.reference_error.merge(against(*truth, expected_plain));
      if (const auto standard = exact.run_by_the_standard(inputs, expected))
        levels.reference_error.merge(against(*truth, *standard));
      levels.candidate_error = against(*truth, found);
      levels.candidate_error.merge(against(*truth, found_plain));
      evaluated.push_back({plan.distribution, *truth, found, found_plain});
    }
    for (size_t i = 0; i < expected.size() && judgement.passed(); ++i) {
      judgement.reason = drift_of(levels, i, options, truth.has_value(), plan);
    }
    if (plan.distribution == Distribution::normal) {
      judgement.merge(levels);
    } else {
      judgement.others.push_back({levels, plan.distribution});
    }
    ++judgement.sets;
  }
  for (const int64_t size : options.batches) {
    InputPlan plan = judgement.plan;
    if (!judgement.passed() || !set_batch(reference_optimised, plan, size)) continue;
    std::vector<Tensor> inputs, expected, expected_plain;
    try {
      inputs = make_inputs(reference_optimised, plan);
      expected = reference_optimised.run(inputs);
      expected_plain = reference_plain.run(inputs);
    } catch (const InputError&) {
      continue;  // the model does not take this size
    }
    judgement.batches.push_back(size);
    try {
      const auto against = [&](const std::vector<Tensor>& wanted, const std::vector<Tensor>& outputs) {
        return compare_outputs(reference_optimised, wanted, outputs, options.tolerance);
      };
      const Levels levels{against(expected, candidate_optimised.run(inputs)),
                          against(expected_plain, candidate_plain.run(inputs)),
                          against(expected_plain, expected),
                          {},
                          {}};
      for (size_t i = 0; i < expected.size() && judgement.passed(); ++i)
        judgement.reason = drift_of(levels, i, options, false, plan);
    } catch (const InputError& error) {
      judgement.reason = fmt::format("with {} as the first dimension, which the reference takes: {}", size, error.what());
    }
  }
  for (const Evaluated& set : evaluated) {
    if (!judgement.passed() || options.tolerance) break;
    const Levels* levels = &judgement;
    for (const OtherInputs& other : judgement.others) {
      if (other.distribution == set.distribution) levels = &other;
    }
    judgement.reason = drift_from_float64(*levels, set);
  }
  judgement.float64_note = exact.note();
  return judgement;
}

}  // namespace graft::verify
