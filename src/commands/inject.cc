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
#include "rewrite/inject.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "verify/judgement.h"
#include "verify/timing.h"

namespace graft {
namespace {

using nlohmann::ordered_json;
using report::Align;
using report::Table;
using rewrite::Injection;

struct InjectArguments {
  std::string model;
  std::vector<std::string> libraries;
  std::string output;
  std::vector<std::string> operators;
  std::vector<std::string> shapes;
  bool exact = false;
  bool keep_ir = false;
  bool allow_none = false;
  bool no_verify = false;
  int threads = 1;
  double seconds = 4;
  CommonOptions common;
};

/// Is what running both models showed.
struct Verification {
  std::string runtime_version;
  verify::Judgement with_library;
  std::optional<verify::Judgement> without_library;  ///< nothing where no fallback is embedded
  verify::PairTiming timing;
};

Verification run_both(const InjectArguments& arguments, const std::filesystem::path& injected,
                      const Injection& injection, report::Progress& progress) {
  Verification verification;
  progress.say("loading ONNX Runtime");
  const auto runtime = runtime::Runtime::load(runtime::find_runtime(arguments.common.runtime));
  verification.runtime_version = runtime->version();
  verify::JudgeOptions options;
  options.libraries.assign(arguments.libraries.begin(), arguments.libraries.end());
  for (const auto& library : options.libraries) runtime::try_library(*runtime, library);
  options.threads = arguments.threads;
  options.plan.shapes = parse_shapes(arguments.shapes);
  progress.say("comparing the injected model with the original");
  verification.with_library = verify::judge(runtime, arguments.model, injected, options);
  if (!verification.with_library.passed()) return verification;
  if (injection.embedded) {
    progress.say("comparing the injected model without the library");
    verify::JudgeOptions alone = options;
    alone.libraries.clear();
    alone.plan = verification.with_library.plan;
    alone.seeds = 1;
    verification.without_library = verify::judge(runtime, arguments.model, injected, alone);
    if (!verification.without_library->passed()) return verification;
  }
  progress.say("measuring both models");
  runtime::SessionOptions session;
  session.threads = arguments.threads;
  runtime::Session original(runtime, arguments.model, session);
  session.libraries = options.libraries;
  runtime::Session grafted(runtime, injected, session);
  verify::TimingOptions timing;
  timing.budget_seconds = arguments.seconds;
  verification.timing = verify::time_interleaved(
      original, grafted, verify::make_inputs(original, verification.with_library.plan), timing);
  return verification;
}

ordered_json times_of(const verify::Timing& timing) {
  return {{"best_ms", timing.best_ms}, {"median_ms", timing.median_ms}};
}

ordered_json report_of(const InjectArguments& arguments, const Injection& injection,
                     const Verification* verification, const std::vector<std::string>& notes,
                     const std::string& outcome) {
  ordered_json operators = ordered_json::array();
  for (const std::string& name : injection.searched) {
    ordered_json sites = ordered_json::array(), misses = ordered_json::array();
    int exact = 0;
    for (const auto& site : injection.sites) {
      if (site.op != name) continue;
      exact += site.exact ? 1 : 0;
      ordered_json entry{{"scope", site.scope},
                         {"inputs", site.inputs},
                         {"output", site.output},
                         {"type", runtime::type_name(site.type)},
                         {"class", site.exact ? "equal" : "within_rounding"}};
      if (!site.attributes.empty()) entry["attributes"] = site.attributes;
      if (site.inner_value_read) entry["inner_value_read"] = true;
      sites.push_back(std::move(entry));
    }
    for (const auto& miss : injection.misses) {
      if (miss.op == name)
        misses.push_back({{"scope", miss.scope},
                          {"output", miss.output},
                          {"reason", code(miss.reason)},
                          {"detail", miss.detail}});
    }
    const auto already = injection.already.find(name);
    operators.push_back({{"name", name},
                         {"places", sites.size()},
                         {"equal", exact},
                         {"already", already == injection.already.end() ? 0 : already->second},
                         {"sites", sites},
                         {"near_misses", misses}});
  }
  ordered_json report{{"schema", "graft.inject/1"},
                      {"model", arguments.model},
                      {"libraries", arguments.libraries},
                      {"output", arguments.output},
                      {"outcome", outcome},
                      {"places", injection.sites.size()},
                      {"nodes", {{"before", injection.nodes_before}, {"after", injection.nodes_after}}},
                      {"fallback", injection.embedded},
                      {"operators", operators},
                      {"undefined", injection.undefined},
                      {"notes", notes}};
  if (!verification) return report;
  ordered_json entry{
      {"runtime", verification->runtime_version},
      {"threads", arguments.threads},
      {"inputs", json_of(verification->with_library.plan)},
      {"passed", verification->with_library.passed() &&
                     (!verification->without_library || verification->without_library->passed())},
      {"difference", json_of(verification->with_library.optimised)},
      {"difference_plain", json_of(verification->with_library.plain)},
      {"ort_itself", json_of(verification->with_library.ort_itself)}};
  if (!verification->with_library.passed()) entry["reason"] = verification->with_library.reason;
  entry["runs_without_library"] = verification->without_library && verification->without_library->passed();
  if (verification->without_library) {
    entry["difference_without_library"] = json_of(verification->without_library->optimised);
    if (!verification->without_library->passed()) entry["reason"] = verification->without_library->reason;
  }
  if (verification->timing.rounds > 0) {
    entry["time"] = {{"original", times_of(verification->timing.first)},
                     {"injected", times_of(verification->timing.second)},
                     {"rounds", verification->timing.rounds},
                     {"speedup", verification->timing.speedup.median},
                     {"speedup_best", verification->timing.best_speedup}};
  }
  report["verification"] = std::move(entry);
  return report;
}

std::string describe_misses(const Injection& injection, const std::string& op) {
  std::vector<std::pair<rewrite::Reason, std::vector<const rewrite::NearMiss*>>> groups;
  for (const auto& miss : injection.misses) {
    if (miss.op != op) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& known) { return known.first == miss.reason; });
    if (group == groups.end()) group = groups.insert(groups.end(), {miss.reason, {}});
    group->second.push_back(&miss);
  }
  std::string text;
  for (const auto& [reason, misses] : groups) {
    if (!text.empty()) text += "; ";
    const rewrite::NearMiss& first = *misses.front();
    text += fmt::format("{} {}: {}{}", misses.size(), code(reason), misses.size() > 1 ? "e.g. " : "",
                        report::printable(first.output, 40));
    text += fmt::format(
        ", {}", first.detail.empty() ? std::string(sentence(reason)) : report::printable(first.detail, 120));
  }
  return text;
}

