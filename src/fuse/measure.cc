#include "fuse/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "bench/profile.h"
#include "runtime/files.h"
#include "runtime/scratch_folder.h"

namespace graft::fuse {
namespace {

constexpr size_t warm_up = 2;

/// Writes the model with a name for every node of the sites, by which its profile tells them apart.
std::unique_ptr<graph::StagedModel> write_named(const Analysis& analysis, const Candidate& candidate,
                                                std::unordered_map<std::string, size_t>& site_of) {
  onnx::ModelProto model = analysis.model.proto;
  const graph::Index index(model);
  for (size_t at = 0; at < candidate.sites.size(); ++at) {
    const Site& site = analysis.sites[candidate.sites[at]];
    for (const int node : site.region.nodes) {
      const std::string name = fmt::format("graft_site_{}_{}", at, node);
      index.node(analysis.views[site.view].nodes[static_cast<size_t>(node)]).proto->set_name(name);
      site_of[name] = at;
    }
  }
  std::filesystem::path beside = candidate.file->file();
  beside += ".named";
  auto staged = std::make_unique<graph::StagedModel>(analysis.model, beside);
  staged->write(model);
  return staged;
}

int runs_for(const bench::Figures& slow, double seconds) {
  return static_cast<int>(std::clamp(seconds * 250 / std::max(slow.median, 0.01), 8.0, 50.0));
}

}  // namespace

std::vector<Gain> profile_sites(const std::shared_ptr<runtime::Runtime>& runtime, const Analysis& analysis,
                                const Candidate& candidate, const std::vector<runtime::Tensor>& inputs,
                                const MeasureOptions& options) {
  std::unordered_map<std::string, size_t> before_site, after_site;
  const auto named = write_named(analysis, candidate, before_site);
  for (size_t at = 0; at < candidate.nodes.size(); ++at) after_site[candidate.nodes[at]] = at;
  const runtime::ScratchFolder folder;
  const auto open = [&](const std::filesystem::path& model, const char* profile) {
    return runtime::Session(runtime, model,
                            {.threads = options.threads,
                             .optimisation = options.level,
                             .libraries = options.libraries,
                             .profile = folder.path() / profile});
  };
  runtime::Session before = open(named->file(), "before"), after = open(candidate.file->file(), "after");
  {
    runtime::PreparedRun first = before.prepare(inputs), second = after.prepare(inputs);
    const bench::Rounds trial =
        bench::time_rounds(first, nullptr, {.warm_up = 1, .rounds = 1, .threads = options.threads});
    const int runs = runs_for(bench::figures_of(bench::all_turns(trial.first)), options.seconds);
    for (int run = 0; run < runs; ++run) {
      if (options.threads > 1) bench::rest_between_sessions();
      (run % 2 ? second : first).once();
      if (options.threads > 1) bench::rest_between_sessions();
      (run % 2 ? first : second).once();
    }
  }
  std::vector<Gain> gains(candidate.sites.size());
  const auto add = [&](runtime::Session& session, const std::unordered_map<std::string, size_t>& sites,
                       double Gain::*time, double Gain::*bytes) {
    const bench::Profile profile =
        bench::read_profile(runtime::read_file(session.end_profile()), session.name(), warm_up);
    for (const bench::NodeUse& node : profile.nodes) {
      const auto site = sites.find(node.name);
      if (site == sites.end()) continue;
      gains[site->second].*time += node.milliseconds;
      gains[site->second].*bytes += static_cast<double>(node.bytes().value_or(0));
      gains[site->second].ran = true;
    }
  };
  add(before, before_site, &Gain::before_ms, &Gain::bytes_before);
  add(after, after_site, &Gain::after_ms, &Gain::bytes_after);
  return gains;
}

WholeTimes time_whole(const std::shared_ptr<runtime::Runtime>& runtime, const std::filesystem::path& original,
                      const std::filesystem::path& candidate, const std::vector<runtime::Tensor>& inputs,
                      const MeasureOptions& options) {
  const runtime::SessionOptions session{
      .threads = options.threads, .optimisation = options.level, .libraries = options.libraries};
  runtime::Session before(runtime, original, session), after(runtime, candidate, session);
  runtime::PreparedRun first = before.prepare(inputs), second = after.prepare(inputs);
  const bench::Rounds rounds =
      bench::time_rounds(first, &second, {.seconds = options.seconds, .threads = options.threads});
  WholeTimes times;
  times.before_ms = bench::figures_of(bench::all_turns(rounds.first));
  times.after_ms = bench::figures_of(bench::all_turns(rounds.second));
  times.speedup = bench::ratio_of(rounds.ratios());
  times.rounds = rounds.first.size();
  return times;
}

}  // namespace graft::fuse
