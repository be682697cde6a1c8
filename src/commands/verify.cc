#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "commands/command.h"
#include "error.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
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
  std::string tolerance;
  CommonOptions common;
};

/// Splits "name=value"; `option` stands in the message.
std::pair<std::string, std::string> split_assignment(const std::string& text, const char* option,
                                                     const char* form) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw InputError(fmt::format("{} {}: write it as {}", option, text, form));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

runtime::Shape parse_sizes(const std::string& text, const std::string& whole) {
  runtime::Shape shape;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string size = text.substr(at, end - at);
    if (size.empty() || size.size() > 12 || size.find_first_not_of("0123456789") != std::string::npos) {
      throw InputError(fmt::format("--shape {}: \"{}\" is not a size", whole, size));
    }
    shape.push_back(std::stoll(size));
    at = end + 1;
  }
  if (text.ends_with(',')) throw InputError(fmt::format("--shape {}: a size is missing at the end", whole));
  return shape;
}

/// Reads what --input gives: NAME=FILE, or a .npz file whose arrays bear the names of the inputs.
void read_input(const std::string& text, std::map<std::string, runtime::Tensor>& values) {
  if (text.find('=') == std::string::npos && text.ends_with(".npz")) {
    values.merge(runtime::read_npz(text));
    return;
  }
  const auto [name, file] = split_assignment(text, "--input", "NAME=FILE");
  values[name] = runtime::read_tensor(file);
}

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
  if (arguments.special) options.also.push_back(verify::Distribution::special);
  if (!arguments.tolerance.empty()) options.tolerance = parse_tolerance(arguments.tolerance);
  for (const std::string& text : arguments.shapes) {
    const auto [name, sizes] = split_assignment(text, "--shape", "NAME=1,3,32,32");
    options.plan.shapes[name] = parse_sizes(sizes, text);
  }
  for (const std::string& text : arguments.inputs) read_input(text, options.plan.values);
  return options;
}

/// Writes a number that JSON may lack: infinities as "inf".
ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