void print_places(const Injection& injection) {
  Table table({"operator", "places", "near misses"}, {Align::left, Align::right, Align::left});
  std::vector<std::string> nothing;
  for (const std::string& name : injection.searched) {
    long places = 0, rounded = 0;
    for (const auto& site : injection.sites) {
      places += site.op == name ? 1 : 0;
      rounded += site.op == name && !site.exact ? 1 : 0;
    }
    const std::string misses = describe_misses(injection, name);
    const auto already = injection.already.find(name);
    if (places == 0 && misses.empty() && already == injection.already.end()) {
      nothing.push_back(name);
      continue;
    }
    std::string text = misses;
    if (rounded) text = fmt::format("({} within rounding){}{}", rounded, misses.empty() ? "" : " ", misses);
    if (already != injection.already.end())
      text = fmt::format("({} there before){}{}", already->second, text.empty() ? "" : " ", text);
    table.add({name, std::to_string(places), text.empty() ? "none" : text});
  }
  if (!table.empty()) fmt::print("{}", table.text());
  if (!nothing.empty()) fmt::print("not found: {}\n", fmt::join(nothing, ", "));
  if (!injection.undefined.empty())
    fmt::print("without a definition, so not looked for: {}\n", fmt::join(injection.undefined, ", "));
}

void print_verification(const InjectArguments& arguments, const Verification& verification) {
  fmt::print("\nmeasured with ONNX Runtime {}, {}, inputs {}\n", verification.runtime_version,
             report::counted(arguments.threads, "thread"), inputs_text(verification.with_library.plan));
  Table differences = difference_table();
  differences.add(difference_row("with the library", verification.with_library.optimised));
  if (verification.without_library)
    differences.add(difference_row("without the library", verification.without_library->optimised));
  differences.add(
      difference_row("ORT itself, full against no optimisation", verification.with_library.ort_itself));
  fmt::print("{}", differences.text());
  if (verification.timing.rounds == 0) return;
  Table times({"time", "best", "median"}, {Align::left, Align::right, Align::right});
  const auto row = [](const std::string& what, const verify::Timing& timing) {
    return std::vector<std::string>{what, fmt::format("{:.3f} ms", timing.best_ms),
                                    fmt::format("{:.3f} ms", timing.median_ms)};
  };
  times.add(row("original", verification.timing.first));
  times.add(row("injected", verification.timing.second));
  times.add({"speed-up", fmt::format("{:.2f}x", verification.timing.best_speedup),
             fmt::format("{:.2f}x", verification.timing.speedup.median)});
  fmt::print("{}", times.text());
}

