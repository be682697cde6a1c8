#pragma once
/// Lets matches be carried out: new nodes take the places of old ones, and nothing that somebody reads goes.
///
///   Replacement replacement(index);
///   replacement.replace(root, match.nodes, constants, match.inputs);   // while searching
///   replacement.apply(...)                                             // at the end
#include <string>
#include <unordered_set>
#include <vector>

#include "graph/constant.h"
#include "graph/index.h"
#include "graph/infer.h"

namespace graft::rewrite {

/// Is a node that takes the place of the node `root`, or, with outputs of its own, of several nodes.
struct NewNode {
  graph::NodeId root = graph::none;
  std::string domain, op;
  std::vector<graph::ValueId> inputs;
  std::vector<onnx::AttributeProto> attributes;
  graph::DataType type = graph::DataType::undefined;  ///< of the first output; undefined: as it was
  std::vector<graph::ValueId> outputs = {};           ///< none: those of the root
  std::string name = {};                              ///< empty: the root's name, or one that is free
};

class Replacement {
 public:
  Replacement(const graph::Index& index, const graph::Constants& constants);

  /// Tells whether a node is still read by something.
  bool alive(graph::NodeId node) const { return !gone_[static_cast<size_t>(node)]; }

  /// Puts a new node in the place of its root, and drops those of `nodes` and of the nodes that make
  /// `constants` that nobody reads any more. True when one of `nodes` has to stay.
  bool replace(NewNode made, const std::vector<graph::NodeId>& nodes,
               const std::vector<graph::ValueId>& constants);

  /// Lets something be added to every new node; the first argument counts the calls of replace().
  template <class Change> void annotate(const Change& change) {
    for (size_t at = 0; at < made_.size(); ++at) change(at, made_[at]);
  }

  /// Changes the model. The index is no good afterwards.
  void apply(onnx::ModelProto& model, const graph::Types& types);

 private:
  bool read(graph::ValueId value) const;
  bool needed(graph::ValueId value) const;

  const graph::Index& index_;
  const graph::Constants& constants_;
  std::vector<int32_t> readers_;
  std::vector<bool> gone_;
  std::vector<bool> replaced_;
  std::unordered_set<graph::ValueId> provided_;  ///< values that a new node makes, and not its root
  std::vector<NewNode> made_;
  std::unordered_set<graph::ValueId> touched_constants_;
};

}  // namespace graft::rewrite
