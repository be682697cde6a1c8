#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <numeric>

#include "commands/command.h"
#include "commands/differences.h"
#include "commands/fuse_report.h"
#include "error.h"
#include "report/progress.h"
#include "report/table.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "runtime/scratch_folder.h"
#include "verify/inputs.h"

namespace graft {
namespace {

namespace fs = std::filesystem;
using fuse::Candidate;

/// Finds the library of ready-made operators beside the command, where a build puts it and where a package
/// does.
fs::path find_operators(const FuseRequest& request) {
  if (!request.operators.empty()) return request.operators;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"libgraft_ops.so", "../lib/libgraft_ops.so"}) {
    if (!error && fs::exists(folder / place)) return (folder / place).lexically_normal();
  }
  throw InputError(
      "libgraft_ops.so, which holds the ready-made operators, is not beside the command: give its place with "
      "--operators");
}

constexpr const char* lost_fusion = "a fusion of ORT's own next to it would be lost";

/// Carries out one call: holds what the steps share.
class Fusion {
 public:
  Fusion(const FuseRequest& request, report::Progress& progress) : request_(request), progress_(progress) {
    libraries_.assign(request.libraries.begin(), request.libraries.end());
  }

  const FuseResult& run() {
    progress_.say("loading ONNX Runtime");
    runtime_ = runtime::Runtime::load(runtime::find_runtime(request_.common.runtime));
    result_.runtime_version = runtime_->version();
    for (const fs::path& library : libraries_) runtime::try_library(*runtime_, library);
    progress_.say("asking ONNX Runtime what it leaves, and looking for regions");
    result_.analysis = fuse::analyse(runtime_, request_.model, libraries_,
                                     {.one_output_type = !request_.compile}, request_.level);
    result_.outcomes.resize(result_.analysis.sites.size());
    result_.nodes_after = result_.analysis.nodes;
    if (result_.analysis.sites.empty()) return result_;
    choose_operators();
    std::vector<size_t> chosen;
    for (size_t site = 0; site < result_.outcomes.size(); ++site) {
      if (result_.operators.names[result_.analysis.sites[site].kind].empty()) {
        result_.outcomes[site].left = "no ready-made operator was left for it: --compile has no limit";
      } else {
        chosen.push_back(site);
      }
    }
    make(chosen);
    if (request_.measure || request_.verify) settle_inputs();
    if (request_.measure && !candidate_.sites.empty()) drop_what_does_not_pay();
    if (request_.verify && !candidate_.sites.empty()) verify_numbers();
    if (request_.measure && !candidate_.sites.empty()) measure_whole();
    for (const size_t site : candidate_.sites) result_.outcomes[site].fused = true;
    result_.nodes_after = candidate_.nodes_after;
    result_.embedded = candidate_.embedded;
    result_.notes.insert(result_.notes.end(), candidate_.notes.begin(), candidate_.notes.end());
    return result_;
  }

  /// Puts the output in its place, behind what it needs.
  void commit() {
    if (request_.compile) {
      put(result_.operators.library, library_);
      put(compiled_source_, source_);
      result_.operators.library = library_;
    }
    candidate_.file->commit();
    const auto& notes = candidate_.file->notes();
    result_.notes.insert(result_.notes.end(), notes.begin(), notes.end());
  }

 private:
  void choose_operators() {
    std::vector<size_t> wanted(result_.analysis.kinds.size());
    std::iota(wanted.begin(), wanted.end(), size_t{0});
    const auto weight = [&](size_t kind) {
      size_t nodes = 0;
      for (const size_t site : result_.analysis.kinds[kind].sites)
        nodes += result_.analysis.sites[site].region.nodes.size();
      return nodes;
    };
    std::stable_sort(wanted.begin(), wanted.end(), [&](size_t a, size_t b) { return weight(a) > weight(b); });
    if (request_.compile) {
      compile();
    } else {
      const fs::path library = find_operators(request_);
      runtime::try_library(*runtime_, library);
      result_.operators = fuse::portable_operators(result_.analysis, library, wanted);
    }
    all_libraries_ = fuse::with_library(libraries_, result_.operators.library);
  }

