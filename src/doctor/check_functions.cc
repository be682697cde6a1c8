/// Functions of the model: none may call itself, and a library's operator of the same name takes a function's
/// place.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>

#include "doctor/patient.h"
#include "graph/names.h"

namespace graft::doctor {
namespace {

using graph::NodeId;
using graph::none;
using graph::ScopeId;
using graph::ValueId;
using runtime::DataType;

constexpr size_t most_bytes = 1 << 20;  ///< a constant up to this size goes into the comparison as it is

void check_recursion(Patient& patient) {
  const graph::Index& index = patient.index;
  std::map<ScopeId, std::set<ScopeId>> calls;
  for (NodeId node = 0; node < index.node_count(); ++node) {
    const onnx::NodeProto& proto = index.proto(node);
    const ScopeId called = index.function(proto.domain(), proto.op_type(), proto.overload());
    if (called != none) calls[index.root(index.node(node).scope)].insert(called);
  }
  std::set<ScopeId> done, open;
  const std::function<ScopeId(ScopeId)> circle = [&](ScopeId from) -> ScopeId {
    if (open.count(from)) return from;
    if (!done.insert(from).second) return none;
    open.insert(from);
    for (const ScopeId to : calls[from]) {
      if (const ScopeId found = circle(to); found != none) return found;
    }
    open.erase(from);
    return none;
  };
  for (ScopeId scope = 0; scope < index.scope_count(); ++scope) {
    if (!index.scope(scope).function) continue;
    const ScopeId found = circle(scope);
    if (found == none) continue;
    const auto* function = index.scope(found).function;
    const std::string name = graph::qualified_name(function->domain(), function->name());
    Finding& finding = patient.add(Cause::function_recursion, name);
    finding.evidence.push_back(
        fmt::format("the function {} calls itself, directly or through another one", name));
    finding.cure.push_back("have the body call another operator or function: ONNX has no recursion");
    return;
  }
}

/// Makes a model of one node, with the functions and imports of the model; false when the inputs' types are
/// not known.
bool single_out(const Patient& patient, NodeId node, onnx::ModelProto& model) {
  const onnx::NodeProto& proto = patient.index.proto(node);
  model.set_ir_version(std::min<int64_t>(10, std::max<int64_t>(8, patient.proto().ir_version())));
  *model.mutable_opset_import() = patient.proto().opset_import();
  graph::import_domain(*model.mutable_opset_import(), proto.domain(), 1);
  *model.mutable_functions() = patient.proto().functions();
  auto& graph = *model.mutable_graph();
  graph.set_name("one node");
  *graph.add_node() = proto;
  std::set<std::string> seen;
  for (const ValueId input : patient.index.inputs(node)) {
    if (input == none || !seen.insert(std::string(patient.index.value(input).name)).second) continue;
    const graph::Value& value = patient.index.value(input);
    if (value.initializer && value.initializer->ByteSizeLong() < most_bytes &&
        value.initializer->data_location() != onnx::TensorProto::EXTERNAL) {
      *graph.add_initializer() = *value.initializer;
      continue;
    }
    const graph::Type& type = patient.types.type(input);
    if (type.type == DataType::undefined) return false;
    auto& made = *graph.add_input();
    made.set_name(std::string(value.name));
    auto& tensor = *made.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(static_cast<int32_t>(type.type));
    const std::vector<graph::Dim> dims = type.dims ? *type.dims : std::vector<graph::Dim>{2, 3};
    for (const graph::Dim dim : dims)
      tensor.mutable_shape()->add_dim()->set_dim_value(dim >= 0 && dim < 64 ? dim : 3);
    if (dims.empty()) tensor.mutable_shape();
  }
  for (const std::string& output : proto.output()) {
    if (!output.empty()) graph.add_output()->set_name(output);
  }
  return true;
}

void check_shadowing(Patient& patient) {
  const graph::Index& index = patient.index;
  std::set<std::string> seen;
  for (NodeId node = 0; node < index.node_count(); ++node) {
    const onnx::NodeProto& proto = index.proto(node);
    if (index.function(proto.domain(), proto.op_type(), proto.overload()) == none) continue;
    if (patient.libraries.find(proto.domain(), proto.op_type()).empty()) continue;
    if (index.scope(index.root(index.node(node).scope)).function ||
        !seen.insert(patient.op_text(node)).second)
      continue;
    onnx::ModelProto model;
    if (!single_out(patient, node, model)) continue;
    const std::string difference = patient.prober.difference_made_by_libraries(model);
    if (difference.empty()) continue;
    Finding& found = patient.findings.add(Cause::function_shadowed, patient.op_text(node));
    found.evidence.push_back(
        fmt::format("both the model and the library have {}; {}", patient.op_text(node), difference));
    found.cure.push_back("leave the library out where the model's own function is meant");
    found.cure.push_back("or give one of the two another name or domain");
  }
}

}  // namespace

void check_functions(Patient& patient) {
  check_recursion(patient);
  check_shadowing(patient);
}

}  // namespace graft::doctor
