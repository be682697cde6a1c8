#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "error.h"
#include "runtime/files.h"
#include "runtime/providers.h"
#include "runtime/scratch_folder.h"

namespace graft::bench {
namespace {

using runtime::Session;

constexpr size_t profile_warm_up = 2;

/// Gives how many runs of each model to profile: half of the time of the timed rounds, and no more than ORT's
/// profile holds.
int profiled_runs(double slowest_ms, double seconds) {
  return static_cast<int>(std::clamp(seconds * 250 / std::max(slowest_ms, 0.01), 12.0, 50.0));
}

Session load(const std::shared_ptr<runtime::Runtime>& runtime, const Request& request,
             const std::filesystem::path& model, const std::filesystem::path& profile = {}) {
  runtime::SessionOptions options;
  options.threads = request.threads;
  options.libraries = request.libraries;
  options.providers = request.providers;
  options.profile = profile;
  return Session(runtime, model, options);
}

/// Profiles the models in turn, so that run i of one belongs to run i of the other.
void profile_models(const std::shared_ptr<runtime::Runtime>& runtime, const Request& request,
                    const std::vector<std::filesystem::path>& files,
                    const std::vector<runtime::Tensor>& inputs, Measurement& found) {
  const runtime::ScratchFolder folder;
  std::vector<Session> sessions;
  std::vector<runtime::PreparedRun> runs;
  double slowest = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    sessions.push_back(load(runtime, request, files[i], folder.path() / fmt::format("model{}", i)));
    slowest = std::max(slowest, found.models[i].milliseconds.median);
  }
  for (Session& session : sessions) runs.push_back(session.prepare(inputs));
  const int count = static_cast<int>(profile_warm_up) + profiled_runs(slowest, request.seconds);
  for (int round = 0; round < count; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      if (request.threads > 1) rest_between_sessions();
      runs[round % 2 ? runs.size() - 1 - i : i].once();
    }
  }
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string text = runtime::read_file(sessions[i].end_profile());
    found.models[i].profile = read_profile(text, found.models[i].file, profile_warm_up);
  }
}

std::vector<size_t> fallbacks_of(const runtime::Runtime& runtime, const Profile& profile,
                                 const std::vector<std::string>& providers) {
  if (providers.empty()) return {};
  std::vector<std::string> asked;
  for (const std::string& name : providers) asked.push_back(runtime::find_provider(runtime, name));
  std::vector<size_t> places;
  for (size_t i = 0; i < profile.nodes.size(); ++i) {
    if (std::find(asked.begin(), asked.end(), profile.nodes[i].provider) == asked.end()) places.push_back(i);
  }
  return places;
}

PairMeasurement pair_of(const Measurement& found) {
  PairMeasurement pair;
  pair.speedup = ratio_of(found.rounds.ratios());
  pair.ratios = figures_of(found.rounds.ratios());
  pair.own = ratio_of(found.rounds.own_ratios());
  pair.operators = compare_operators(found.models[0].profile, found.models[1].profile);
  return pair;
}

verify::Judgement judge(const std::shared_ptr<runtime::Runtime>& runtime, const Request& request,
                        const verify::InputPlan& settled) {
  verify::JudgeOptions options;
  options.libraries = request.libraries;
  options.plan = settled;
  options.seeds = 1;
  options.threads = request.threads;
  return verify::judge(runtime, request.model, request.other, options);
}

/// Says what is wrong, and with which model, when the other model refuses the shapes that the first one
/// takes.
void check_shapes(Session& session, const verify::InputPlan& plan) {
  try {
    verify::settle(session, plan);
  } catch (const InputError& error) {
    const std::string text = error.what();
    if (text.starts_with(session.name())) throw;
    throw InputError(fmt::format("{}: {}", session.name(), text));
  }
}

/// Gives the ratios that the halves of the rounds tell alone.
std::pair<Ratio, Ratio> halves_of(const std::vector<double>& ratios) {
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  return {ratio_of({ratios.begin(), middle}), ratio_of({middle, ratios.end()})};
}

}  // namespace

