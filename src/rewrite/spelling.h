#pragma once
/// Lets composites of ONNX (HardSwish, Gelu, Mish, ...) match definitions written out, and the other way
/// round: each such node gets the nodes that it stands for added beside it.
///
///   Spellings spellings(index);
///   ValueId spelled = spellings.of(value);  // the same value, made by simpler nodes; `value` itself when
///   there are none
#include <unordered_map>

#include "graph/index.h"

namespace graft::rewrite {

class Spellings {
 public:
  /// Adds the spelled out nodes to the index.
  explicit Spellings(graph::Index& index);

  /// Gives the value that the spelled out nodes make.
  graph::ValueId of(graph::ValueId value) const {
    if (spelled_.empty()) return value;
    const auto place = spelled_.find(value);
    return place == spelled_.end() ? value : place->second;
  }

 private:
  std::unordered_map<graph::ValueId, graph::ValueId> spelled_;
};

}  // namespace graft::rewrite
