#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands/command.h"
#include "commands/differences.h"
#include "error.h"
#include "report/progress.h"
#include "report/table.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "verify/bisect.h"
#include "verify/judgement.h"

namespace graft {
namespace {

using nlohmann::ordered_json;
using verify::Comparison;
using verify::Difference;
using verify::Judgement;

struct VerifyArguments {
  std::string reference;
  std::string candidate;
  std::vector<std::string> libraries;
  std::vector<std::string> shapes;
  std::vector<std::string> inputs;
  uint64_t seed = 1;
  int seeds = 3;
  int threads = 1;
  bool special = false;
  bool bisect = false;
  bool no_float64 = false;
  std::string tolerance;
  CommonOptions common;
};

verify::Tolerance parse_tolerance(const std::string& text) {
  const auto number = [&](const std::string& part) {
    size_t end = 0;
    double value = -1;
    try {
      value = std::stod(part, &end);
    } catch (const std::exception&) {
      end = std::string::npos;
    }
    if (end != part.size() || !(value >= 0)) {
      throw InputError(fmt::format("--tolerance {}: write one number, or ABSOLUTE,RELATIVE", text));
    }
    return value;
  };
  const size_t comma = text.find(',');
  if (comma == std::string::npos) return {number(text), number(text)};
  return {number(text.substr(0, comma)), number(text.substr(comma + 1))};
}

verify::JudgeOptions options_of(const VerifyArguments& arguments) {
  verify::JudgeOptions options;
  options.libraries.assign(arguments.libraries.begin(), arguments.libraries.end());
  options.seeds = arguments.seeds;
  options.threads = arguments.threads;
  options.plan.seed = arguments.seed;
  options.float64 = !arguments.no_float64;
  if (arguments.special) {
    options.also.push_back(verify::Distribution::special);
    options.batches = {1, 0};
  }
  if (!arguments.tolerance.empty()) options.tolerance = parse_tolerance(arguments.tolerance);
  options.plan.shapes = parse_shapes(arguments.shapes);
  options.plan.values = read_inputs(arguments.inputs);
  return options;
}

ordered_json entry_of(const Difference& difference) {
  ordered_json json{{"elements", difference.elements},
                    {"differing", difference.differing},
                    {"absolute", json_number(difference.largest_absolute)},
                    {"relative", json_number(difference.largest_relative)},
                    {"ulp",
                     {{"median", json_number(difference.ulp_median)},
                      {"p90", json_number(difference.ulp_90)},
                      {"p99", json_number(difference.ulp_99)},
                      {"largest", json_number(difference.largest_ulp)}}},
                    {"beyond", json_number(difference.largest_beyond)},
                    {"excess", json_number(difference.largest_excess)}};
  if (!difference.mismatch.empty()) json["mismatch"] = difference.mismatch;
  for (const auto& [key, place] :
       {std::pair("first", &difference.first), std::pair("worst", &difference.worst)}) {
    if (*place)
      json[key] = {
          {"index", (*place)->index}, {"reference", (*place)->reference}, {"candidate", (*place)->candidate}};
  }
  return json;
}

ordered_json entries_of(const verify::Levels& levels) {
  ordered_json outputs = ordered_json::array();
  for (size_t i = 0; i < levels.optimised.outputs.size(); ++i) {
    const Difference& optimised = levels.optimised.outputs[i];
    outputs.push_back({{"name", optimised.output},
                       {"type", type_name(optimised.type)},
                       {"shape", optimised.shape},
                       {"optimised", entry_of(optimised)},
                       {"plain", entry_of(levels.plain.outputs[i])},
                       {"ort_itself", entry_of(levels.ort_itself.outputs[i])}});
    if (levels.candidate_error.outputs.empty()) continue;
    outputs.back()["float64"] = {{"reference", entry_of(levels.reference_error.outputs[i])},
                                 {"candidate", entry_of(levels.candidate_error.outputs[i])}};
  }
  return outputs;
}

void print_json(const VerifyArguments& arguments, const runtime::Runtime& runtime, const Judgement& judgement,
                const std::optional<verify::Culprit>& culprit) {
  ordered_json others = ordered_json::array();
  for (const verify::OtherInputs& other : judgement.others) {
    others.push_back({{"distribution", to_string(other.distribution)}, {"outputs", entries_of(other)}});
  }
  ordered_json report{{"schema", "graft.verify/1"},
                      {"reference", arguments.reference},
                      {"candidate", arguments.candidate},
                      {"libraries", arguments.libraries},
                      {"runtime", {{"file", runtime.file().string()}, {"version", runtime.version()}}},
                      {"threads", arguments.threads},
                      {"seed", arguments.seed},
                      {"sets", judgement.sets},
                      {"batches", judgement.batches},
                      {"inputs", json_of(judgement.plan)},
                      {"passed", judgement.passed()},
                      {"reason", judgement.reason},
                      {"float64_note", judgement.float64_note},
                      {"outputs", entries_of(judgement)},
                      {"others", others}};
  if (culprit)
    report["first_difference"] = {{"value", culprit->value},
                                  {"reference_node", culprit->reference_node},
                                  {"candidate_node", culprit->candidate_node},
                                  {"reason", culprit->reason}};
  graft::print_json(report);
}

void add_row(report::Table& table, const std::string& what, const Difference& difference) {
  if (!difference.mismatch.empty()) {
    table.add({"  " + what, difference.mismatch});
    return;
  }
  const double elements = static_cast<double>(std::max<size_t>(difference.elements, 1));
  const double share = 100 * static_cast<double>(difference.differing) / elements;
  table.add({"  " + what, fmt::format("{:.3g} %", share), fmt::format("{:.2g}", difference.largest_absolute),
             fmt::format("{:.2g}", difference.largest_relative), fmt::format("{:.3g}", difference.ulp_median),
             fmt::format("{:.3g}", difference.ulp_99), fmt::format("{:.3g}", difference.largest_ulp)});
}

void add_rows(report::Table& table, const verify::Levels& levels, const std::string& inputs) {
  for (size_t i = 0; i < levels.optimised.outputs.size(); ++i) {
    const Difference& optimised = levels.optimised.outputs[i];
    table.add({fmt::format("{} {}{}{}", report::printable(optimised.output), type_name(optimised.type),
                           runtime::to_string(optimised.shape), inputs)});
    add_row(table, "candidate, full optimisation", optimised);
    add_row(table, "candidate, no optimisation", levels.plain.outputs[i]);
    add_row(table, "ORT itself, full against none", levels.ort_itself.outputs[i]);
    if (levels.candidate_error.outputs.empty()) continue;
    add_row(table, "reference, against float64", levels.reference_error.outputs[i]);
    add_row(table, "candidate, against float64", levels.candidate_error.outputs[i]);
  }
}

void print_table(const VerifyArguments& arguments, const runtime::Runtime& runtime,
                 const Judgement& judgement) {
  fmt::print("reference  {}\ncandidate  {}\n", arguments.reference, arguments.candidate);
  for (const std::string& library : arguments.libraries) fmt::print("library    {}\n", library);
  fmt::print("runtime    ONNX Runtime {}, {}\n", runtime.version(),
             report::counted(arguments.threads, "thread"));
  fmt::print("inputs     {}, {}{}\n\n", inputs_text(judgement.plan), report::counted(judgement.sets, "set"),
             judgement.batches.empty()
                 ? ""
                 : fmt::format(", first dimension {} too", fmt::join(judgement.batches, " and ")));

  using report::Align;
  report::Table table(
      {"largest differences", "differing", "absolute", "relative", "ulp 50%", "ulp 99%", "ulp"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  add_rows(table, judgement, "");
  for (const verify::OtherInputs& other : judgement.others) {
    add_rows(table, other, fmt::format(", {} inputs", to_string(other.distribution)));
  }
  fmt::print("{}", table.text());
  if (!judgement.float64_note.empty()) fmt::print("\nnote: {}\n", judgement.float64_note);
  if (!judgement.passed()) return;
  const bool equal = judgement.optimised.equal() && judgement.plain.equal();
  fmt::print("\n{}\n", equal ? "equal" : "the same within rounding");
}

void print_culprit(const std::optional<verify::Culprit>& culprit) {
  if (!culprit) {
    fmt::print(
        "\nfirst node that differs: not found; no value that both models make under one name drifts alone\n");
    return;
  }
  fmt::print("\nfirst node that differs: {}, which makes {}\n", culprit->candidate_node,
             report::printable(culprit->value));
  if (culprit->reference_node != culprit->candidate_node)
    fmt::print("in the reference:        {}\n", culprit->reference_node);
  fmt::print("there:                   {}\n", culprit->reason);
}

int verify_models(const VerifyArguments& arguments) {
  const verify::JudgeOptions options = options_of(arguments);
  const auto runtime = runtime::Runtime::load(runtime::find_runtime(arguments.common.runtime));
  for (const std::filesystem::path& library : options.libraries) runtime::try_library(*runtime, library);
  const Judgement judgement = verify::judge(runtime, arguments.reference, arguments.candidate, options);
  std::optional<verify::Culprit> culprit;
  if (arguments.bisect && !judgement.passed()) {
    report::Progress progress(!arguments.common.quiet && !arguments.common.json);
    culprit = verify::bisect(runtime, arguments.reference, arguments.candidate, options, judgement.plan,
                             [&](const std::string& what) { progress.say(what); });
  }
  if (arguments.common.json) {
    print_json(arguments, *runtime, judgement, culprit);
  } else if (!arguments.common.quiet) {
    print_table(arguments, *runtime, judgement);
    if (arguments.bisect && !judgement.passed()) print_culprit(culprit);
  }
  std::fflush(stdout);
  if (!judgement.passed())
    throw AnswerError(fmt::format("{}: drift: {}", arguments.candidate, judgement.reason));
  return 0;
}

}  // namespace

void add_verify(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command =
      app.add_subcommand("verify", "Compare two models numerically, on generated and given inputs");
  command->add_option("reference", arguments->reference, "The model that is right")->required();
  command->add_option("candidate", arguments->candidate, "The model to judge")->required();
  command->add_option("-l,--library", arguments->libraries, "Operator library to load with both models");
  command->add_option("--shape", arguments->shapes,
                      "Sizes of an input, NAME=1,3,32,32, or of a symbolic dimension, NAME=8");
  command->add_option("--input", arguments->inputs,
                      "An input from a file, NAME=FILE (.npy, .npz, .pb), or all from FILE.npz");
  command->add_option("--seed", arguments->seed, "First seed of the generated inputs")->capture_default_str();
  command->add_option("--seeds", arguments->seeds, "Sets of generated inputs")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_option("--threads", arguments->threads, "Threads within an operator")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_flag("--special", arguments->special,
                    "Also inputs with NaN, infinities, zeros of both signs, denormals; and an open first "
                    "dimension of 1 and "
                    "of 0, where the reference takes it");
  command->add_option(
      "--tolerance", arguments->tolerance,
      "Allowed difference of floating outputs, in place of the float64 evaluation: one number, or "
      "ABSOLUTE,RELATIVE");
  command->add_flag("--bisect", arguments->bisect, "On drift, find the first node that differs");
  command->add_flag("--no-float64", arguments->no_float64,
                    "Do not evaluate the reference in float64; judge by the default tolerance");
  add_common_options(*command, arguments->common);
  command->callback([arguments, &chosen] { chosen = [arguments] { return verify_models(*arguments); }; });
}

}  // namespace graft
