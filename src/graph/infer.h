#pragma once
/// Lets you know element types, ranks and, where it is cheap, sizes of all values, in models that declare
/// none of them.
///
///   Types types(index, constants);
///   if (types.of(value).rank() == 4) ...
///
/// Knows ONNX's own operators; where it is not sure it says unknown, never a guess.
#include <vector>

#include "graph/constant.h"
#include "graph/index.h"
#include "graph/types.h"

namespace graft::graph {

class Types {
 public:
  Types(const Index& index, const Constants& constants);

  const Type& of(ValueId value) const {
    return static_cast<size_t>(value) < types_.size() ? types_[static_cast<size_t>(value)] : nothing_;
  }
  const Symbols& symbols() const { return symbols_; }

 private:
  friend class NodeTypes;
  void infer_scope(ScopeId scope, int depth);
  void infer_node(NodeId node, int depth);
  void infer_call(NodeId node, ScopeId function, int depth);
  void infer_subgraphs(NodeId node, int depth);
  bool refine(ValueId value, Type type);
  ScopeId subgraph(NodeId node, std::string_view attribute) const;

  const Index& index_;
  const Constants& constants_;
  std::vector<Type> types_;
  std::vector<std::vector<NodeId>> orders_;
  std::vector<int> calls_;  ///< how often a function's body was inferred
  std::unordered_map<NodeId, std::vector<ScopeId>> subgraphs_;
  Symbols symbols_;
  Type nothing_;
};

}  // namespace graft::graph
