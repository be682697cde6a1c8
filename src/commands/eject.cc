#include "rewrite/eject.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands/command.h"
#include "commands/differences.h"
#include "error.h"
#include "graph/model.h"
#include "report/progress.h"
#include "report/table.h"
#include "rewrite/definition_file.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "verify/judgement.h"

namespace graft {
namespace {

using nlohmann::ordered_json;
using rewrite::Ejection;

struct EjectArguments {
  std::string model;
  std::vector<std::string> libraries;
  std::vector<std::string> definitions;
  std::string output;
  std::vector<std::string> operators;
  std::vector<std::string> shapes;
  bool allow_none = false;
  bool no_verify = false;
  int threads = 1;
  CommonOptions common;
};

/// Is what running both models showed.
struct Verification {
  std::string runtime_version;
  verify::Judgement judgement;
};

Verification run_both(const EjectArguments& arguments, const std::filesystem::path& ejected,
                      report::Progress& progress) {
  progress.say("loading ONNX Runtime");
  const auto runtime = runtime::Runtime::load(runtime::find_runtime(arguments.common.runtime));
  verify::JudgeOptions options;
  options.libraries.assign(arguments.libraries.begin(), arguments.libraries.end());
  for (const auto& library : options.libraries) runtime::try_library(*runtime, library);
  options.threads = arguments.threads;
  options.plan.shapes = parse_shapes(arguments.shapes);
  progress.say("comparing the result with the model");
  return {runtime->version(), verify::judge(runtime, arguments.model, ejected, options)};
}

ordered_json report_of(const EjectArguments& arguments, const Ejection& ejection,
                       const std::optional<Verification>& verification, const std::vector<std::string>& notes,
                       const std::string& outcome) {
  int places = 0;
  for (const auto& [op, count] : ejection.places) places += count;
  ordered_json report{{"schema", "graft.eject/1"},
                      {"model", arguments.model},
                      {"libraries", arguments.libraries},
                      {"output", arguments.output},
                      {"outcome", outcome},
                      {"places", places},
                      {"nodes", {{"before", ejection.nodes_before}, {"after", ejection.nodes_after}}},
                      {"operators", ejection.places},
                      {"left", ejection.left},
                      {"removed_functions", ejection.removed},
                      {"notes", notes}};
  if (!verification) return report;
  const verify::Judgement& judgement = verification->judgement;
  report["verification"] = {
      {"runtime", verification->runtime_version},   {"threads", arguments.threads},
      {"inputs", json_of(judgement.plan)},          {"passed", judgement.passed()},
      {"difference", json_of(judgement.optimised)}, {"difference_plain", json_of(judgement.plain)},
      {"ort_itself", json_of(judgement.ort_itself)}};
  if (!judgement.passed()) report["verification"]["reason"] = judgement.reason;
  return report;
}

std::string listed(const std::map<std::string, int>& operators) {
  std::string text;
  for (const auto& [op, count] : operators)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", report::printable(op), count);
  return text;
}

void print_report(const EjectArguments& arguments, const Ejection& ejection,
                  const std::optional<Verification>& verification, const std::vector<std::string>& notes) {
  report::Table table({"operator", "places"}, {report::Align::left, report::Align::right});
  for (const auto& [op, places] : ejection.places) table.add({report::printable(op), std::to_string(places)});
  if (!table.empty()) fmt::print("{}", table.text());
  fmt::print("nodes  {} -> {}\n", ejection.nodes_before, ejection.nodes_after);
  if (!ejection.left.empty())
    fmt::print("left   {}: the model has no function for them\n", listed(ejection.left));
  for (const std::string& note : notes) fmt::print("note   {}\n", note);
  if (!verification) return;
  const verify::Judgement& judgement = verification->judgement;
  fmt::print("\ncompared with ONNX Runtime {}, {}, inputs {}\n", verification->runtime_version,
             report::counted(arguments.threads, "thread"), inputs_text(judgement.plan));
  report::Table differences = difference_table();
  differences.add(difference_row("full optimisation", judgement.optimised));
  differences.add(difference_row("no optimisation", judgement.plain));
  differences.add(difference_row("ORT itself, full against no optimisation", judgement.ort_itself));
  fmt::print("{}", differences.text());
}

/// Says why nothing could be ejected.
std::string explain_nothing(const EjectArguments& arguments, const Ejection& ejection) {
  if (ejection.left.empty())
    return fmt::format("{}: it has no operator that Graft put there; no output was written", arguments.model);
  return fmt::format(
      "{}: it has no function for {}; give the library that defines them with --library; no output was "
      "written",
      arguments.model, listed(ejection.left));
}

int eject_model(const EjectArguments& arguments) {
  report::Progress progress(!arguments.common.quiet && !arguments.common.json);
  parse_shapes(arguments.shapes);
  progress.say("reading the model");
  graph::Model model = graph::read_model(arguments.model);
  std::vector<runtime::LibraryDescription> libraries;
  for (const std::string& library : arguments.libraries)
    libraries.push_back(runtime::describe_library(library));
  for (const std::string& file : arguments.definitions)
    rewrite::complete(libraries, rewrite::read_definitions(file));
  graph::StagedModel staged(model, arguments.output);

  progress.say("writing out the operators");
  const Ejection ejection = rewrite::eject(model.proto, libraries, {arguments.operators});
  std::vector<std::string> notes = ejection.notes;
  const bool write = ejection.changed() || !ejection.removed.empty();
  if (!write && !arguments.allow_none) {
    progress.clear();
    if (arguments.common.json) print_json(report_of(arguments, ejection, {}, notes, "no_match"));
    throw AnswerError(explain_nothing(arguments, ejection));
  }
  if (write) {
    staged.write(model.proto);
  } else {
    staged.write_unchanged(model);
  }
  notes.insert(notes.end(), staged.notes().begin(), staged.notes().end());
  std::optional<Verification> verification;
  if (ejection.changed() && !arguments.no_verify) verification = run_both(arguments, staged.file(), progress);
  const bool passed = !verification || verification->judgement.passed();
  if (passed) staged.commit();
  progress.clear();
  if (arguments.common.json) {
    print_json(report_of(arguments, ejection, verification, notes,
                         !passed              ? "drift"
                         : ejection.changed() ? "ejected"
                                              : "no_match"));
  } else if (!arguments.common.quiet) {
    print_report(arguments, ejection, verification, notes);
  }
  if (!passed)
    throw AnswerError(fmt::format("{}: the result computes something else, no output was written: {}",
                                  arguments.model, verification->judgement.reason));
  if (arguments.common.json || arguments.common.quiet) return 0;
  if (!write) {
    fmt::print("\n{}: nothing to eject, the output is the input's bytes\n", arguments.output);
    return 0;
  }
  int places = 0;
  for (const auto& [op, count] : ejection.places) places += count;
  fmt::print(
      "\n{}: {} written out{}, {}\n", arguments.output, report::counted(places, "place"),
      ejection.left.empty() ? ", standard operators only" : "",
      !verification ? "not verified"
      : verification->judgement.plain.equal() && verification->judgement.optimised.equal()
          ? "the same bits"
          : fmt::format("largest difference {:.2g}", verification->judgement.optimised.largest_absolute()));
  return 0;
}

}  // namespace

void add_eject(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<EjectArguments>();
  CLI::App* command = app.add_subcommand(
      "eject", "Put standard operators back in the places of operators that were injected");
  command->add_option("model", arguments->model, "The model, which is not changed")->required();
  command->add_option("-o,--output", arguments->output, "The model to write")->required();
  command->add_option("-l,--library", arguments->libraries,
                      "Operator library: its definitions serve where the model has no function, and it is "
                      "loaded with both models to compare them");
  command->add_option(
      "--definition", arguments->definitions,
      "A file that says what operators mean whose library does not; may be given several times");
  command->add_option(
      "--op", arguments->operators,
      "Write out this operator only, or this function that is not Graft's; may be given several "
      "times");
  command->add_flag("--allow-none", arguments->allow_none,
                    "Pass a model without any place on instead of failing");
  command->add_flag("--no-verify", arguments->no_verify, "Do not run and compare the two models");
  command->add_option("--shape", arguments->shapes,
                      "Sizes of an input to run with, NAME=1,3,32,32, or of a symbolic dimension, NAME=8");
  command->add_option("--threads", arguments->threads, "Threads within an operator")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  add_common_options(*command, arguments->common);
  command->callback([arguments, &chosen] { chosen = [arguments] { return eject_model(*arguments); }; });
}

}  // namespace graft
