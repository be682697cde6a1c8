#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "commands/command.h"
#include "commands/differences.h"
#include "commands/inject_report.h"
#include "commands/plan.h"
#include "error.h"
#include "graph/model.h"
#include "report/table.h"
#include "rewrite/definition_file.h"
#include "runtime/library.h"

namespace graft {
namespace {

using rewrite::Injection;

/// Above either, the whole model is not run to prove an injection.
constexpr uint64_t most_bytes = uint64_t{1} << 30;
constexpr int most_nodes = 20'000;

/// Gives the size of a model with its external data.
uint64_t bytes_of(const graph::Model& model) {
  uint64_t bytes = model.size;
  std::error_code error;
  for (const std::string& file : graph::external_data_files(model.proto)) {
    const auto size = std::filesystem::file_size(model.file.parent_path() / file, error);
    if (!error) bytes += size;
  }
  return bytes;
}

rewrite::InjectOptions options_of(const InjectRequest& request, const graph::Model& model) {
  rewrite::InjectOptions options;
  options.operators = request.operators;
  options.only = request.only;
  options.skip = request.skip;
  if (!request.plan.empty()) options.plan = read_plan(request.plan);
  options.exact = request.exact;
  options.keep_ir = request.keep_ir;
  options.folder = std::filesystem::absolute(model.file).parent_path();
  return options;
}

/// Makes a place for a result that is only run: beside the model, so that its external data is in reach, or
/// where that folder cannot be written, in the folder for temporary files.
std::unique_ptr<graph::StagedModel> stage_for_check(const graph::Model& model) {
  const std::string name = model.file.filename().string() + ".check";
  try {
    return std::make_unique<graph::StagedModel>(model, model.file.parent_path() / name);
  } catch (const InputError&) {
    return std::make_unique<graph::StagedModel>(model, std::filesystem::temp_directory_path() / name);
  }
}

std::string named(const std::vector<std::string>& libraries) {
  return libraries.size() == 1 ? libraries[0] : "the libraries";
}

std::string explain_no_match(const InjectRequest& request, const Injection& injection) {
  if (injection.searched.empty() && !injection.undefined.empty())
    return fmt::format(
        "{} has no definition of its operators, so nothing can be looked for; --definition FILE gives them",
        named(request.libraries));
  return fmt::format("nothing in it is what an operator of {} defines", named(request.libraries));
}

void refuse_too_few(const InjectRequest& request, const Injection& injection) {
  int places = static_cast<int>(injection.sites.size());
  for (const auto& [op, count] : injection.already) places += count;
  if (places < request.at_least)
    throw AnswerError(fmt::format("{}: {}, {} asked for{}", request.model, report::counted(places, "place"),
                                  request.at_least, request.check ? "" : "; no output was written"));
}

/// Says that there is nothing to do, and passes the model on where that is right.
int finish_unchanged(const InjectRequest& request, const graph::Model& model, const Injection& injection,
                     graph::StagedModel& staged, report::Progress& progress) {
  std::vector<std::string> notes = injection.notes;
  const bool already = !injection.already.empty();
  const bool passed_on = already || request.allow_none;
  if (passed_on && !request.check) {
    staged.write_unchanged(model);
    staged.commit();
    notes.insert(notes.end(), staged.notes().begin(), staged.notes().end());
  }
  progress.clear();
  if (request.common.json) {
    print_json(report_of(request, injection, nullptr, notes, already ? "already_injected" : "no_match"));
  } else if (!request.common.quiet) {
    print_places(injection);
    for (const std::string& note : notes) fmt::print("note   {}\n", note);
    const std::string what = already ? "everything is injected already" : "nothing to inject";
    if (passed_on && request.check) fmt::print("{}: {}\n", request.model, what);
    if (passed_on && !request.check)
      fmt::print("{}: {}, the output is the input's bytes\n", request.output, what);
  }
  if (!passed_on)
    throw AnswerError(fmt::format("{}: {}{}", request.model, explain_no_match(request, injection),
                                  request.check ? "" : "; no output was written"));
  return 0;
}

/// Sums an injection up in a line.
std::string summary_of(const InjectRequest& request, const Injection& injection,
                       const std::optional<Proof>& proof) {
  std::string summary = fmt::format("{}: {}", request.check ? request.model : request.output,
                                    report::counted(static_cast<long>(injection.sites.size()), "place"));
  if (!proof) return summary + ", not verified";
  if (proof->timing.rounds > 0) summary += fmt::format(", {:.2f}x as fast", proof->timing.speedup.median);
  summary += fmt::format(", largest difference {:.2g}", proof->with_library.optimised.largest_absolute());
  return summary + (proof->without_library ? ", runs without the library too" : ", needs the library");
}

int inject_model(const InjectRequest& request) {
  if (request.output.empty() && !request.check && !request.dry_run)
    throw InputError(
        "--output is required (or --check, which writes nothing, or --dry-run, which prints a plan)");
  report::Progress progress(!request.common.quiet && !request.common.json);
  parse_shapes(request.shapes);
  progress.say("reading the model");
  graph::Model model = graph::read_model(request.model);
  std::vector<runtime::LibraryDescription> libraries;
  for (const std::string& library : request.libraries)
    libraries.push_back(runtime::describe_library(library));
  for (const std::string& file : request.definitions)
    rewrite::complete(libraries, rewrite::read_definitions(file));
  std::unique_ptr<graph::StagedModel> staged;
  if (request.check) {
    staged = stage_for_check(model);
  } else if (!request.dry_run) {
    staged = std::make_unique<graph::StagedModel>(model, request.output);
  }

  progress.say("looking for places");
  rewrite::InjectOptions options = options_of(request, model);
  const bool large = bytes_of(model) > most_bytes || model.proto.graph().node_size() > most_nodes;
  options.neighbourhoods = request.extent == Extent::parts || (request.extent == Extent::automatic && large);
  const Injection injection = rewrite::inject(model.proto, libraries, options);
  if (request.dry_run) {
    progress.clear();
    print_json(plan_of(request.model, request.libraries, injection));
    if (injection.changed() || !injection.already.empty()) return 0;
    throw AnswerError(fmt::format("{}: {}", request.model, explain_no_match(request, injection)));
  }
  refuse_too_few(request, injection);
  if (!injection.changed()) return finish_unchanged(request, model, injection, *staged, progress);

  progress.say("writing the result");
  std::optional<Proof> proof;
  const bool in_parts = options.neighbourhoods;
  if (!request.check || !in_parts) staged->write(model.proto);
  if (request.extent != Extent::none)
    proof = in_parts ? prove_parts(request, injection, progress)
                     : prove(request, staged->file(), injection, progress);
  const std::string drift = proof ? proof->drift : "";
  std::vector<std::string> notes = injection.notes;
  if (!request.check) {
    notes.insert(notes.end(), staged->notes().begin(), staged->notes().end());
    if (drift.empty()) staged->commit();
  }
  progress.clear();
  if (request.common.json) {
    print_json(report_of(request, injection, proof ? &*proof : nullptr, notes,
                         !drift.empty()  ? "drift"
                         : request.check ? "can_inject"
                                         : "injected"));
  } else if (!request.common.quiet) {
    print_places(injection);
    fmt::print("nodes  {} -> {}\n", injection.nodes_before, injection.nodes_after);
    for (const std::string& note : notes) fmt::print("note   {}\n", note);
    if (proof) print_proof(request, *proof);
  }
  if (!drift.empty())
    throw AnswerError(fmt::format("{}: the injected model computes something else{}: {}", request.model,
                                  request.check ? "" : ", no output was written", drift));
  if (!request.common.json && !request.common.quiet)
    fmt::print("\n{}\n", summary_of(request, injection, proof));
  return 0;
}

}  // namespace

void add_inject(CLI::App& app, Command& chosen) {
  auto request = std::make_shared<InjectRequest>();
  CLI::App* command = app.add_subcommand(
      "inject", "Put operators of a library in the places of a model that compute what they define");
  command->add_option("model", request->model, "The model, which is not changed")->required();
  command->add_option("-l,--library", request->libraries, "Operator library; may be given several times")
      ->required();
  command->add_option(
      "--definition", request->definitions,
      "A file that says what operators mean whose library does not; may be given several times");
  command->add_option("-o,--output", request->output, "The model to write");
  command->add_option("--op", request->operators, "Look for this operator only; may be given several times");
  command->add_option(
      "--only", request->only,
      "Replace only the places of this name, a value or a node, * and ? allowed; may be given "
      "several times");
  command->add_option("--skip", request->skip, "Leave the places of this name; may be given several times");
  auto* check =
      command->add_flag("--check", request->check,
                        "Write nothing: say whether the operators have places and compute the same there");
  command->add_option("--at-least", request->at_least, "Fail when there are fewer places than this")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_flag("--dry-run", request->dry_run,
                 "Write no model: print a plan (JSON), to be edited for --plan")
      ->excludes(check);
  command->add_option("--plan", request->plan, "Replace exactly the places of this plan");
  command->add_flag("--exact", request->exact, "Decline places that are the same within rounding only");
  command->add_flag("--keep-ir", request->keep_ir,
                    "Keep the IR version below 8, and embed no fallback there");
  command->add_flag("--allow-none", request->allow_none,
                    "Pass a model without any place on instead of failing");
  const std::map<std::string, Extent> extents{{"auto", Extent::automatic},
                                              {"whole", Extent::whole},
                                              {"parts", Extent::parts},
                                              {"none", Extent::none}};
  command
      ->add_option(
          "--verify", request->extent,
          "What to run and compare: the whole model, only the parts that were replaced, none, or auto: "
          "parts above 1 GiB or 20,000 nodes")
      ->transform(CLI::CheckedTransformer(extents).description("auto|whole|parts|none"))
      ->default_str("auto");
  command->add_flag_callback(
      "--no-verify", [request] { request->extent = Extent::none; }, "The same as --verify none");
  command->add_option("--shape", request->shapes,
                      "Sizes of an input to run with, NAME=1,3,32,32, or of a symbolic dimension, NAME=8");
  command->add_option("--threads", request->threads, "Threads within an operator")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--seconds", request->seconds, "How long to measure")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  add_common_options(*command, request->common);
  command->callback([request, &chosen] { chosen = [request] { return inject_model(*request); }; });
}

}  // namespace graft
