#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/command.h"
#include "doctor/error_texts.h"
#include "doctor/examine.h"
#include "error.h"
#include "report/progress.h"
#include "report/table.h"

namespace graft {
namespace {

using doctor::Examination;
using doctor::Finding;
using doctor::Findings;
using doctor::Outcome;
using doctor::Severity;
using nlohmann::ordered_json;

constexpr int most_findings = 20;  ///< to print
constexpr size_t most_lines = 4;  ///< of evidence to print; --json has all

struct DoctorArguments {
  std::string model;
  std::vector<std::string> libraries;
  std::vector<std::string> providers;
  std::string error;
  bool fix = false;
  std::string output;
  CommonOptions common;
};

/// Writes a word of a command so that a shell takes it as one.
std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" '\"$`\\&|;<>()*?[]#~!\t\n") == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// Writes the command that does the repairs.
std::string fix_command(const DoctorArguments& arguments) {
  std::string text = "graft doctor " + quoted(arguments.model);
  for (const std::string& library : arguments.libraries) text += " --library " + quoted(library);
  if (!arguments.common.runtime.empty()) text += " --runtime " + quoted(arguments.common.runtime);
  return text + " --fix -o fixed.onnx";
}

void print_lines(const char* head, const std::vector<std::string>& lines) {
  const size_t count = lines.size() > most_lines + 1 ? most_lines : lines.size();
  for (size_t at = 0; at < count; ++at)
    fmt::print("   {:<9} {}\n", at == 0 ? head : "", report::printable(lines[at], 100000));
  if (count < lines.size()) fmt::print("   {:<9} and {} more\n", "", lines.size() - count);
}

/// Says what the repairs of a finding would do, in one line.
std::string repairs_text(const Finding& finding) {
  std::string text;
  for (size_t at = 0; at < finding.repairs.size() && at < most_lines; ++at)
    text += (at ? "; " : "") + finding.repairs[at].what;
  if (finding.repairs.size() > most_lines)
    text += fmt::format("; and {} more", finding.repairs.size() - most_lines);
  return text;
}

/// Prints cause, evidence and cure of each finding. `fix` is the command that does the repairs, empty when
/// they are done.
void print_findings(const Findings& findings, const std::string& fix) {
  int number = 0;
  for (const Finding& finding : findings.list()) {
    if (number == most_findings) {
      fmt::print("\nand {} more; --json lists all\n", findings.list().size() - most_findings);
      return;
    }
    fmt::print("\n{}. {}{} [{}]\n", ++number, finding.severity == Severity::warning ? "Warning: " : "",
               sentence(finding.cause), code(finding.cause));
    print_lines("evidence", finding.evidence);
    std::vector<std::string> cure = finding.cure;
    if (finding.fixable()) {
      cure.insert(cure.begin(), fix.empty() ? "done: " + repairs_text(finding)
                                            : fmt::format("{}  (to {})", fix, repairs_text(finding)));
      if (fix.empty()) cure.resize(1);
    }
    print_lines("cure", cure);
  }
}

ordered_json json_of(const Findings& findings) {
  ordered_json causes = ordered_json::array();
  for (const Finding& finding : findings.list()) {
    ordered_json repairs = ordered_json::array();
    for (const doctor::Repair& repair : finding.repairs) repairs.push_back(repair.what);
    causes.push_back({{"code", code(finding.cause)},
                      {"severity", finding.severity == Severity::warning ? "warning" : "error"},
                      {"subject", finding.subject},
                      {"cause", sentence(finding.cause)},
                      {"evidence", finding.evidence},
                      {"cure", finding.cure},
                      {"fixable", finding.fixable()},
                      {"repairs", repairs}});
  }
  return causes;
}

void print_json(const ordered_json& report) {
  fmt::print("{}\n", report.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

int explain_error(const DoctorArguments& arguments) {
  Findings findings;
  const bool known = doctor::recognise(arguments.error, findings);
  if (!known) {
    Finding& found = findings.add(doctor::Cause::unexplained, "");
    found.evidence.push_back("the text is none that is known here");
    found.cure.push_back("give the model and the libraries: graft doctor MODEL --library LIBRARY.so");
  }
  if (arguments.common.json) {
    print_json({{"schema", "graft.doctor/1"}, {"text", arguments.error}, {"causes", json_of(findings)}});
  } else if (!arguments.common.quiet) {
    fmt::print("the text means:\n");
    print_findings(findings, "");
  }
  return 1;
}

/// Says in one line how the model is.
std::string state_text(const DoctorArguments& arguments, const Examination& examination,
                       const runtime::Runtime& runtime) {
  const auto count = static_cast<long>(examination.findings().list().size());
  if (count == 0) {
    return fmt::format("{}: healthy: ONNX Runtime {} loads it{}", arguments.model, runtime.version(),
                       arguments.libraries.empty() ? "" : ", with the library");
  }
  return fmt::format("{}: ONNX Runtime {} {}; {}", arguments.model, runtime.version(),
                     !examination.loads()       ? "does not load it"
                     : examination.has_errors() ? "loads it, but it does not run as meant"
                                                : "loads it",
                     report::counted(count, examination.has_errors() ? "cause" : "warning"));
}

/// Tells whether ONNX Runtime said something that stands nowhere else.
bool has_own_words(const Examination& examination) {
  const Findings& findings = examination.findings();
  return !examination.loads() && !findings.has(doctor::Cause::unexplained) &&
         !findings.has(doctor::Cause::library_missing);
}

void print_report(const DoctorArguments& arguments, const Examination& examination,
                  const runtime::Runtime& runtime, const Outcome* outcome) {
  fmt::print("{}\n", state_text(arguments, examination, runtime));
  print_findings(examination.findings(), outcome ? "" : fix_command(arguments));
  if (has_own_words(examination)) {
    fmt::print("\nONNX Runtime{} {}\n", examination.died() ? " says nothing:" : "'s own words:",
               report::joined_lines(examination.text()));
  }
  if (!outcome) return;
  for (const std::string& note : outcome->notes)
    fmt::print("{}{}\n", &note == &outcome->notes[0] ? "\n" : "", note);
  if (!outcome->written) {
    fmt::print("\n{} was not written: {}\n", arguments.output,
               outcome->done.empty()
                   ? "nothing of this can be repaired without losing something"
                   : "the repaired model does not load: " + report::joined_lines(outcome->text));
  } else if (outcome->loads) {
    fmt::print("\n{} is written, and ONNX Runtime loads it\n", arguments.output);
  } else {
    fmt::print(
        "\n{} is written with what could be repaired; it does not load yet: see what has no \"done\" above\n",
        arguments.output);
  }
}

ordered_json report_of(const DoctorArguments& arguments, const Examination& examination,
                       const runtime::Runtime& runtime, const Outcome* outcome) {
  ordered_json report{{"schema", "graft.doctor/1"},
                      {"model", arguments.model},
                      {"libraries", arguments.libraries},
                      {"runtime", {{"version", runtime.version()}, {"file", runtime.file().string()}}},
                      {"loads", examination.loads()},
                      {"text", examination.text()},
                      {"healthy", examination.findings().empty()},
                      {"causes", json_of(examination.findings())}};
  if (outcome) {
    report["fix"] = {{"output", arguments.output},
                     {"written", outcome->written},
                     {"loads", outcome->loads},
                     {"done", outcome->done},
                     {"notes", outcome->notes}};
  }
  return report;
}

int diagnose(const DoctorArguments& arguments) {
  if (arguments.model.empty() && arguments.error.empty())
    throw InputError("give a model, or an error's text with --error (see `graft doctor --help`)");
  if (arguments.fix != !arguments.output.empty())
    throw InputError(arguments.fix ? "--fix needs a place for the result: -o FILE" : "-o goes with --fix");
  if (arguments.model.empty()) {
    if (arguments.fix) throw InputError("--fix needs a model");
    return explain_error(arguments);
  }
  report::Progress progress(!arguments.common.quiet && !arguments.common.json);
  progress.say("loading the model in ONNX Runtime");
  const auto runtime = runtime::Runtime::load(runtime::find_runtime(arguments.common.runtime));
  doctor::Request request;
  request.libraries.assign(arguments.libraries.begin(), arguments.libraries.end());
  request.providers = arguments.providers;
  Examination examination(runtime, arguments.model, request);
  std::optional<Outcome> outcome;
  if (arguments.fix) {
    progress.say("repairing the model");
    outcome = examination.repair(arguments.output);
  }
  progress.clear();
  const Outcome* done = outcome ? &*outcome : nullptr;
  if (arguments.common.json) {
    print_json(report_of(arguments, examination, *runtime, done));
  } else if (!arguments.common.quiet) {
    print_report(arguments, examination, *runtime, done);
  }
  if (!examination.has_errors()) return 0;
  return outcome && outcome->written && outcome->loads && !examination.has_unfixable_errors() ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<DoctorArguments>();
  CLI::App* command =
      app.add_subcommand("doctor", "Say why a model does not load or does not run as meant, and repair it");
  command->add_option("model", arguments->model, "The model");
  command->add_option("-l,--library", arguments->libraries, "Operator library that is loaded with the model")
      ->type_size(1)
      ->allow_extra_args(false);
  command
      ->add_option("--provider", arguments->providers,
                   "Execution provider that the model is to run on, such as CUDA")
      ->type_size(1)
      ->allow_extra_args(false);
  command->add_option("--error", arguments->error,
                      "An error of ONNX Runtime, as it was printed: say what it means");
  command->add_flag("--fix", arguments->fix, "Do the repairs that lose nothing");
  command->add_option("-o,--output", arguments->output, "Where the repaired model goes");
  add_common_options(*command, arguments->common);
  command->callback([arguments, &chosen] { chosen = [arguments] { return diagnose(*arguments); }; });
}

}  // namespace graft
