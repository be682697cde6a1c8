#include "fuse/surgery.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "graph/names.h"
#include "rewrite/fallback.h"
#include "rewrite/inline.h"
#include "rewrite/replace.h"
#include "runtime/tensor_proto.h"

namespace graft::fuse {
namespace {

using graph::NodeId;
using graph::none;
using graph::ValueId;

constexpr int64_t functions_ir = 8;
constexpr int64_t separate_constants_ir = 4;
constexpr int64_t constants_of_all_types_opset = 9;

/// Writes a constant as a tensor of its own.
onnx::TensorProto tensor_of(const graph::Constant& constant, const std::string& name) {
  runtime::Tensor tensor = runtime::Tensor::zeros(constant.type, constant.dims);
  onnx::TensorProto made;
  if (constant.tensor && constant.tensor->data_location() != onnx::TensorProto::EXTERNAL &&
      constant.tensor->data_type() == static_cast<int32_t>(constant.type)) {
    made = *constant.tensor;
  } else {
    runtime::set_element(tensor, 0, constant.value);
    runtime::tensor_to_proto(tensor, made);
  }
  made.set_name(name);
  made.clear_doc_string();
  return made;
}

/// Lists the values that the nodes of a region read, that are neither inputs of it nor made in it: its
/// literals.
std::vector<ValueId> literals_of(const Placed& placed) {
  const View& view = placed.view->view;
  std::set<int> known(placed.region->inputs.begin(), placed.region->inputs.end());
  for (const int node : placed.region->nodes) known.insert(view.node(node).outputs[0]);
  std::vector<ValueId> literals;
  for (const int node : placed.region->nodes) {
    for (const int input : view.node(node).inputs) {
      if (input >= 0 && known.insert(input).second)
        literals.push_back(placed.view->values[static_cast<size_t>(input)]);
    }
  }
  return literals;
}

/// Gives the element type of all outputs of a region; undefined when they differ.
runtime::DataType output_type(const Region& region) {
  const auto type = [&](int value) { return region.program.values[static_cast<size_t>(value)].type; };
  const std::vector<int>& outputs = region.program.outputs;
  const bool one = std::all_of(outputs.begin(), outputs.end(),
                               [&](int output) { return type(output) == type(outputs[0]); });
  return one ? data_type(type(outputs[0])) : runtime::DataType::undefined;
}

}  // namespace

onnx::FunctionProto function_of(const Placed& placed, const graph::Index& index,
                                const graph::Constants& constants) {
  const View& view = placed.view->view;
  const Region& region = *placed.region;
  onnx::FunctionProto function;
  function.set_domain(placed.domain);
  function.set_name(placed.op);
  function.set_doc_string(std::string(rewrite::fallback_mark) + placed.op + " in standard operators");
  if (!placed.program.empty()) function.add_attribute("program");
  std::unordered_map<int, std::string> parameters;  // by the view's value
  for (const Parameter& parameter : placed.parameters) {
    function.add_attribute(parameter.name);
    for (const int literal : region.literals[static_cast<size_t>(parameter.value)])
      parameters[literal] = parameter.name;
  }
  auto& import = *function.add_opset_import();
  import.set_domain("");
  import.set_version(index.opset(placed.view->scope));

  std::unordered_map<int, std::string> names;
  for (const int input : region.inputs) {
    names[input] = fmt::format("x{}", function.input_size());
    function.add_input(names[input]);
  }
  for (const int output : region.outputs) {
    names[output] = fmt::format("y{}", function.output_size());
    function.add_output(names[output]);
  }
  int inner = 0, literals = 0;
  for (const int id : region.nodes) {
    const NodeId source = placed.view->nodes[static_cast<size_t>(id)];
    onnx::NodeProto node = index.proto(source);
    node.clear_name();
    node.clear_domain();  // "ai.onnx" would have to be imported
    node.clear_doc_string();
    node.clear_metadata_props();
    for (int slot = 0; slot < node.input_size(); ++slot) {
      const int input = view.node(id).inputs[static_cast<size_t>(slot)];
      if (input < 0) continue;
      const auto [place, fresh] = names.try_emplace(input);
      if (fresh) {  // neither an input nor made before: a literal
        place->second = fmt::format("k{}", literals++);
        onnx::NodeProto& constant = *function.add_node();
        constant.set_op_type("Constant");
        constant.add_output(place->second);
        onnx::AttributeProto& value = *constant.add_attribute();
        if (const auto parameter = parameters.find(input); parameter != parameters.end()) {
          value.set_name("value_float");
          value.set_type(onnx::AttributeProto::FLOAT);
          value.set_ref_attr_name(parameter->second);
          node.set_input(slot, place->second);
          continue;
        }
        value.set_name("value");
        value.set_type(onnx::AttributeProto::TENSOR);
        const graph::Constant& literal = *constants.find(placed.view->values[static_cast<size_t>(input)]);
        if (import.version() < constants_of_all_types_opset && !is_floating(literal.type)) {
          // Constants were floats: a double holds every literal.
          graph::Constant wide = literal;
          wide.type = graph::DataType::float64;
          wide.tensor = nullptr;
          const std::string narrow = place->second;
          constant.set_output(0, narrow + "d");
          *value.mutable_t() = tensor_of(wide, narrow + "d");
          onnx::NodeProto& cast = *function.add_node();
          cast.set_op_type("Cast");
          cast.add_input(narrow + "d");
          cast.add_output(narrow);
          onnx::AttributeProto& to = *cast.add_attribute();
          to.set_name("to");
          to.set_type(onnx::AttributeProto::INT);
          to.set_i(static_cast<int64_t>(literal.type));
        } else {
          *value.mutable_t() = tensor_of(literal, place->second);
        }
      }
      node.set_input(slot, place->second);
    }
    const int output = view.node(id).outputs[0];
    const auto [place, fresh] = names.try_emplace(output);
    if (fresh) place->second = fmt::format("v{}", inner++);
    node.set_output(0, place->second);
    *function.add_node() = std::move(node);
  }
  return function;
}

PutIn put_in(const onnx::ModelProto& source, const std::filesystem::path& folder,
             const std::vector<Placed>& places) {
  PutIn result;
  result.model = source;
  onnx::ModelProto& model = result.model;
  const graph::Index index(model);
  const graph::Constants constants(index, folder);
  const graph::Types types(index, constants);
  result.embedded = model.ir_version() >= separate_constants_ir;

  rewrite::Replacement replacement(index, constants);
  rewrite::FreshNames names(model);
  std::vector<onnx::FunctionProto> functions;
  std::set<std::pair<std::string, std::string>> written;
  for (const Placed& placed : places) {
    const Region& region = *placed.region;
    const auto value = [&](int id) { return placed.view->values[static_cast<size_t>(id)]; };
    if (result.embedded && written.emplace(placed.domain, placed.op).second)
      functions.push_back(function_of(placed, index, constants));
    rewrite::NewNode node;
    node.root = index.value(value(region.outputs.back())).producer;
    node.domain = placed.domain;
    node.op = placed.op;
    node.type = output_type(region);
    for (const int input : region.inputs) node.inputs.push_back(value(input));
    for (const int output : region.outputs) node.outputs.push_back(value(output));
    for (const Parameter& parameter : placed.parameters) {
      onnx::AttributeProto& number = node.attributes.emplace_back();
      number.set_name(parameter.name);
      number.set_type(onnx::AttributeProto::FLOAT);
      number.set_f(static_cast<float>(region.program.values[static_cast<size_t>(parameter.value)].number));
    }
    if (!placed.program.empty()) {
      onnx::AttributeProto& program = node.attributes.emplace_back();
      program.set_name("program");
      program.set_type(onnx::AttributeProto::STRING);
      program.set_s(placed.program);
    }
    std::vector<NodeId> nodes;
    for (const int id : region.nodes) nodes.push_back(placed.view->nodes[static_cast<size_t>(id)]);
    result.nodes.push_back(names.node(placed.node));
    node.name = result.nodes.back();
    replacement.replace(std::move(node), nodes, literals_of(placed));
  }
  replacement.apply(model, types);

  for (const Placed& placed : places) graph::import_domain(*model.mutable_opset_import(), placed.domain, 1);
  for (onnx::FunctionProto& function : functions) *model.add_functions() = std::move(function);
  if (!result.embedded) {
    result.notes.push_back(
        fmt::format("IR version {} counts constants as inputs and stays; it has no functions, so the result "
                    "needs the library",
                    model.ir_version()));
  } else if (model.ir_version() < functions_ir) {
    result.notes.push_back(fmt::format(
        "IR version raised from {} to {}, for the functions that let the model run without the library",
        model.ir_version(), functions_ir));
    model.set_ir_version(functions_ir);
  }
  return result;
}

}  // namespace graft::fuse
