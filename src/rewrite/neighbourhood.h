#pragma once
/// Lets a replacement be proven where the whole model is too large to run: the nodes that were replaced,
/// alone.
///
///   Neighbourhoods neighbourhoods(index, constants, types);
///   neighbourhoods.note("graft:HardSwish", node, root, match);   // while searching, before anything changes
///   std::vector<Neighbourhood> pairs = neighbourhoods.finish(model);   // when all is done
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/infer.h"
#include "rewrite/match.h"

namespace graft::rewrite {

/// Is a pair of small models: what one place was, and what it has become.
struct Neighbourhood {
  std::string op;      ///< "graft:HardSwish"
  std::string scope;   ///< of the first place that looks like this
  std::string output;  ///< of the first place
  int places = 0;      ///< that look like this: the same nodes, constants, types and ranks
  onnx::ModelProto before, after;
};

class Neighbourhoods {
 public:
  Neighbourhoods(const graph::Index& index, const graph::Constants& constants, const graph::Types& types)
      : index_(index), constants_(constants), types_(types) {}

  /// Notes a place that will be replaced; copies its nodes when no place looked like it before.
  void note(const std::string& op, NodeId node, ValueId root, const Match& match);

  /// Gives the pairs; `model` is the changed one, with its functions and imports.
  std::vector<Neighbourhood> finish(const onnx::ModelProto& model);

  /// Gives the number of places that cannot be run alone: in a function, where they depend on its attributes,
  /// or with constants in external files.
  int alone_impossible() const { return impossible_; }

 private:
  struct Entry {
    Neighbourhood pair;
    NodeId root;
  };

  bool copy(const Match& match, ValueId root, onnx::GraphProto& graph) const;
  bool copy_constant(ValueId value, onnx::GraphProto& graph) const;
  void declare(ValueId value, onnx::ValueInfoProto& info) const;

  const graph::Index& index_;
  const graph::Constants& constants_;
  const graph::Types& types_;
  std::unordered_map<std::string, size_t> known_;  ///< by what a place looks like
  std::vector<Entry> entries_;
  int impossible_ = 0;
};

}  // namespace graft::rewrite
