#pragma once
/// Lets you put the nodes of a scope into topological order, keeping the order of the file wherever it
/// allows.
///
///   std::vector<NodeId> order = topological_order(index, 0);
#include <vector>

#include "graph/index.h"

namespace graft::graph {

/// Orders the nodes of a scope so that each comes after those it reads of, those that its subgraphs read of
/// too. Nodes on a cycle come last, in the order of the file.
std::vector<NodeId> topological_order(const Index& index, ScopeId scope);

/// Sorts all the node lists of a model. True when something moved.
bool sort_nodes(onnx::ModelProto& model);

/// Puts `nodes` into the given order: position i takes what was at order[i].
void reorder(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const std::vector<int32_t>& order);

}  // namespace graft::graph
