#include "graph/sort.h"

#include <functional>
#include <queue>

namespace graft::graph {
namespace {

/// Gives the position in the file's order at each rank of the sorted order.
std::vector<int32_t> sorted_positions(const Index& index, ScopeId scope) {
  const std::vector<NodeId>& nodes = index.scope(scope).nodes;
  const auto count = static_cast<int32_t>(nodes.size());
  std::vector<int32_t> order;
  order.reserve(nodes.size());

  std::unordered_map<NodeId, int32_t> position;
  position.reserve(nodes.size());
  for (int32_t at = 0; at < count; ++at) position.emplace(nodes[static_cast<size_t>(at)], at);

  std::vector<std::vector<int32_t>> readers(nodes.size());
  std::vector<int32_t> waiting(nodes.size(), 0);
  bool sorted = true;
  const auto depend = [&](int32_t reader, ValueId read) {
    if (read == none) return;
    const Value& value = index.value(read);
    if (value.producer == none || value.scope != scope) return;
    const auto place = position.find(value.producer);
    if (place == position.end()) return;
    if (place->second >= reader) sorted = false;
    readers[static_cast<size_t>(place->second)].push_back(reader);
    ++waiting[static_cast<size_t>(reader)];
  };
  for (int32_t at = 0; at < count; ++at) {
    const NodeId node = nodes[static_cast<size_t>(at)];
    for (const ValueId read : index.inputs(node)) depend(at, read);
    for (const ValueId read : index.captures(node)) depend(at, read);
  }
  if (sorted) {
    for (int32_t at = 0; at < count; ++at) order.push_back(at);
    return order;
  }
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (int32_t at = 0; at < count; ++at) {
    if (waiting[static_cast<size_t>(at)] == 0) ready.push(at);
  }
  std::vector<bool> done(nodes.size(), false);
  while (!ready.empty()) {
    const int32_t at = ready.top();
    ready.pop();
    order.push_back(at);
    done[static_cast<size_t>(at)] = true;
    for (const int32_t reader : readers[static_cast<size_t>(at)]) {
      if (--waiting[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  for (int32_t at = 0; at < count; ++at) {
    if (!done[static_cast<size_t>(at)]) order.push_back(at);
  }
  return order;
}

}  // namespace

std::vector<NodeId> topological_order(const Index& index, ScopeId scope) {
  const std::vector<NodeId>& nodes = index.scope(scope).nodes;
  std::vector<NodeId> order;
  order.reserve(nodes.size());
  for (const int32_t position : sorted_positions(index, scope))
    order.push_back(nodes[static_cast<size_t>(position)]);
  return order;
}

void reorder(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const std::vector<int32_t>& order) {
  std::vector<onnx::NodeProto*> taken(static_cast<size_t>(nodes.size()));
  if (nodes.size()) nodes.UnsafeArenaExtractSubrange(0, nodes.size(), taken.data());
  for (const int32_t position : order) nodes.UnsafeArenaAddAllocated(taken[static_cast<size_t>(position)]);
}

bool sort_nodes(onnx::ModelProto& model) {
  std::vector<std::pair<ScopeId, std::vector<int32_t>>> moves;
  const Index index(model);
  for (ScopeId scope = 0; scope < index.scope_count(); ++scope) {
    std::vector<int32_t> order = sorted_positions(index, scope);
    bool moved = false;
    for (size_t at = 0; at < order.size(); ++at) moved |= order[at] != static_cast<int32_t>(at);
    if (moved) moves.emplace_back(scope, std::move(order));
  }
  for (const auto& [id, order] : moves) {
    const Scope& scope = index.scope(id);
    reorder(scope.graph ? *scope.graph->mutable_node() : *scope.function->mutable_node(), order);
  }
  return !moves.empty();
}

}  // namespace graft::graph
