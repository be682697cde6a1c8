/// Names of values and nodes: does something make every value that is read, and does only one place make it?
#include <fmt/format.h>

#include <map>
#include <set>
#include <unordered_map>

#include "graph/nearest.h"
#include "doctor/patient.h"
#include "graph/names.h"

namespace graft::doctor {
namespace {

using graph::NodeId;
using graph::none;
using graph::Scope;
using graph::ScopeId;
using graph::ValueId;

constexpr size_t most_looked_for = 50;  ///< beyond, near names are not looked for: a model where nothing fits

bool is_made(const graph::Value& value) {
  return value.producer != none || value.is_input || value.initializer || value.sparse;
}

/// Lists the values that a scope may read.
std::vector<std::string> visible(const Patient& patient, ScopeId scope) {
  std::vector<std::string> names;
  for (ScopeId at = scope; at != none; at = patient.index.scope(at).parent) {
    for (const auto& [name, value] : patient.index.scope(at).names) {
      if (is_made(patient.index.value(value))) names.emplace_back(name);
    }
  }
  return names;
}

void check_inputs(Patient& patient, NodeId node) {
  for (const ValueId input : patient.index.inputs(node)) {
    if (input == none || is_made(patient.index.value(input))) continue;
    const std::string name(patient.index.value(input).name);
    const bool few = patient.findings.list().size() < most_looked_for;
    const std::string near = few ? graph::nearest(name, visible(patient, patient.index.node(node).scope)) : "";
    Finding& found = patient.add(Cause::dangling_input, name);
    found.evidence.push_back(fmt::format("{} reads {}, which no input, initializer or node makes{}",
                                         patient.node_text(node), name,
                                         near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    found.cure.push_back(fmt::format(
        "{}: {}",
        near.empty() ? "connect it to the value that is meant" : fmt::format("if {} is meant", near),
        patient.python(fmt::format("n = {}; n.input[:] = ['{}' if i == '{}' else i for i in n.input]",
                                   patient.python_node(node), near.empty() ? "VALUE" : near, name))));
  }
}

/// Writes `a Gate node`, with its name if it has one.
std::string maker_text(const Patient& patient, NodeId node) {
  const std::string& name = patient.index.proto(node).name();
  return fmt::format("a {} node{}", patient.op_text(node), name.empty() ? "" : fmt::format(" \"{}\"", name));
}

/// Writes `the Gate node that makes h`, without the node's name.
std::string output_text(const Patient& patient, NodeId node) {
  const onnx::NodeProto& proto = patient.index.proto(node);
  return fmt::format("the {} node that makes {}", patient.op_text(node),
                     proto.output_size() ? proto.output(0) : "nothing");
}

/// Finds values that two places of one scope make, or that a subgraph makes again under a name from around
/// it.
void check_duplicates(Patient& patient, ScopeId id) {
  const Scope& scope = patient.index.scope(id);
  std::unordered_map<std::string_view, std::string> makers;
  for (const ValueId input : scope.inputs) makers.emplace(patient.index.value(input).name, "an input");
  if (scope.graph) {
    for (const auto& tensor : scope.graph->initializer()) makers.emplace(tensor.name(), "an initializer");
  }
  for (const NodeId node : scope.nodes) {
    for (const std::string& name : patient.index.proto(node).output()) {
      if (name.empty()) continue;
      const auto [place, added] = makers.emplace(name, maker_text(patient, node));
      if (!added) {
        Finding& found = patient.add(Cause::duplicate_value, name);
        found.beyond_repair = true;
        found.evidence.push_back(
            fmt::format("{} is made by {} and by {}", name, place->second, maker_text(patient, node)));
        found.cure.push_back(
            "give one of the two another name, and have its readers read that: look at both in a viewer "
            "such as netron.app");
      }
    }
  }
}

/// Gives a value of a subgraph a new name; nothing outside can read it.
void rename(const graph::Index& index, ValueId id, const std::string& name) {
  const graph::Value& value = index.value(id);
  const std::string before(value.name);
  for (const graph::Use& use : index.uses(id)) *index.node(use.node).proto->mutable_input(use.slot) = name;
  for (ScopeId at = 0; at < index.scope_count(); ++at) {
    const Scope& scope = index.scope(at);
    for (size_t slot = 0; scope.graph && slot < scope.outputs.size(); ++slot) {
      if (scope.outputs[slot] == id) scope.graph->mutable_output(static_cast<int>(slot))->set_name(name);
    }
    if (at != value.scope || !scope.graph) continue;
    for (auto& known : *scope.graph->mutable_value_info()) {
      if (known.name() == before) known.set_name(name);
    }
  }
  *index.node(value.producer).proto->mutable_output(value.slot) = name;
}

void check_shadowing(Patient& patient, ValueId id) {
  const graph::Value& value = patient.index.value(id);
  const Scope& scope = patient.index.scope(value.scope);
  if (scope.parent == none || value.producer == none || patient.loads) return;
  const ValueId outer = patient.index.find(scope.parent, value.name);
  if (outer == none || !is_made(patient.index.value(outer))) return;
  const std::string name(value.name);
  Finding& found = patient.add(Cause::duplicate_value, name);
  found.evidence.push_back(fmt::format("{} makes {} again, which the graph around it has already",
                                       patient.node_text(value.producer), name));
  std::string fresh = name + "_inner";
  while (patient.index.find(value.scope, fresh) != none) fresh += "_";
  found.repairs.push_back({fmt::format("rename the inner {} to {}", name, fresh),
                           [&index = patient.index, id, fresh] { rename(index, id, fresh); }});
}

void check_node_names(Patient& patient, ScopeId id) {
  std::set<std::string> names;
  for (const NodeId node : patient.index.scope(id).nodes) names.insert(patient.index.proto(node).name());
  std::map<std::string, NodeId> owners;
  for (const NodeId node : patient.index.scope(id).nodes) {
    onnx::NodeProto* proto = patient.index.node(node).proto;
    if (proto->name().empty()) continue;
    const auto [owner, added] = owners.emplace(proto->name(), node);
    if (added) continue;
    std::string fresh;
    for (int number = 2; fresh.empty() || !names.insert(fresh).second; ++number)
      fresh = fmt::format("{}_{}", proto->name(), number);
    Finding& found = patient.add(Cause::duplicate_node_name, proto->name());
    found.evidence.push_back(fmt::format("{} and {}{} are both called \"{}\"",
                                         output_text(patient, owner->second), output_text(patient, node),
                                         patient.scope_text(id), proto->name()));
    found.repairs.push_back({fmt::format("rename the second node \"{}\" to \"{}\"", proto->name(), fresh),
                             [proto, fresh] { proto->set_name(fresh); }});
  }
}

void check_outputs(Patient& patient, ScopeId id) {
  const Scope& scope = patient.index.scope(id);
  for (size_t slot = 0; slot < scope.outputs.size(); ++slot) {
    const std::string name = scope.graph ? scope.graph->output(static_cast<int>(slot)).name()
                                         : scope.function->output(static_cast<int>(slot));
    const ValueId value = scope.outputs[slot];
    const std::string where = id == 0 ? "the model's" : "an";
    if (value == none || !is_made(patient.index.value(value))) {
      std::vector<std::string> names;
      for (const auto& [made, candidate] : scope.names) {
        if (is_made(patient.index.value(candidate))) names.emplace_back(made);
      }
      const std::string near = graph::nearest(name, names);
      Finding& found = patient.add(Cause::output_not_produced, name);
      found.beyond_repair = true;
      found.evidence.push_back(fmt::format("{} is {} output{}, and no node makes it{}", name, where,
                                           patient.scope_text(id),
                                           near.empty() ? "" : fmt::format("; did you mean {}?", near)));
      found.cure.push_back(fmt::format(
          "name the value that is meant: {}",
          patient.python(fmt::format("next(o for o in m.graph.output if o.name == '{}').name = '{}'", name,
                                     near.empty() ? "VALUE" : near))));
      continue;
    }
    if (scope.graph && scope.parent != none && patient.index.value(value).scope != id && !patient.loads) {
      Finding& found = patient.add(Cause::output_not_produced, name);
      found.evidence.push_back(
          fmt::format("{} is an output{}, but the graph around it makes it", name, patient.scope_text(id)));
      std::string fresh = name + "_inner";
      while (patient.index.find(id, fresh) != none) fresh += "_";
      onnx::GraphProto* graph = scope.graph;
      found.repairs.push_back(
          {fmt::format("put an Identity node between {} and the output", name), [graph, slot, name, fresh] {
             auto* node = graph->add_node();
             node->set_op_type("Identity");
             node->add_input(name);
             node->add_output(fresh);
             graph->mutable_output(static_cast<int>(slot))->set_name(fresh);
           }});
    }
  }
}

}  // namespace

void check_wiring(Patient& patient) {
  for (NodeId node = 0; node < patient.index.node_count(); ++node) check_inputs(patient, node);
  for (ValueId value = 0; value < patient.index.value_count(); ++value) check_shadowing(patient, value);
  for (ScopeId scope = 0; scope < patient.index.scope_count(); ++scope) {
    check_duplicates(patient, scope);
    check_node_names(patient, scope);
    check_outputs(patient, scope);
  }
}

}  // namespace graft::doctor
