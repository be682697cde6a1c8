#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "commands/command.h"
#include "error.h"
#include "graph/index.h"
#include "graph/model.h"
#include "graph/names.h"
#include "graph/types.h"
#include "report/table.h"
#include "runtime/library.h"
#include "runtime/math_calls.h"

namespace graft {
namespace {

using nlohmann::ordered_json;
using report::Align;
using report::Table;

struct DescribeArguments {
  std::string file;
  CommonOptions common;
};

/// Tells whether a file is meant to be a library: by how it begins, or by its name where it cannot be read.
bool is_library(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  char start[4] = {};
  if (stream.read(start, 4)) {
    const std::string_view magic(start, 4);
    return magic == std::string_view(
                        "\x7f"
                        "ELF",
                        4) ||
           magic.substr(0, 2) == "MZ" || magic == "\xcf\xfa\xed\xfe";
  }
  const std::string extension = file.extension().string();
  return extension == ".so" || extension == ".dll" || extension == ".dylib";
}

std::string value_text(const runtime::AttributeValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<Held, double>) {
          return fmt::format("{:g}", held);
        } else if constexpr (std::is_same_v<Held, int64_t> || std::is_same_v<Held, std::string>) {
          return fmt::format("{}", held);
        } else {
          return fmt::format("[{}]", fmt::join(held, ", "));
        }
      },
      value);
}

std::string ports_text(const std::vector<runtime::PortDescription>& ports) {
  std::string text;
  for (const auto& port : ports) {
    if (!text.empty()) text += ", ";
    text += port.name;
    if (port.arity == runtime::Arity::optional) text += "?";
    if (port.arity == runtime::Arity::variadic) text += "...";
  }
  return text;
}

/// Gives the name of an element type; an input without one takes any.
std::string_view type_text(runtime::DataType type) {
  return type == runtime::DataType::undefined ? "any" : runtime::type_name(type);
}

std::string types_text(const runtime::OperatorDescription& op) {
  std::vector<std::string> all;
  for (const auto& overload : op.overloads) {
    std::set<runtime::DataType> types(overload.inputs.begin(), overload.inputs.end());
    types.insert(overload.outputs.begin(), overload.outputs.end());
    if (types.size() == 1) {
      all.emplace_back(type_text(*types.begin()));
      continue;
    }
    std::vector<std::string_view> inputs, outputs;
    for (const auto type : overload.inputs) inputs.push_back(type_text(type));
    for (const auto type : overload.outputs) outputs.push_back(type_text(type));
    all.push_back(fmt::format("({} -> {})", fmt::join(inputs, ", "), fmt::join(outputs, ", ")));
  }
  return fmt::format("{}", fmt::join(all, " "));
}

