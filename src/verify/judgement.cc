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

// How many times the reference's distance from float64 the candidate's may be: in most of many sets of
// inputs, and in one. docs/reference/verify.md gives the reasons.
constexpr double times_mostly = 1.5, times_at_once = 4;
// How many sets a suspicion is looked at with, how many of them are many, and what is allowed in units
// of the last place where there are fewer.
constexpr int further_sets = 16;
constexpr size_t enough_sets = 8;
constexpr double ulps_of_few = 4;

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

/// Judges one output on one set of inputs, without float64.
std::string drift_of(const Levels& levels, size_t output, const JudgeOptions& options,
                     const InputPlan& plan) {
  const bool has_float64 = !levels.candidate_error.outputs.empty();
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
    if (input.shape.empty() || input.shape[0].size >= 0 || shape == plan.shapes.end() ||
        shape->second.empty() || plan.values.contains(input.name) || shape->second[0] == size)
      continue;
    shape->second[0] = size;
    changed = true;
  }
  return changed;
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
      : seconds_(options.float64_seconds), seconds_left_(seconds_) {
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

  /// Gives what a runtime computes that rounds 16-bit values at every node, as the standard says; nothing for
  /// models without such values.
  std::optional<std::vector<Tensor>> run_by_the_standard(const std::vector<Tensor>& inputs,
                                                         const std::vector<Tensor>& like) {
    return run(standard_, inputs, like);
  }

  const std::string& note() const { return note_; }

  void renew_time() { seconds_left_ = seconds_; }

 private:
  std::optional<std::vector<Tensor>> run(std::optional<Float64Evaluation>& evaluation,
                                         const std::vector<Tensor>& inputs, const std::vector<Tensor>& like) {
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
  double seconds_, seconds_left_;
  std::string note_;
};

/// Says that the candidate fails on inputs that the reference takes.
struct CandidateError : InputError {
  using InputError::InputError;
};

/// Holds both models at both levels, and the float64 evaluation of the reference.
class Models {
 public:
  Models(const std::shared_ptr<runtime::Runtime>& runtime, const std::filesystem::path& reference,
         const std::filesystem::path& candidate, const JudgeOptions& options)
      : options_(options),
        reference_(open(runtime, reference, Optimisation::all)),
        candidate_(open(runtime, candidate, Optimisation::all)),
        reference_plain_(require_same_interface(runtime, reference)),
        candidate_plain_(open(runtime, candidate, Optimisation::none)),
        exact_(runtime, reference, options) {}

  Session& reference() { return reference_; }
  const std::string& float64_note() const { return exact_.note(); }

  /// Runs everything on one set of inputs. InputError when the reference does not take it, CandidateError
  /// when the candidate alone does not.
  Levels compare(const InputPlan& plan) {
    const std::vector<Tensor> inputs = make_inputs(reference_, plan);
    const std::vector<Tensor> expected = reference_.run(inputs),
                              expected_plain = reference_plain_.run(inputs);
    std::vector<Tensor> found, found_plain;
    try {
      found = candidate_.run(inputs);
      found_plain = candidate_plain_.run(inputs);
    } catch (const InputError& error) {
      throw CandidateError(error.what());
    }
    const auto against = [&](const std::vector<Tensor>& wanted, const std::vector<Tensor>& outputs) {
      return compare_outputs(reference_, wanted, outputs, options_.tolerance);
    };
    Levels levels{against(expected, found),
                  against(expected_plain, found_plain),
                  against(expected_plain, expected),
                  {},
                  {}};
    // At NaN and infinities float64 kernels need not do as float32 kernels do: there the reference itself is
    // the measure.
    if (plan.distribution == Distribution::special) return levels;
    const std::optional<std::vector<Tensor>> truth = exact_.run(inputs, expected);
    if (!truth) return levels;
    levels.reference_error = against(*truth, expected);
    levels.reference_error.merge(against(*truth, expected_plain));
    if (const auto standard = exact_.run_by_the_standard(inputs, expected))
      levels.reference_error.merge(against(*truth, *standard));
    levels.candidate_error = against(*truth, found);
    levels.candidate_error.merge(against(*truth, found_plain));
    return levels;
  }

  /// Gives the float64 evaluation its time again.
  void renew_time() { exact_.renew_time(); }

 private:
  Session open(const std::shared_ptr<runtime::Runtime>& runtime, const std::filesystem::path& model,
               Optimisation optimisation) const {
    return {runtime,
            model,
            {.threads = options_.threads, .optimisation = optimisation, .libraries = options_.libraries}};
  }

  /// Opens the reference without optimisation, once both are known to have the same inputs and outputs.
  Session require_same_interface(const std::shared_ptr<runtime::Runtime>& runtime,
                                 const std::filesystem::path& reference) const {
    const std::string difference = interface_difference(reference_, candidate_);
    if (!difference.empty()) throw InputError(difference);
    return open(runtime, reference, Optimisation::none);
  }

  const JudgeOptions& options_;
  Session reference_, candidate_, reference_plain_, candidate_plain_;
  Exact exact_;
};

/// Is sets of inputs of one kind, whose errors are judged together.
struct Group {
  std::vector<InputPlan> plans;
  std::optional<int64_t> batch = {};  ///< size of the first dimension, which the reference need not take
  bool is_drawn = false;              ///< further seeds give other inputs
  std::vector<Levels> levels = {};    ///< what the sets gave
};

/// Lists what to run on. Nothing is random when the user gave every input.
std::vector<Group> groups_of(const Session& session, const InputPlan& settled, const JudgeOptions& options) {
  const auto is_given = [&](const auto& input) { return settled.values.contains(input.name); };
  const bool all_given = std::all_of(session.inputs().begin(), session.inputs().end(), is_given);
  Group normal{.plans = {settled}, .is_drawn = !all_given};
  for (int i = 1; i < options.seeds && !all_given; ++i) {
    normal.plans.push_back(settled);
    normal.plans.back().seed += static_cast<uint64_t>(i);
  }
  std::vector<Group> groups{std::move(normal)};
  const auto is_drawn = [&](const auto& input) { return is_floating(input.type) && !is_given(input); };
  if (std::any_of(session.inputs().begin(), session.inputs().end(), is_drawn)) {
    for (const Distribution distribution : options.also) {
      if (distribution == Distribution::strokes && !takes_images(session, settled)) continue;
      groups.push_back({.plans = {settled}, .is_drawn = true});
      groups.back().plans[0].distribution = distribution;
    }
  }
  for (const int64_t size : options.batches) {
    InputPlan plan = settled;
    if (set_batch(session, plan, size)) groups.push_back({.plans = {plan}, .batch = size, .is_drawn = true});
  }
  return groups;
}

/// Holds how far both models are from float64 on each set of inputs: one figure of one output.
class Distances {
 public:
  void add(double reference, double candidate) { pairs_.push_back({reference, candidate}); }

  /// Tells whether the candidate's largest figure is more than `times` the reference's.
  bool largest_beyond(double times) const {
    return largest(&Pair::candidate) > times * largest(&Pair::reference);
  }

  /// Tells whether the candidate's figure is more than `times` the reference's in most of the sets.
  bool mostly_beyond(double times) const {
    const auto beyond = std::count_if(pairs_.begin(), pairs_.end(), [&](const Pair& pair) {
      return pair.candidate > times * pair.reference;
    });
    return 2 * static_cast<size_t>(beyond) > pairs_.size();
  }

  double largest_of_reference() const { return largest(&Pair::reference); }
  double largest_of_candidate() const { return largest(&Pair::candidate); }

 private:
  struct Pair {
    double reference = 0, candidate = 0;
  };
  double largest(double Pair::*figure) const {
    double found = 0;
    for (const Pair& pair : pairs_) found = std::max(found, pair.*figure);
    return found;
  }

  std::vector<Pair> pairs_;
};

/// Says how one output drifts from float64, over sets of inputs of one kind.
class Drift {
 public:
  Drift(const std::vector<Levels>& sets, size_t output) {
    for (const Levels& levels : sets) {
      if (levels.candidate_error.outputs.empty()) continue;
      const Difference& reference = levels.reference_error.outputs[output];
      const Difference& candidate = levels.candidate_error.outputs[output];
      if (!candidate.mismatch.empty() || !std::isfinite(reference.largest_absolute)) continue;
      if (sets_++ == 0)
        worst_ = candidate;
      else
        worst_.merge(candidate);
      largest_.add(reference.largest_absolute, candidate.largest_beyond);
      most_.add(reference.ulp_90, std::max(candidate.ulp_90 - 1, 0.0));
    }
  }

  /// Tells whether it is further from float64 than the reference and one ulp, if perhaps by chance.
  bool is_suspect() const { return largest_.largest_beyond(1) || most_.largest_beyond(1); }

  /// Tells whether many sets of inputs show that it is no chance.
  bool is_drift() const { return shows_drift(largest_) || shows_drift(most_); }

  /// Tells the same of few sets, or of one, which show less.
  bool is_drift_of_few() const {
    return (largest_.largest_beyond(times_at_once) || most_.largest_beyond(times_at_once)) &&
           worst_.largest_ulp > ulps_of_few;
  }

  /// Tells whether further sets would show nothing else.
  bool is_plain() const { return is_drift_of_few() && largest_.mostly_beyond(times_at_once); }

  /// Says what is wrong, in one line.
  std::string text() const {
    const std::string sets = sets_ > 1 ? fmt::format(" ({} sets of inputs)", sets_) : "";
    if (worst_.furthest && (shows_drift(largest_) || !shows_drift(most_))) {
      return fmt::format(
          "output {}{}: {} instead of {} in a float64 evaluation, from which the reference is {:.3g} away at "
          "most{}",
          worst_.output, runtime::to_string(worst_.furthest->index), worst_.furthest->candidate,
          worst_.furthest->reference, largest_.largest_of_reference(), sets);
    }
    return fmt::format(
        "output {}: 10 % of the elements are {:.3g} ulp and more away from a float64 evaluation, those of "
        "the "
        "reference {:.3g}{}",
        worst_.output, most_.largest_of_candidate() + 1, most_.largest_of_reference(), sets);
  }

 private:
  static bool shows_drift(const Distances& distances) {
    return distances.mostly_beyond(times_mostly) || distances.largest_beyond(times_at_once);
  }

  int sets_ = 0;           ///< that have a float64 evaluation
  Distances largest_;      ///< the largest errors, less one ulp of the candidate's
  Distances most_;         ///< the 90th percentiles in ulp, less one of the candidate's
  Difference worst_ = {};  ///< the candidate's largest differences
};

/// Draws further sets of inputs of a group's kind, until there are enough, the time is spent, or one of the
/// suspects drifts plainly.
std::vector<Levels> with_further_sets(Models& models, const Group& group,
                                      const std::vector<size_t>& suspects) {
  models.renew_time();
  std::vector<Levels> sets = group.levels;
  InputPlan plan = group.plans.back();
  for (int i = 0; i < further_sets; ++i) {
    ++plan.seed;
    try {
      sets.push_back(models.compare(plan));
    } catch (const CandidateError&) {
      throw;
    } catch (const InputError&) {
      continue;  // values that the reference does not take
    }
    if (sets.back().candidate_error.outputs.empty()) break;  // the time is spent
    const auto is_plain = [&](size_t output) { return Drift(sets, output).is_plain(); };
    if (i >= 3 && std::any_of(suspects.begin(), suspects.end(), is_plain)) break;
  }
  return sets;
}

/// Judges a group by the errors against float64. What is further than the reference may be so by chance: it
/// is looked at again on further sets of inputs.
std::string drift_from_float64(Models& models, const Group& group) {
  std::vector<size_t> suspects;
  const size_t outputs = group.levels.empty() ? 0 : group.levels[0].optimised.outputs.size();
  for (size_t i = 0; i < outputs; ++i) {
    const bool is_exact = default_tolerance(group.levels[0].optimised.outputs[i].type).absolute == 0;
    if (!is_exact && Drift(group.levels, i).is_suspect()) suspects.push_back(i);
  }
  if (suspects.empty()) return "";
  const std::vector<Levels> sets = group.is_drawn ? with_further_sets(models, group, suspects) : group.levels;
  const bool are_enough = sets.size() > group.levels.size() + enough_sets;
  for (const size_t i : suspects) {
    const Drift drift(sets, i);
    if (are_enough ? drift.is_drift() : drift.is_drift_of_few()) return drift.text();
  }
  return "";
}

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
  Models models(runtime, reference, candidate, options);
  Judgement judgement;
  judgement.plan = settle(models.reference(), options.plan);
  std::vector<Group> groups = groups_of(models.reference(), judgement.plan, options);
  for (Group& group : groups) {
    if (group.batch && !judgement.passed()) continue;
    for (const InputPlan& plan : group.plans) {
      try {
        group.levels.push_back(models.compare(plan));
      } catch (const CandidateError& error) {
        if (!group.batch) throw;
        judgement.reason = fmt::format("with {} as the first dimension, which the reference takes: {}",
                                       *group.batch, error.what());
        break;
      } catch (const InputError&) {
        if (!group.batch) throw;
        break;  // the model does not take this size
      }
      const Levels& levels = group.levels.back();
      for (size_t i = 0; i < levels.optimised.outputs.size() && judgement.passed(); ++i)
        judgement.reason = drift_of(levels, i, options, plan);
    }
    if (group.levels.empty()) continue;
    if (group.batch) {
      judgement.batches.push_back(*group.batch);
      continue;
    }
    Levels all;
    for (const Levels& levels : group.levels) all.merge(levels);
    judgement.sets += static_cast<int>(group.levels.size());
    const Distribution distribution = group.plans.front().distribution;
    if (distribution == Distribution::normal)
      judgement.merge(all);
    else
      judgement.others.push_back({all, distribution});
  }
  for (const Group& group : groups) {
    if (!judgement.passed() || options.tolerance) break;
    judgement.reason = drift_from_float64(models, group);
  }
  judgement.float64_note = models.float64_note();
  return judgement;
}

}  // namespace graft::verify