std::vector<std::string> doubts(const Rounds& rounds) {
  // A quiet machine keeps p90 within a few percent of p10.
  constexpr double widest_spread = 1.25;
  std::vector<std::string> doubts;
  const Figures times = figures_of(all_turns(rounds.first));
  if (times.spread() > widest_spread) {
    doubts.push_back(
        fmt::format("the machine is noisy: a tenth of the runs of the first model take {:.2f} times as long "
                    "as its fastest tenth, or longer",
                    times.spread()));
  }
  if (rounds.second.empty()) return doubts;
  const Ratio speedup = ratio_of(rounds.ratios()), own = ratio_of(rounds.own_ratios());
  if (!speedup.interval) {
    doubts.push_back(
        fmt::format("too few rounds for a confidence interval: {}, and 6 give one", rounds.first.size()));
    return doubts;
  }
  if (own.tells() && std::abs(std::log(own.median)) >= std::abs(std::log(speedup.median)) / 2) {
    doubts.push_back(
        fmt::format("the machine changes while it is measured: the first model is {:.3f} times as fast as "
                    "itself a moment before",
                    own.median));
  }
  const auto [early, late] = halves_of(rounds.ratios());
  if (early.interval && late.interval &&
      (early.interval->upper < late.interval->lower || late.interval->upper < early.interval->lower)) {
    doubts.push_back(
        fmt::format("the two halves of the rounds disagree: {:.3f} and {:.3f}; measure again, on a machine "
                    "that does nothing else",
                    early.median, late.median));
  }
  return doubts;
}

Measurement measure(std::shared_ptr<runtime::Runtime> runtime, const Request& request,
                    const std::function<void(const std::string&)>& say) {
  std::vector<std::filesystem::path> files = {request.model};
  if (!request.other.empty()) files.push_back(request.other);
  const bool two = files.size() == 2;

  say("loading");
  std::vector<Session> sessions;
  for (const std::filesystem::path& file : files) sessions.push_back(load(runtime, request, file));
  if (two) {
    const std::string difference = verify::interface_difference(sessions[0], sessions[1]);
    if (!difference.empty()) throw InputError(difference);
  }
  Measurement found;
  found.plan = verify::settle(sessions[0], request.plan);
  if (two) check_shapes(sessions[1], found.plan);
  const std::vector<runtime::Tensor> inputs = verify::make_inputs(sessions[0], found.plan);
  std::optional<verify::Judgement> judgement;
  if (two && request.verify) {
    say("comparing outputs");
    judgement = judge(runtime, request, found.plan);
  }

  say("measuring copies");
  found.copy = measure_copy(request.threads);
  say(fmt::format("timing for {:g} s", request.seconds));
  RoundOptions options;
  options.rounds = request.rounds;
  options.seconds = request.seconds;
  options.threads = request.threads;
  {
    runtime::PreparedRun first = sessions[0].prepare(inputs);
    std::optional<runtime::PreparedRun> second;
    if (two) second.emplace(sessions[1].prepare(inputs));
    found.rounds = time_rounds(first, second ? &*second : nullptr, options);
  }
  sessions.clear();
  for (size_t i = 0; i < files.size(); ++i) {
    ModelMeasurement model;
    model.file = files[i].string();
    model.milliseconds = figures_of(all_turns(i ? found.rounds.second : found.rounds.first));
    found.models.push_back(std::move(model));
  }

  say("profiling");
  profile_models(runtime, request, files, inputs, found);
  for (ModelMeasurement& model : found.models)
    model.fallbacks = fallbacks_of(*runtime, model.profile, request.providers);
  found.warnings = doubts(found.rounds);
  if (two) {
    found.pair = pair_of(found);
    found.pair->judgement = std::move(judgement);
  }
  return found;
}

}  // namespace graft::bench
