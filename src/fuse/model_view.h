#pragma once
/// Lets the search for regions see a graph of a model.
///
///   for (ModelView& scope : views_of(index, constants, types)) find_regions(scope.view, {});
#include <vector>

#include "fuse/view.h"
#include "graph/constant.h"
#include "graph/index.h"
#include "graph/infer.h"

namespace graft::fuse {

struct ModelView {
  View view;
  graph::ScopeId scope = 0;
  std::vector<graph::NodeId> nodes;    ///< of the model, by the view's number
  std::vector<graph::ValueId> values;  ///< of the model, by the view's number
};

/// Gives the main graph and the subgraphs of its nodes, each as a view. Functions are left out. Nodes between
/// quantize and dequantize nodes are marked as kept.
std::vector<ModelView> views_of(const graph::Index& index, const graph::Constants& constants,
                                const graph::Types& types);

}  // namespace graft::fuse