  /// Writes and compiles the operators, in a folder of their own until the result is known.
  void compile() {
    const fs::path beside = fs::absolute(output());
    library_ = request_.library_out.empty() ? fs::path(beside).replace_extension(".so")
                                            : fs::path(request_.library_out);
    const fs::path folder =
        request_.source_out.empty() ? library_.parent_path() : fs::path(request_.source_out);
    source_ = folder / library_.filename().replace_extension(".cc");
    compiled_source_ = scratch_.path() / source_.filename();
    const fuse::CompiledAs as{
        .source = compiled_source_,
        .library = scratch_.path() / library_.filename(),
        .domain = request_.domain.empty() ? domain_for(beside.stem().string()) : request_.domain,
        .compiler = request_.compiler};
    progress_.say(fmt::format("compiling {}",
                              report::counted(static_cast<long>(result_.analysis.kinds.size()), "operator")));
    std::string compiler;
    double seconds = 0;
    result_.operators = fuse::compiled_operators(result_.analysis, as, compiler, seconds);
    if (request_.check) return;
    result_.notes.push_back(fmt::format("{} compiled {} to {} in {:.1f} s", compiler, source_.string(),
                                        library_.string(), seconds));
  }

  /// Copies a file to its place, where it appears whole.
  static void put(const fs::path& from, const fs::path& to) {
    std::error_code error;
    if (to.has_parent_path()) fs::create_directories(to.parent_path(), error);
    fs::path beside = to;
    beside += ".part";
    fs::copy_file(from, beside, fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(beside, to, error);
    if (error) throw InputError(fmt::format("{}: it cannot be written: {}", to.string(), error.message()));
  }

  /// Makes a domain of a file's name, so that two fused models can share a session's process and registry.
  static std::string domain_for(const std::string& stem) {
    std::string name;
    for (const char c : stem) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return "fused." + name;
  }

  fs::path output() const {
    return request_.output.empty() ? fs::path(request_.model + ".check") : fs::path(request_.output);
  }

  /// Makes the candidate with these sites, less those that keep ORT from what it did before.
  void make(std::vector<size_t> chosen) {
    constexpr int most_rounds = 6;
    for (int round = 0;; ++round) {
      progress_.say(fmt::format("trying {} of {} regions", chosen.size(), result_.analysis.sites.size()));
      candidate_ = {};
      candidate_ = fuse::make_candidate(result_.analysis, result_.operators, chosen, output());
      if (chosen.empty()) return;
      const std::vector<size_t> blamed =
          fuse::in_the_way(runtime_, result_.analysis, result_.operators, candidate_, libraries_);
      if (blamed.empty()) return;
      if (round == most_rounds || (blamed.size() == chosen.size() && chosen.size() > 1)) return halve(chosen);
      leave(chosen, blamed, lost_fusion);
    }
  }

  /// Keeps as many of the sites as can be kept when nothing tells which of them are in the way.
  void halve(const std::vector<size_t>& chosen) {
    constexpr int most_trials = 40;
    std::vector<size_t> kept;
    std::vector<std::vector<size_t>> open = {chosen};
    for (int trial = 0; !open.empty(); ++trial) {
      const std::vector<size_t> part = std::move(open.back());
      open.pop_back();
      if (trial > 0) {  // all of them have been tried
        progress_.say(fmt::format("looking for what is in ORT's way among {} regions", part.size()));
        std::vector<size_t> tried = kept;
        tried.insert(tried.end(), part.begin(), part.end());
        std::sort(tried.begin(), tried.end());
        candidate_ = {};
        candidate_ = fuse::make_candidate(result_.analysis, result_.operators, tried, output());
        if (fuse::in_the_way(runtime_, result_.analysis, result_.operators, candidate_, libraries_).empty()) {
          kept = std::move(tried);
          continue;
        }
      }
      if (part.size() == 1 || trial > most_trials) {
        for (const size_t site : part) result_.outcomes[site].left = lost_fusion;
        continue;
      }
      const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
      open.emplace_back(middle, part.end());
      open.emplace_back(part.begin(), middle);
    }
    candidate_ = {};
    candidate_ = fuse::make_candidate(result_.analysis, result_.operators, kept, output());
  }

  void leave(std::vector<size_t>& chosen, const std::vector<size_t>& sites, const std::string& why) {
    for (const size_t site : sites) {
      result_.outcomes[site].left = why;
      chosen.erase(std::remove(chosen.begin(), chosen.end(), site), chosen.end());
    }
  }

  void settle_inputs() {
    runtime::Session session(runtime_, request_.model,
                             {.threads = request_.threads, .libraries = libraries_});
    plan_.shapes = parse_shapes(request_.shapes);
    plan_.values = read_inputs(request_.inputs);
    progress_.say("looking for sizes that the model takes");
    plan_ = verify::settle(session, plan_);
    inputs_ = verify::make_inputs(session, plan_);
  }

  fuse::MeasureOptions measuring() const {
    return {.libraries = all_libraries_,
            .threads = request_.threads,
            .level = request_.level,
            .seconds = request_.seconds};
  }

  /// Leaves the sites that take longer as one than as they were.
  void drop_what_does_not_pay() {
    progress_.say("profiling every region, before and after");
    const auto gains = fuse::profile_sites(runtime_, result_.analysis, candidate_, inputs_, measuring());
    std::vector<size_t> chosen = candidate_.sites, losers;
    for (size_t at = 0; at < gains.size(); ++at) {
      result_.outcomes[candidate_.sites[at]].gain = gains[at];
      if (gains[at].ran && gains[at].after_ms >= gains[at].before_ms) losers.push_back(candidate_.sites[at]);
    }
    if (losers.empty()) return;
    leave(chosen, losers, "it takes no less time as one node");
    make(chosen);
  }

  std::string drift_of(const Candidate& candidate, int seeds) {
    verify::JudgeOptions options;
    options.libraries = all_libraries_;
    options.plan = plan_;
    options.threads = request_.threads;
    options.seeds = seeds;
    result_.with_library = verify::judge(runtime_, request_.model, candidate.file->file(), options);
    if (!result_.with_library->passed() || !candidate.embedded) return result_.with_library->reason;
    options.libraries = libraries_;
    options.seeds = 1;
    result_.without_library = verify::judge(runtime_, request_.model, candidate.file->file(), options);
    return result_.without_library->passed() ? "" : "without the library: " + result_.without_library->reason;
  }

  /// Leaves the sites without which the numbers hold.
  void verify_numbers() {
    constexpr int most_culprits = 3;
    for (int culprits = 0;; ++culprits) {
      progress_.say("comparing the numbers with the original's");
      const std::string drift = drift_of(candidate_, 3);
      if (drift.empty() || candidate_.sites.empty()) return;
      if (culprits == most_culprits)
        throw AnswerError(fmt::format(
            "{}: the fused model computes something else, no output was written: {}", request_.model, drift));
      std::vector<size_t> all = candidate_.sites, suspects = all;
      while (suspects.size() > 1) {
        progress_.say(fmt::format("looking for what drifts among {} regions", suspects.size()));
        const std::vector<size_t> half(suspects.begin(),
                                       suspects.begin() + static_cast<std::ptrdiff_t>(suspects.size() / 2));
        candidate_ = {};
        candidate_ = fuse::make_candidate(result_.analysis, result_.operators, half, output());
        if (drift_of(candidate_, 3).empty()) {
          suspects.erase(suspects.begin(), suspects.begin() + static_cast<std::ptrdiff_t>(half.size()));
        } else {
          suspects = half;
        }
      }
      leave(all, suspects, "its numbers drift: " + drift);
      make(all);
    }
  }

  /// Times both models; when the fused one is not surely faster, tries once more with the regions that gain
  /// most.
  void measure_whole() {
    for (const bool last : {false, true}) {
      progress_.say(fmt::format("timing both models for {:g} s", request_.seconds));
      result_.times =
          fuse::time_whole(runtime_, request_.model, candidate_.file->file(), inputs_, measuring());
      const auto& interval = result_.times->speedup.interval;
      if (interval && interval->lower > 1) return;
      std::vector<size_t> chosen = candidate_.sites, rest;
      const auto gained = [&](size_t site) {
        return result_.outcomes[site].gain.before_ms - result_.outcomes[site].gain.after_ms;
      };
      std::stable_sort(chosen.begin(), chosen.end(),
                       [&](size_t a, size_t b) { return gained(a) > gained(b); });
      if (!last && chosen.size() > 1)
        rest.assign(chosen.begin() + static_cast<std::ptrdiff_t>(chosen.size() / 2), chosen.end());
      if (last || chosen.size() == 1) rest = chosen;
      leave(chosen, rest, "the whole model was not surely faster with it");
      std::sort(chosen.begin(), chosen.end());
      make(chosen);
      if (chosen.empty()) return;
    }
  }

  const FuseRequest& request_;
  report::Progress& progress_;
  std::vector<fs::path> libraries_, all_libraries_;
  std::shared_ptr<runtime::Runtime> runtime_;
  verify::InputPlan plan_;
  std::vector<runtime::Tensor> inputs_;
  const runtime::ScratchFolder scratch_;
  fs::path library_, source_,
      compiled_source_;  ///< of --compile: where they go, and where the source is until then
  FuseResult result_;
  Candidate candidate_;
};

std::string explain_nothing(const FuseResult& result) {
  if (result.analysis.sites.empty()) {
    if (result.analysis.elementwise == 0) return "it has no elementwise nodes";
    if (result.analysis.left_by_ort == 0) return "ORT itself fuses all its elementwise nodes";
    return "the elementwise nodes that ORT leaves lie apart from each other";
  }
  return "no region pays";
}

int fuse_model(const FuseRequest& request) {
  if (request.output.empty() && !request.check)
    throw InputError("--output is required (or --check, which writes nothing)");
  report::Progress progress(!request.common.quiet && !request.common.json);
  parse_shapes(request.shapes);
  Fusion fusion(request, progress);
  const FuseResult& result = fusion.run();
  const bool found = result.fused() > 0;
  if (found && !request.check) fusion.commit();
  if (!found && request.allow_none && !request.check) {
    graph::StagedModel staged(result.analysis.model, request.output);
    staged.write_unchanged(result.analysis.model);
    staged.commit();
  }
  progress.clear();
  if (request.common.json) {
    print_json(report_of(request, result, found ? (request.check ? "can_fuse" : "fused") : "nothing_pays"));
  } else if (!request.common.quiet) {
    print_report(request, result);
  }
  if (!found && !request.allow_none) {
    throw AnswerError(fmt::format("{}: {}{}", request.model, explain_nothing(result),
                                  request.check ? "" : "; no output was written"));
  }
  if (!request.common.json && !request.common.quiet) fmt::print("\n{}\n", summary_of(request, result));
  return 0;
}

}  // namespace

