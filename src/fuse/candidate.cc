#include "fuse/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>

#include "error.h"
#include "fuse/compile.h"
#include "fuse/emit.h"
#include "runtime/files.h"
#include "runtime/library.h"
#include "runtime/scratch_folder.h"

namespace graft::fuse {

std::vector<std::filesystem::path> with_library(std::vector<std::filesystem::path> libraries,
                                                const std::filesystem::path& library) {
  const bool there = std::any_of(libraries.begin(), libraries.end(), [&](const std::filesystem::path& other) {
    std::error_code error;
    return std::filesystem::equivalent(other, library, error) && !error;
  });
  if (!there) libraries.push_back(library);
  return libraries;
}

namespace {

void add_names(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const std::string& domain,
               std::set<std::string>& names) {
  for (const onnx::NodeProto& node : nodes) {
    if (node.domain() == domain) names.insert(node.op_type());
    for (const onnx::AttributeProto& attribute : node.attribute())
      add_names(attribute.g().node(), domain, names);
  }
}

/// Lists the operators of a domain that a model has already, as functions or as nodes.
std::set<std::string> names_in(const onnx::ModelProto& model, const std::string& domain) {
  std::set<std::string> names;
  add_names(model.graph().node(), domain, names);
  for (const onnx::FunctionProto& function : model.functions()) {
    if (function.domain() == domain) names.insert(function.name());
    add_names(function.node(), domain, names);
  }
  return names;
}

}  // namespace

Operators portable_operators(const Analysis& analysis, const std::filesystem::path& library,
                             const std::vector<size_t>& wanted) {
  const runtime::LibraryDescription described = runtime::describe_library(library);
  std::map<std::string, std::vector<std::string>> pool;  // by element type
  Operators operators{.library = library, .domain = "", .names = {}, .parameters = {}, .take_programs = true};
  for (const runtime::OperatorDescription& op : described.operators) {
    if (!op.name.starts_with("Fused_")) continue;
    operators.domain = op.domain;
    const std::string type = op.name.substr(6, op.name.rfind('_') - 6);
    pool[type].push_back(op.name);
  }
  if (operators.domain.empty())
    throw InputError(fmt::format(
        "{}: it has no operators that run programs (Fused_f32_0, ...); libgraft_ops has", library.string()));
  const std::set<std::string> taken = names_in(analysis.model.proto, operators.domain);
  for (auto& [type, names] : pool) {
    std::erase_if(names, [&](const std::string& name) { return taken.count(name) > 0; });
    std::reverse(names.begin(), names.end());
  }
  operators.names.resize(analysis.kinds.size());
  for (const size_t kind : wanted) {
    const Site& site = analysis.sites[analysis.kinds[kind].sites.front()];
    const fused::Program& program = site.region.program;
    const fused::Type type = program.values[static_cast<size_t>(program.outputs.front())].type;
    std::vector<std::string>& names = pool[std::string(fused::kTypeNames[static_cast<size_t>(type)])];
    if (names.empty()) continue;
    operators.names[kind] = names.back();
    names.pop_back();
  }
  return operators;
}

namespace {

/// Gives a program whose parameters are inputs, behind its own.
fused::Program with_parameters(const fused::Program& program, const std::vector<Parameter>& parameters) {
  const size_t inputs = static_cast<size_t>(program.input_count());
  fused::Program lifted;
  std::vector<int> numbers(program.values.size(), -1);
  const auto add = [&](size_t from, fused::Value value) {
    for (int& operand : value.operands) {
      if (operand >= 0) operand = numbers[static_cast<size_t>(operand)];
    }
    numbers[from] = static_cast<int>(lifted.values.size());
    lifted.values.push_back(value);
  };
  for (size_t i = 0; i < inputs; ++i) add(i, program.values[i]);
  for (const Parameter& parameter : parameters) {
    const auto at = static_cast<size_t>(parameter.value);
    add(at, {.op = fused::Op::input, .type = program.values[at].type});
  }
  for (size_t i = inputs; i < program.values.size(); ++i) {
    if (numbers[i] < 0) add(i, program.values[i]);
  }
  for (const int output : program.outputs) lifted.outputs.push_back(numbers[static_cast<size_t>(output)]);
  return lifted;
}

std::vector<Parameter> parameters_of(const Analysis& analysis, const Operators& operators, size_t kind) {
  std::vector<Parameter> parameters = analysis.kinds[kind].parameters;
  for (size_t i = 0; i < parameters.size() && !operators.parameters.empty(); ++i)
    parameters[i].name = operators.parameters[kind][i];
  return parameters;
}

}  // namespace

/// Lists names that ORT's rewrite rules go by without a look at the domain: its NoopElimination reads the
/// second input of any Sub.
constexpr std::array names_of_ort = {"Add", "Sub",   "Mul",        "Div",      "Sum", "Pow",     "Min",
                                     "Max", "Cast",  "Not",        "Identity", "And", "Relu",    "Clip",
                                     "Neg", "Sqrt",  "Reciprocal", "Where",    "Exp", "Sigmoid", "Abs",
                                     "Erf", "Equal", "Or",         "Tanh"};

Operators compiled_operators(const Analysis& analysis, const CompiledAs& as, std::string& compiler,
                             double& seconds) {
  Operators operators{.library = as.library, .domain = as.domain, .names = {}, .parameters = {}};
  std::vector<Operator> sources;
  std::set<std::string> taken = names_in(analysis.model.proto, as.domain);
  taken.insert(names_of_ort.begin(), names_of_ort.end());
  for (const Kind& kind : analysis.kinds) {
    const Site& first = analysis.sites[kind.sites.front()];
    Operator source;
    source.program = with_parameters(first.region.program, kind.parameters);
    source.attributes = static_cast<int>(kind.parameters.size());
    source.name = name_for(first.region.program, taken);
    source.input_names = input_names_for(source.program);
    source.places = static_cast<int>(kind.sites.size());
    for (const size_t site : kind.sites) source.where.push_back(analysis.sites[site].output);
    operators.names.push_back(source.name);
    operators.parameters.emplace_back(source.input_names.end() - source.attributes, source.input_names.end());
    sources.push_back(std::move(source));
  }
  const std::string made_from = analysis.model.file.filename().string();
  runtime::write_file(as.source, write_source(as.domain, sources, made_from));
  const runtime::ScratchFolder folder;
  std::vector<std::filesystem::path> parts;
  const size_t jobs = std::max(1U, std::thread::hardware_concurrency());
  for (const std::string& text : write_parts(as.domain, sources, made_from, as.source.string(), jobs)) {
    parts.push_back(folder.path() / fmt::format("part{}.cc", parts.size()));
    runtime::write_file(parts.back(), text);
  }
  CompileOptions options;
  options.compiler = as.compiler;
  options.shown_source = as.source.string();
  const Compiled done = compile_library(parts, as.library, options);
  compiler = done.compiler;
  seconds = done.seconds;
  return operators;
}

Candidate make_candidate(const Analysis& analysis, const Operators& operators,
                         const std::vector<size_t>& chosen, const std::filesystem::path& output) {
  Candidate candidate;
  std::vector<Placed> places;
  for (const size_t at : chosen) {
    const Site& site = analysis.sites[at];
    const std::string& name = operators.names[site.kind];
    if (name.empty()) continue;
    places.push_back({.view = &analysis.views[site.view],
                      .region = &site.region,
                      .domain = operators.domain,
                      .op = name,
                      .parameters = parameters_of(analysis, operators, site.kind),
                      .program = operators.take_programs ? fused::write_program(site.region.program) : "",
                      .node = fmt::format("{}/{}", name, site.output)});
    candidate.sites.push_back(at);
  }
  PutIn made =
      put_in(analysis.model.proto, std::filesystem::absolute(analysis.model.file).parent_path(), places);
  candidate.nodes = std::move(made.nodes);
  candidate.notes = std::move(made.notes);
  candidate.embedded = made.embedded;
  candidate.nodes_after = analysis.nodes;
  for (const size_t at : candidate.sites)
    candidate.nodes_after -= static_cast<int>(analysis.sites[at].region.nodes.size()) - 1;
  candidate.file = std::make_unique<graph::StagedModel>(analysis.model, output);
  candidate.file->write(made.model);
  return candidate;
}

std::vector<size_t> in_the_way(const std::shared_ptr<runtime::Runtime>& runtime, const Analysis& analysis,
                               const Operators& operators, const Candidate& candidate,
                               const std::vector<std::filesystem::path>& libraries) {
  const Optimised after = ask_for_optimised(runtime, candidate.file->file(),
                                            with_library(libraries, operators.library), analysis.level);
  std::map<std::string, int> gone;
  for (const size_t at : candidate.sites) {
    const View& view = analysis.views[analysis.sites[at].view].view;
    for (const int node : analysis.sites[at].region.nodes) ++gone[view.node(node).op];
  }
  std::set<std::string> changed;
  for (const OptimisedNode& node : undone(analysis.before, after, operators.domain, gone))
    changed.insert(node.output);
  if (changed.empty()) return {};
  // A site is to blame when it touches what has changed, or reads or feeds a neighbour of it.
  std::vector<size_t> blamed;
  for (const size_t at : candidate.sites) {
    const Site& site = analysis.sites[at];
    const View& view = analysis.views[site.view].view;
    bool near = false;
    const auto check = [&](int value) {
      near = near || (value >= 0 && changed.count(view.value(value).name) > 0);
    };
    for (const int input : site.region.inputs) {
      check(input);
      // Two nodes that are alike are one to ORT, until a region takes one of them.
      for (const int reader : view.value(input).readers) {
        const bool alike = std::any_of(site.region.nodes.begin(), site.region.nodes.end(), [&](int node) {
          return node != reader && view.node(node).op == view.node(reader).op;
        });
        for (const int made : view.node(reader).outputs) {
          if (alike) check(made);
        }
      }
    }
    for (const int output : site.region.outputs) {
      check(output);
      for (const int reader : view.value(output).readers) {
        for (const int made : view.node(reader).outputs) check(made);
      }
    }
    if (near) blamed.push_back(at);
  }
  // Nobody is near: what changed lies further off, and all are suspects.
  return blamed.empty() ? candidate.sites : blamed;
}

}  // namespace graft::fuse