std::string attributes_text(const runtime::OperatorDescription& op) {
  std::vector<std::string> all;
  for (const auto& attribute : op.attributes) {
    const std::string value = value_text(attribute.default_value);
    all.push_back(fmt::format("{} {}{}", to_string(attribute.type), attribute.name,
                              attribute.required ? " (required)"
                              : value.empty()    ? ""
                                                 : " = " + value));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

/// Names an operator, or all of its pool: "graft:Fused_f32_0 to _47".
std::string name_text(const runtime::OperatorDescription& op, const std::map<std::string, int>& pools) {
  const std::string name = fmt::format("{}:{}", op.domain, op.name);
  const auto pool = pools.find(op.pool);
  return op.pool.empty() || pool->second == 1 ? name : fmt::format("{} to _{}", name, pool->second - 1);
}

int describe_library(const DescribeArguments& arguments) {
  const runtime::LibraryDescription library = runtime::describe_library(arguments.file);
  if (arguments.common.json) {
    ordered_json report{{"schema", "graft.describe/1"}, {"kind", "library"}, {"file", arguments.file}};
    report["library"] = ordered_json::parse(library.json);
    report["recorded"] = library.recorded;
    report["math_calls"] = runtime::math_calls(arguments.file);
    fmt::print("{}\n", report.dump(2));
    return 0;
  }
  if (arguments.common.quiet) return 0;
  // Operators that are one under several names are listed once.
  std::map<std::string, int> pools;
  std::vector<runtime::OperatorDescription> operators;
  for (const auto& op : library.operators) {
    if (op.pool.empty() || ++pools[op.pool] == 1) operators.push_back(op);
  }
  fmt::print("{}: {}{}, {}\n\n", arguments.file,
             report::counted(static_cast<long>(operators.size() - pools.size()), "operator"),
             pools.empty() ? "" : " and " + report::counted(static_cast<long>(pools.size()), "pool") + " of names",
             library.recorded
                 ? "not made with Graft: names and types as it registers them, attributes unknown"
                 : "made with Graft " + library.graft_version);
  Table table({"operator", "inputs", "outputs", "types", "attributes", "provider", "shape"},
              {Align::left, Align::left, Align::left, Align::left, Align::left, Align::left, Align::left});
  for (const auto& op : operators) {
    std::string provider = op.provider;
    if (provider.ends_with("ExecutionProvider"))
      provider.resize(provider.size() - std::string_view("ExecutionProvider").size());
    table.add({name_text(op, pools), ports_text(op.inputs), ports_text(op.outputs),
               types_text(op), attributes_text(op), provider, std::string(to_string(op.shape))});
  }
  fmt::print("{}", table.text());
  Table definitions({"definition", "opset", ""}, {Align::left, Align::right, Align::left});
  for (const auto& op : operators) {
    if (op.definitions.empty() && !op.pool.empty())
      definitions.add({op.pool, "", "in the attributes of each node: `graft fuse` writes it"});
    else if (op.definitions.empty())
      definitions.add({op.name, "", "none: inject looks for it when --definition gives one"});
    for (const auto& definition : op.definitions)
      definitions.add({op.name, std::to_string(definition.opset), report::joined_lines(definition.text)});
  }
  fmt::print("\n{}", definitions.text());
  if (const auto calls = runtime::math_calls(arguments.file); !calls.empty()) {
    fmt::print(
        "\ncalls of the C math library: {}; a loop around one is not widened (double has no other, float "
        "does: graft::exp)\n",
        fmt::join(calls, " "));
  }
  return 0;
}

std::string type_text(const onnx::TypeProto& declared) {
  if (!declared.has_tensor_type())
    return declared.value_case() == onnx::TypeProto::VALUE_NOT_SET ? "?" : "not a tensor";
  graph::Symbols symbols;
  const graph::Type type = symbols.read(declared);
  std::string text(runtime::type_name(type.type));
  if (!type.dims) return text + "[...]";
  std::vector<std::string> dims;
  for (const graph::Dim dim : *type.dims)
    dims.push_back(dim >= 0 ? std::to_string(dim) : dim == graph::unknown ? "?" : symbols.name(dim));
  return fmt::format("{}[{}]", text, fmt::join(dims, ","));
}

int describe_model(const DescribeArguments& arguments) {
  graph::Model model = graph::read_model(arguments.file);
  const graph::Index index(model.proto);
  std::map<std::string, int> custom;
  std::map<std::string, int> standard;
  int nodes = 0;
  for (graph::NodeId node = 0; node < index.node_count(); ++node) {
    const onnx::NodeProto& proto = index.proto(node);
    ++nodes;
    const std::string name = graph::qualified_name(proto.domain(), proto.op_type());
    ++(graph::is_default_domain(proto.domain()) ? standard : custom)[name];
  }
  const auto has_function = [&](const std::string& name) {
    const size_t colon = name.find(':');
    return index.function(name.substr(0, colon), name.substr(colon + 1)) != graph::none;
  };
  const std::vector<std::string> external = graph::external_data_files(model.proto);
  const auto& graph = model.proto.graph();
  std::set<std::string> constants;
  for (const auto& tensor : graph.initializer()) constants.insert(tensor.name());
  if (arguments.common.json) {
    ordered_json report{{"schema", "graft.describe/1"},
                        {"kind", "model"},
                        {"file", arguments.file},
                        {"bytes", model.size},
                        {"ir_version", model.proto.ir_version()}};
    for (const auto& import : model.proto.opset_import())
      report["imports"][import.domain()] = import.version();
    const auto list = [&](const auto& values) {
      ordered_json all = ordered_json::array();
      for (const auto& value : values)
        all.push_back({{"name", value.name()},
                       {"type", type_text(value.type())},
                       {"default", constants.count(value.name()) > 0}});
      return all;
    };
    report["inputs"] = list(graph.input());
    report["outputs"] = list(graph.output());
    report["nodes"] = nodes;
    report["standard_operators"] = standard;
    ordered_json others = ordered_json::array();
    for (const auto& [name, count] : custom)
      others.push_back({{"name", name}, {"nodes", count}, {"function", has_function(name)}});
    report["other_operators"] = others;
    ordered_json functions = ordered_json::array();
    for (const auto& function : model.proto.functions())
      functions.push_back(graph::qualified_name(function.domain(), function.name()));
    report["functions"] = functions;
    report["external_data"] = external;
    fmt::print("{}\n", report.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    return 0;
  }
  if (arguments.common.quiet) return 0;
  std::vector<std::string> imports;
  for (const auto& import : model.proto.opset_import())
    imports.push_back(
        fmt::format("{} {}", import.domain().empty() ? "opset" : import.domain(), import.version()));
  fmt::print("{}: a model of {:.1f} MB, IR version {}, {}, {}\n\n", arguments.file,
             static_cast<double>(model.size) / 1e6, model.proto.ir_version(),
             imports.empty() ? "no opset" : fmt::format("{}", fmt::join(imports, ", ")),
             report::counted(nodes, "node"));
  Table values({"value", "name", "type"}, {Align::left, Align::left, Align::left});
  for (const auto& input : graph.input())
    values.add({constants.count(input.name()) ? "input (has a default)" : "input",
                report::printable(input.name()), type_text(input.type())});
  for (const auto& output : graph.output())
    values.add({"output", report::printable(output.name()), type_text(output.type())});
  fmt::print("{}\n", values.text());
  Table operators({"operator", "nodes", "needs"}, {Align::left, Align::right, Align::left});
  for (const auto& [name, count] : custom)
    operators.add(
        {report::printable(name), std::to_string(count),
         has_function(name) ? "nothing: a function of the model, or a library that is faster" : "a library"});
  for (const auto& [name, count] : standard)
    operators.add({report::printable(name), std::to_string(count), ""});
  fmt::print("{}", operators.text());
  if (!external.empty()) fmt::print("\nexternal data: {}\n", fmt::join(external, ", "));
  return 0;
}

}  // namespace

void add_describe(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<DescribeArguments>();
  CLI::App* command = app.add_subcommand("describe", "Say what a library registers, or what a model needs");
  command->add_option("file", arguments->file, "An operator library or a model")->required();
  add_common_options(*command, arguments->common, false);
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      return is_library(arguments->file) ? describe_library(*arguments) : describe_model(*arguments);
    };
  });
}

}  // namespace graft