int FuseResult::fused() const {
  return static_cast<int>(std::count_if(outcomes.begin(), outcomes.end(),
                                        [](const SiteOutcome& outcome) { return outcome.fused; }));
}

void add_fuse(CLI::App& app, Command& chosen) {
  auto request = std::make_shared<FuseRequest>();
  CLI::App* command = app.add_subcommand(
      "fuse", "Find what ONNX Runtime leaves unfused, make one operator of each region, and prove it");
  command->add_option("model", request->model, "The model, which is not changed")->required();
  command->add_option("-o,--output", request->output, "The model to write");
  command->add_option("-l,--library", request->libraries,
                      "Library of the model's own custom operators; may be given several times");
  command->add_option("--operators", request->operators,
                      "The library of ready-made operators, libgraft_ops.so (default: beside the command)");
  command->add_flag("--compile", request->compile,
                    "Write the operators as C++ and compile them, instead of using ready-made ones");
  command->add_option("--library-out", request->library_out,
                      "With --compile: the library to write (default: beside the output, .so)");
  command->add_option("--source-out", request->source_out,
                      "With --compile: the folder for the source (default: that of the library)");
  command->add_option("--domain", request->domain,
                      "With --compile: the domain of the operators (default: fused.NAME, after the output)");
  command->add_option("--compiler", request->compiler,
                      "With --compile: the C++ compiler (default: $CXX, c++, g++, clang++)");
  auto* check = command->add_flag("--check", request->check,
                                  "Write nothing: say what could be fused and what it gains");
  command
      ->add_flag("--allow-none", request->allow_none,
                 "Pass a model on in which nothing pays, instead of failing")
      ->excludes(check);
  command->add_flag_callback(
      "--no-measure", [request] { request->measure = false; },
      "Fuse every region without measuring; the result may be slower");
  command->add_flag_callback(
      "--no-verify", [request] { request->verify = false; }, "Do not compare the numbers");
  const std::map<std::string, runtime::Optimisation> levels{{"none", runtime::Optimisation::none},
                                                            {"basic", runtime::Optimisation::basic},
                                                            {"extended", runtime::Optimisation::extended},
                                                            {"all", runtime::Optimisation::all}};
  command
      ->add_option("--optimisation", request->level,
                   "The level of ONNX Runtime's own optimisation that the model is going to be run at")
      ->transform(CLI::CheckedTransformer(levels).description("none|basic|extended|all"))
      ->default_str("all");
  command->add_option("--shape", request->shapes,
                      "Sizes of an input to run with, NAME=1,3,32,32, or of a symbolic dimension, NAME=8");
  command->add_option(
      "--input", request->inputs,
      "An input to measure and compare with, NAME=FILE (.npy, .pb), or a .npz file with all of them");
  command->add_option("--threads", request->threads, "Threads within an operator")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--seconds", request->seconds, "How long to measure the whole model")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  add_common_options(*command, request->common);
  command->callback([request, &chosen] { chosen = [request] { return fuse_model(*request); }; });
}

}  // namespace graft
