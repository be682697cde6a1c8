#include "check/check_library.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/command.h"
#include "error.h"
#include "report/progress.h"
#include "report/table.h"
#include "runtime/runtime.h"

namespace graft {
namespace {

using check::Checked;
using check::CheckedLibrary;
using check::Finding;
using check::Report;
using nlohmann::ordered_json;
using report::Align;
using report::counted;
using report::printable;
using report::Table;

struct CheckArguments {
  std::string library;
  std::vector<std::string> definitions;
  std::vector<std::string> operators;
  std::vector<std::string> shapes;
  int threads = 4;
  double seconds = 120;
  CommonOptions common;
};

/// Writes texts of other libraries, which may hold anything, on one line.
std::string on_a_line(const std::string& text) { return printable(report::joined_lines(text), 300); }

ordered_json to_json(const Checked& one) {
  const Report& report = one.report;
  ordered_json written{{"operator", fmt::format("{}:{}", one.subject.op.domain, one.subject.op.name)},
                       {"types", check::types_text(one.subject)},
                       {"cases", report.cases},
                       {"compared", report.compared},
                       {"shapes", report.shapes},
                       {"refused", report.refused},
                       {"largest_ulp", report.largest_ulp},
                       {"cut_short", report.cut_short},
                       {"notes", report.notes},
                       {"findings", ordered_json::array()}};
  for (const Finding& finding : report.findings) written["findings"].push_back(check::to_json(finding));
  return written;
}

void print_json(const CheckArguments& arguments, const runtime::Runtime& runtime,
                const CheckedLibrary& library) {
  ordered_json report{{"schema", "graft.check/1"},
                      {"library", arguments.library},
                      {"runtime", runtime.version()},
                      {"recorded", library.recorded},
                      {"opsets", {17, library.newest_opset}},
                      {"passed", library.findings() == 0},
                      {"checked", ordered_json::array()}};
  for (const Checked& one : library.checked) report["checked"].push_back(to_json(one));
  fmt::print("{}\n", report.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

std::string result_text(const Report& report) {
  std::string text;
  for (const Finding& finding : report.findings) text += (text.empty() ? "" : ", ") + finding.code;
  if (text.empty())
    text = report.cases == 0 ? "not run" : report.compared == 0 ? "fine, not compared" : "fine";
  return text + (report.cut_short ? " (cut short)" : "");
}

void print_finding(const Checked& one, const Finding& finding) {
  fmt::print("\n{}: {}\n", to_string(one.subject), finding.code);
  const auto line = [](const char* head, const std::string& text) {
    if (!text.empty()) fmt::print("  {:<11}{}\n", head, on_a_line(text));
  };
  line("when", finding.what);
  line("shapes", finding.shapes);
  line("attributes", finding.attributes);
  line("at", finding.inputs);
  line("expected", finding.expected);
  line("got", finding.got);
  if (finding.times > 1) fmt::print("  {:<11}{} more like it\n", "and", finding.times - 1);
}

void print_table(const CheckArguments& arguments, const runtime::Runtime& runtime,
                 const CheckedLibrary& library) {
  fmt::print("{}: ORT {}, opset 17 and {}{}\n\n", arguments.library, runtime.version(), library.newest_opset,
             library.recorded ? "; not made with Graft: names and types as it registers them" : "");
  Table table({"operator", "types", "shapes", "cases", "compared", "declined", "ulp", ""},
              {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
               Align::left});
  for (const Checked& one : library.checked) {
    const Report& report = one.report;
    table.add({fmt::format("{}:{}", one.subject.op.domain, one.subject.op.name),
               check::types_text(one.subject), std::to_string(report.shapes), std::to_string(report.cases),
               std::to_string(report.compared), std::to_string(report.refused),
               report.largest_ulp > 0 ? fmt::format("{:.2g}", report.largest_ulp) : "", result_text(report)});
  }
  fmt::print("{}", table.text());
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;  // text, and of which subjects
  for (const Checked& one : library.checked) {
    for (const std::string& note : one.report.notes) {
      auto known =
          std::find_if(notes.begin(), notes.end(), [&](const auto& pair) { return pair.first == note; });
      if (known == notes.end()) known = notes.insert(notes.end(), {note, {}});
      known->second.push_back(fmt::format("{} {}", one.subject.op.name, check::types_text(one.subject)));
    }
  }
  if (!notes.empty()) fmt::print("\n");
  for (const auto& [note, subjects] : notes)
    fmt::print("note: {}: {}\n", fmt::join(subjects, ", "), on_a_line(note));
  for (const Checked& one : library.checked) {
    for (const Finding& finding : one.report.findings) print_finding(one, finding);
  }
}

/// Names what was found, for the error line: "Roll race, Half edge_value".
std::string summary(const CheckedLibrary& library) {
  std::string text;
  for (const Checked& one : library.checked) {
    for (const Finding& finding : one.report.findings)
      text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", one.subject.op.name, finding.code,
                          check::types_text(one.subject));
  }
  return text;
}

int check_command(const CheckArguments& arguments) {
  check::CheckOptions options;
  options.definitions.assign(arguments.definitions.begin(), arguments.definitions.end());
  options.operators = arguments.operators;
  options.shapes = parse_shapes(arguments.shapes);
  options.threads = arguments.threads;
  options.seconds = arguments.seconds;
  report::Progress progress(!arguments.common.quiet && !arguments.common.json);
  options.progress = [&](const std::string& what) { progress.say(what); };
  const auto runtime = runtime::Runtime::load(runtime::find_runtime(arguments.common.runtime));
  const CheckedLibrary library = check::check_library(runtime, arguments.library, options);
  progress.clear();
  if (arguments.common.json) {
    print_json(arguments, *runtime, library);
  } else if (!arguments.common.quiet) {
    print_table(arguments, *runtime, library);
  }
  std::fflush(stdout);
  if (const int64_t findings = library.findings(); findings > 0)
    throw AnswerError(
        fmt::format("{}: {}: {}", arguments.library, counted(findings, "finding"), summary(library)));
  return 0;
}

}  // namespace

void add_check(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand(
      "check",
      "Check a library's operators against their definitions: types, shapes, edge values, threads, memory");
  command->add_option("library", arguments->library, "The operator library")->required();
  command->add_option("--definition", arguments->definitions,
                      "A file that says what operators mean, for a library that does not");
  command->add_option("--op", arguments->operators, "Check this operator only, with or without its domain");
  command->add_option("--shape", arguments->shapes,
                      "Shape of an input, NAME=2,512, in place of those that are tried");
  command->add_option("--threads", arguments->threads, "Most threads within an operator")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command
      ->add_option("--seconds", arguments->seconds,
                   "Time for all of it; what is not done by then is reported as cut short")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  add_common_options(*command, arguments->common);
  command->callback([arguments, &chosen] { chosen = [arguments] { return check_command(*arguments); }; });
}

}  // namespace graft
