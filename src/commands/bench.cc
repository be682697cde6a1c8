#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/measure.h"
#include "commands/bench_page.h"
#include "commands/bench_report.h"
#include "commands/command.h"
#include "commands/differences.h"
#include "error.h"
#include "report/progress.h"
#include "report/table.h"
#include "runtime/library.h"
#include "runtime/providers.h"
#include "runtime/runtime.h"

namespace graft {
namespace {

struct BenchArguments {
  std::string model;
  std::string other;
  std::vector<std::string> libraries;
  std::vector<std::string> shapes;
  std::vector<std::string> inputs;
  std::vector<std::string> providers;
  std::string html;
  uint64_t seed = 1;
  int threads = 1;
  int rounds = 0;
  double seconds = 4;
  bool allow_fallback = false;
  bool no_verify = false;
  CommonOptions common;
};

bench::Request request_of(const BenchArguments& arguments) {
  bench::Request request;
  request.model = arguments.model;
  request.other = arguments.other;
  request.libraries.assign(arguments.libraries.begin(), arguments.libraries.end());
  request.providers = arguments.providers;
  request.plan.shapes = parse_shapes(arguments.shapes);
  request.plan.values = read_inputs(arguments.inputs);
  request.plan.seed = arguments.seed;
  request.threads = arguments.threads;
  request.rounds = arguments.rounds;
  request.seconds = arguments.seconds;
  request.verify = !arguments.no_verify;
  return request;
}

/// Says which nodes ran where nobody wanted them, or nothing.
std::string fallback_text(const bench::ModelMeasurement& model, const std::string& providers) {
  constexpr size_t most_named = 3;
  if (model.fallbacks.empty()) return "";
  std::string nodes;
  for (size_t i = 0; i < std::min(most_named, model.fallbacks.size()); ++i) {
    const bench::NodeUse& node = model.profile.nodes[model.fallbacks[i]];
    nodes += fmt::format("{}`{}` ({}, on {})", i ? ", " : "", report::printable(node.name), node.op,
                         runtime::short_provider_name(node.provider));
  }
  if (model.fallbacks.size() > most_named) nodes += ", ...";
  return fmt::format("{}: {} of {} did not run on {}: {}", model.file, model.fallbacks.size(),
                     report::counted(static_cast<long>(model.profile.nodes.size()), "node"), providers,
                     nodes);
}

/// Lists what makes the answer bad, in one line; empty when nothing does. What is allowed becomes a warning.
std::string complaints(const BenchArguments& arguments, const BenchContext& context,
                       bench::Measurement& found) {
  std::string text;
  const auto complain = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  for (const bench::ModelMeasurement& model : found.models) {
    const std::string fallback = fallback_text(model, context.providers());
    if (fallback.empty()) continue;
    if (arguments.allow_fallback) {
      found.warnings.push_back(fallback);
    } else {
      complain(fallback + "; --allow-fallback measures them all the same");
    }
  }
  if (found.pair && found.pair->judgement && !found.pair->judgement->passed())
    complain(fmt::format("{}: drift: {}", arguments.other, found.pair->judgement->reason));
  return text;
}

int bench_models(const BenchArguments& arguments) {
  report::Progress progress(!arguments.common.quiet && !arguments.common.json);
  BenchContext context;
  context.request = request_of(arguments);
  const auto runtime = runtime::Runtime::load(runtime::find_runtime(arguments.common.runtime));
  context.runtime_file = runtime->file().string();
  context.runtime_version = runtime->version();
  for (const std::filesystem::path& library : context.request.libraries)
    runtime::try_library(*runtime, library);
  bench::Measurement found =
      bench::measure(runtime, context.request, [&](const std::string& what) { progress.say(what); });
  progress.clear();
  const std::string bad = complaints(arguments, context, found);
  if (!arguments.html.empty()) write_bench_page(arguments.html, context, found, bad);
  if (arguments.common.json) {
    print_json(json_of(context, found));
  } else if (!arguments.common.quiet) {
    print_text(context, found);
    if (!arguments.html.empty()) fmt::print("\npage       {}\n", arguments.html);
  }
  std::fflush(stdout);
  if (!bad.empty()) throw AnswerError(bad);
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand(
      "bench", "Time a model, or two in turn: spread, speed-up, operators, memory traffic");
  command->add_option("model", arguments->model, "The model to time")->required();
  command->add_option("other", arguments->other, "A model to time against it, in turn");
  command->add_option("-l,--library", arguments->libraries, "Operator library to load with both models")
      ->allow_extra_args(false);
  command->add_option("--shape", arguments->shapes,
                      "Sizes of an input, NAME=1,3,32,32, or of a symbolic dimension, NAME=8");
  command->add_option("--input", arguments->inputs,
                      "An input from a file, NAME=FILE (.npy, .npz, .pb), or all from FILE.npz");
  command->add_option("--seed", arguments->seed, "Seed of the generated inputs")->capture_default_str();
  command->add_option("--threads", arguments->threads, "Threads within an operator")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--seconds", arguments->seconds, "How long to time; at least 10 rounds are")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 86400.0));
  command->add_option("--rounds", arguments->rounds, "Time exactly so many rounds instead")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--provider", arguments->providers,
                      "Execution provider to run on, the preferred one first (CUDA, XNNPACK, CPU, ...)");
  command->add_flag("--allow-fallback", arguments->allow_fallback,
                    "Only warn of nodes that ran on a provider that was not asked for");
  command->add_flag("--no-verify", arguments->no_verify, "Do not compare the outputs of the two models");
  command->add_option("--html", arguments->html, "Also write a page with tables and charts");
  add_common_options(*command, arguments->common);
  command->callback([arguments, &chosen] { chosen = [arguments] { return bench_models(*arguments); }; });
}

}  // namespace graft
