/// The order of nodes: circles, which nothing can run, and nodes before those that they read of.
#include <fmt/format.h>

#include <unordered_map>

#include "doctor/patient.h"
#include "graph/names.h"
#include "graph/sort.h"

namespace graft::doctor {
namespace {

using graph::NodeId;
using graph::none;
using graph::ScopeId;
using graph::ValueId;

/// Lists the nodes of a scope that a node reads of, itself or in its subgraphs.
std::vector<NodeId> read_nodes(const graph::Index& index, NodeId node) {
  std::vector<NodeId> nodes;
  const auto take = [&](ValueId value) {
    if (value == none || index.value(value).producer == none) return;
    if (index.value(value).scope == index.node(node).scope) nodes.push_back(index.value(value).producer);
  };
  for (const ValueId input : index.inputs(node)) take(input);
  for (const ValueId captured : index.captures(node)) take(captured);
  return nodes;
}

/// Finds a circle among the nodes of a scope, in the order in which values flow; empty when there is none.
std::vector<NodeId> find_cycle(const graph::Index& index, ScopeId scope) {
  enum State : int8_t { fresh, open, done };
  std::unordered_map<NodeId, State> states;
  for (const NodeId start : index.scope(scope).nodes) {
    if (states[start] != fresh) continue;
    std::vector<std::pair<NodeId, std::vector<NodeId>>> path;
    states[start] = open;
    path.emplace_back(start, read_nodes(index, start));
    while (!path.empty()) {
      if (path.back().second.empty()) {
        states[path.back().first] = done;
        path.pop_back();
        continue;
      }
      const NodeId next = path.back().second.back();
      path.back().second.pop_back();
      if (states[next] == done) continue;
      if (states[next] == fresh) {
        states[next] = open;
        path.emplace_back(next, read_nodes(index, next));
        continue;
      }
      std::vector<NodeId> cycle;
      for (auto at = path.rbegin(); at != path.rend(); ++at) {
        cycle.push_back(at->first);
        if (at->first == next) return cycle;
      }
    }
  }
  return {};
}

}  // namespace

void check_order(Patient& patient) {
  const graph::Index& index = patient.index;
  bool circle = false;
  NodeId early = none;
  for (ScopeId scope = 0; scope < index.scope_count(); ++scope) {
    if (const std::vector<NodeId> cycle = find_cycle(index, scope); !cycle.empty()) {
      circle = true;
      Finding& found = patient.add(Cause::cycle, index.scope_name(scope));
      std::string way;
      for (const NodeId node : cycle) {
        way += fmt::format("{} makes {}, ", patient.op_text(node),
                           index.proto(node).output_size() ? index.proto(node).output(0) : "nothing");
      }
      found.evidence.push_back(fmt::format("the circle{}: {}which {} reads", patient.scope_text(scope), way,
                                           patient.node_text(cycle[0])));
      found.cure.push_back(fmt::format(
          "break the circle: have one of these nodes read another value: {}",
          patient.python(fmt::format("n = {}; n.input[0] = 'VALUE'", patient.python_node(cycle[0])))));
      continue;
    }
    const std::vector<NodeId> order = graph::topological_order(index, scope);
    for (size_t at = 0; at < order.size() && early == none; ++at) {
      if (order[at] != index.scope(scope).nodes[at]) early = index.scope(scope).nodes[at];
    }
  }
  if (early == none || circle) return;
  Finding& found = patient.add(Cause::node_order, "");
  const bool main = index.node(early).scope == 0;
  if (main) found.severity = Severity::warning;
  found.evidence.push_back(
      fmt::format("{} stands before a node that makes what it reads{}", patient.node_text(early),
                  main ? "; ONNX Runtime sorts them itself, the ONNX standard and other runtimes "
                         "want them in order"
                       : ""));
  found.repairs.push_back(
      {"put the nodes into order", [&model = patient.model.proto] { graph::sort_nodes(model); }});
}

}  // namespace graft::doctor
