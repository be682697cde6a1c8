#pragma once
/// Lets operators take the places of regions in a model.
///
///   onnx::ModelProto fused = put_in(model, folder, views, {{.view = 0, .region = &region, .op =
///   "Fused_f32_0", ...}});
#include <filesystem>
#include <string>
#include <vector>

#include "fuse/model_view.h"
#include "fuse/regions.h"
#include "onnx-ml.pb.h"

namespace graft::fuse {

/// Is a literal of a region that each place of its operator brings as a float attribute of the node.
struct Parameter {
  int value = -1;  ///< of the region's program
  std::string name;
};

/// Is a region with the operator that takes its place.
struct Placed {
  const ModelView* view = nullptr;
  const Region* region = nullptr;
  std::string domain, op;
  std::vector<Parameter> parameters = {};
  std::string program;  ///< given to the node as an attribute; empty: none
  std::string node;     ///< name of the new node; made unique
};

/// Writes what a region computes as a function in the model's own operators, which runs where the operator is
/// not. `index` is that of the model whose regions these are.
onnx::FunctionProto function_of(const Placed& placed, const graph::Index& index,
                                const graph::Constants& constants);

struct PutIn {
  onnx::ModelProto model;
  std::vector<std::string> nodes;  ///< names of the new nodes, by place
  std::vector<std::string> notes;
  bool embedded = false;  ///< it runs without the operators, too
};

/// Gives the model with operators in the places of regions, their functions embedded and their domains
/// imported. Nothing else changes. Places of one operator must compute the same.
PutIn put_in(const onnx::ModelProto& model, const std::filesystem::path& folder,
             const std::vector<Placed>& places);

}  // namespace graft::fuse