ordered_json json_of(const Difference& difference) {
  ordered_json json{{"elements", difference.elements},
                    {"differing", difference.differing},
                    {"absolute", json_number(difference.largest_absolute)},
                    {"relative", json_number(difference.largest_relative)},
                    {"ulp",
                     {{"median", json_number(difference.ulp_median)},
                      {"p90", json_number(difference.ulp_90)},
                      {"p99", json_number(difference.ulp_99)},
                      {"largest", json_number(difference.largest_ulp)}}},
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

ordered_json json_of(const verify::Levels& levels) {
  ordered_json outputs = ordered_json::array();
  for (size_t i = 0; i < levels.optimised.outputs.size(); ++i) {
    const Difference& optimised = levels.optimised.outputs[i];
    outputs.push_back({{"name", optimised.output},
                       {"type", type_name(optimised.type)},
                       {"shape", optimised.shape},
                       {"optimised", json_of(optimised)},
                       {"plain", json_of(levels.plain.outputs[i])},
                       {"ort_itself", json_of(levels.ort_itself.outputs[i])}});
  }
  return outputs;
}

void print_json(const VerifyArguments& arguments, const runtime::Runtime& runtime,
                const Judgement& judgement) {
  ordered_json inputs;
  for (const auto& [name, shape] : judgement.plan.shapes) inputs[name] = shape;
  ordered_json others = ordered_json::array();
  for (const verify::OtherInputs& other : judgement.others) {
    others.push_back({{"distribution", to_string(other.distribution)}, {"outputs", json_of(other)}});
  }
  const ordered_json report{{"schema", "graft.verify/1"},
                            {"reference", arguments.reference},
                            {"candidate", arguments.candidate},
                            {"libraries", arguments.libraries},
                            {"runtime", {{"file", runtime.file().string()}, {"version", runtime.version()}}},
                            {"threads", arguments.threads},
                            {"seed", arguments.seed},
                            {"sets", judgement.sets},
                            {"inputs", inputs},
                            {"passed", judgement.passed()},
                            {"reason", judgement.reason},
                            {"outputs", json_of(judgement)},
                            {"others", others}};
  fmt::print("{}\n", report.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_row(const std::string& what, const Difference& difference, int width) {
  if (!difference.mismatch.empty()) {
    fmt::print("  {:<{}}  {}\n", what, width, difference.mismatch);
    return;
  }
  const double share = difference.elements == 0 ? 0
                                                : 100.0 * static_cast<double>(difference.differing) /
                                                      static_cast<double>(difference.elements);
  fmt::print("  {:<{}}  {:>9}  {:>9.2e}  {:>9.2e}  {:>7.4g}  {:>7.4g}  {:>9.4g}\n", what, width,
             fmt::format("{:.3g} %", share), difference.largest_absolute, difference.largest_relative,
             difference.ulp_median, difference.ulp_99, difference.largest_ulp);
}

void print_rows(const verify::Levels& levels, int width) {
  for (size_t i = 0; i < levels.optimised.outputs.size(); ++i) {
    const Difference& optimised = levels.optimised.outputs[i];
    fmt::print("{} {}{}\n", optimised.output, type_name(optimised.type), runtime::to_string(optimised.shape));
    print_row("candidate, full optimisation", optimised, width);
    print_row("candidate, no optimisation", levels.plain.outputs[i], width);
    print_row("ORT itself, full against none", levels.ort_itself.outputs[i], width);
  }
}

void print_table(const VerifyArguments& arguments, const runtime::Runtime& runtime,
                 const Judgement& judgement) {
  constexpr int width = 29;
  std::string shapes;
  for (const auto& [name, shape] : judgement.plan.shapes)
    shapes += fmt::format(" {}{}", name, runtime::to_string(shape));
  fmt::print("reference  {}\ncandidate  {}\n", arguments.reference, arguments.candidate);
  for (const std::string& library : arguments.libraries) fmt::print("library    {}\n", library);
  fmt::print("runtime    ONNX Runtime {}, {} thread{}\ninputs    {}\n\n", runtime.version(),
             arguments.threads, arguments.threads == 1 ? "" : "s", shapes);
  fmt::print("{:<{}}  {:>9}  {:>9}  {:>9}  {:>7}  {:>7}  {:>9}\n", "largest differences", width + 2,
             "differing", "absolute", "relative", "ulp 50%", "ulp 99%", "ulp");
  print_rows(judgement, width);
  for (const verify::OtherInputs& other : judgement.others) {
    fmt::print("with {} inputs:\n", to_string(other.distribution));
    print_rows(other, width);
  }
  if (!judgement.passed()) return;
  const bool equal = judgement.optimised.equal() && judgement.plain.equal();
  fmt::print("\n{} ({} sets of inputs)\n", equal ? "equal" : "the same within rounding", judgement.sets);
}

int verify_models(const VerifyArguments& arguments) {
  const verify::JudgeOptions options = options_of(arguments);
  const auto runtime = runtime::Runtime::load(runtime::find_runtime(arguments.common.runtime));
  for (const std::filesystem::path& library : options.libraries) runtime::try_library(*runtime, library);
  const Judgement judgement = verify::judge(runtime, arguments.reference, arguments.candidate, options);
  if (arguments.common.json) {
    print_json(arguments, *runtime, judgement);
  } else if (!arguments.common.quiet) {
    print_table(arguments, *runtime, judgement);
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
                    "Also inputs with NaN, infinities, zeros of both signs, denormals");
  command->add_option("--tolerance", arguments->tolerance,
                      "Allowed difference of floating outputs: one number, or ABSOLUTE,RELATIVE (default by "
                      "type; float 1e-6,1e-5)");
  add_common_options(*command, arguments->common);
  command->callback([arguments, &chosen] { chosen = [arguments] { return verify_models(*arguments); }; });
}

}  // namespace graft