int inject_model(const InjectArguments& arguments) {
  report::Progress progress(!arguments.common.quiet && !arguments.common.json);
  parse_shapes(arguments.shapes);
  progress.say("reading the model");
  graph::Model model = graph::read_model(arguments.model);
  std::vector<runtime::LibraryDescription> libraries;
  for (const std::string& library : arguments.libraries)
    libraries.push_back(runtime::describe_library(library));
  graph::StagedModel staged(model, arguments.output);

  progress.say("looking for places");
  const Injection injection = rewrite::inject(model.proto, libraries,
                                              {arguments.operators, arguments.exact, arguments.keep_ir,
                                               std::filesystem::absolute(model.file).parent_path()});
  std::vector<std::string> notes = injection.notes;

  if (!injection.changed()) {
    const bool already = !injection.already.empty();
    const bool passed_on = already || arguments.allow_none;
    const std::string outcome = already ? "already_injected" : "no_match";
    if (passed_on) {
      staged.write_unchanged(model);
      staged.commit();
      notes.insert(notes.end(), staged.notes().begin(), staged.notes().end());
    }
    progress.clear();
    if (arguments.common.json) {
      print_json(report_of(arguments, injection, nullptr, notes, outcome));
    } else if (!arguments.common.quiet) {
      print_places(injection);
      if (already)
        fmt::print("{}: everything is injected already, the output is the input's bytes\n", arguments.output);
      if (!already && passed_on)
        fmt::print("{}: nothing to inject, the output is the input's bytes\n", arguments.output);
    }
    if (!passed_on)
      throw AnswerError(fmt::format(
          "{}: nothing in it is what an operator of {} defines; no output was written", arguments.model,
          arguments.libraries.size() == 1 ? arguments.libraries[0] : "the libraries"));
    return 0;
  }

  progress.say("writing the result");
  staged.write(model.proto);
  notes.insert(notes.end(), staged.notes().begin(), staged.notes().end());
  std::optional<Verification> verification;
  std::string drift;
  if (!arguments.no_verify) {
    verification = run_both(arguments, staged.file(), injection, progress);
    if (!verification->with_library.passed()) {
      drift = verification->with_library.reason;
    } else if (verification->without_library && !verification->without_library->passed()) {
      drift = "without the library: " + verification->without_library->reason;
    }
  }
  if (drift.empty()) staged.commit();
  progress.clear();
  if (arguments.common.json) {
    print_json(report_of(arguments, injection, verification ? &*verification : nullptr, notes,
                       drift.empty() ? "injected" : "drift"));
  } else if (!arguments.common.quiet) {
    print_places(injection);
    fmt::print("nodes  {} -> {}\n", injection.nodes_before, injection.nodes_after);
    for (const std::string& note : notes) fmt::print("note   {}\n", note);
    if (verification) print_verification(arguments, *verification);
  }
  if (!drift.empty())
    throw AnswerError(fmt::format("{}: the injected model computes something else, no output was written: {}",
                                  arguments.model, drift));
  if (arguments.common.json || arguments.common.quiet) return 0;
  std::string summary = fmt::format("{}: {}", arguments.output,
                                    report::counted(static_cast<long>(injection.sites.size()), "place"));
  if (verification) {
    summary +=
        fmt::format(", {:.2f}x as fast, largest difference {:.2g}", verification->timing.speedup.median,
                    verification->with_library.optimised.largest_absolute());
    summary += verification->without_library ? ", runs without the library too" : ", needs the library";
  } else {
    summary += ", not verified";
  }
  fmt::print("\n{}\n", summary);
  return 0;
}

}  // namespace

void add_inject(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<InjectArguments>();
  CLI::App* command = app.add_subcommand(
      "inject", "Put operators of a library in the places of a model that compute what they define");
  command->add_option("model", arguments->model, "The model, which is not changed")->required();
  command->add_option("-l,--library", arguments->libraries, "Operator library; may be given several times")
      ->required();
  command->add_option("-o,--output", arguments->output, "The model to write")->required();
  command->add_option("--op", arguments->operators,
                      "Look for this operator only; may be given several times");
  command->add_flag("--exact", arguments->exact, "Decline places that are the same within rounding only");
  command->add_flag("--keep-ir", arguments->keep_ir,
                    "Keep the IR version below 8, and embed no fallback there");
  command->add_flag("--allow-none", arguments->allow_none,
                    "Pass a model without any place on instead of failing");
  command->add_flag("--no-verify", arguments->no_verify, "Do not run and compare the two models");
  command->add_option("--shape", arguments->shapes,
                      "Sizes of an input to run with, NAME=1,3,32,32, or of a symbolic dimension, NAME=8");
  command->add_option("--threads", arguments->threads, "Threads within an operator")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--seconds", arguments->seconds, "How long to measure")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  add_common_options(*command, arguments->common);
  command->callback([arguments, &chosen] { chosen = [arguments] { return inject_model(*arguments); }; });
}

}  // namespace graft
