#pragma once
/// Lets you take operators out of a model again: each node becomes the standard operators that it stands for.
///
///   Ejection ejection = eject(model.proto, {}, {});
///   for (const auto& [op, places] : ejection.places) fmt::print("{} {}\n", op, places);
#include <map>
#include <string>
#include <vector>

#include "onnx-ml.pb.h"
#include "runtime/library.h"

namespace graft::rewrite {

struct EjectOptions {
  std::vector<std::string> operators = {};  ///< names to eject, with or without domain; none: see eject()
};

struct Ejection {
  std::map<std::string, int> places;  ///< nodes that were written out, by operator ("graft:HardSwish")
  std::map<std::string, int>
      left;  ///< nodes of other domains that have no function in the model, by operator
  std::vector<std::string> removed;       ///< functions that nothing calls any more
  std::vector<std::string> notes;         ///< what a user should know, one line each
  int nodes_before = 0, nodes_after = 0;  ///< of the model's graphs and functions, without the embedded ones
  bool changed() const { return !places.empty(); }
};

/// Rewrites a model in place: nodes that call one of the functions that Graft embedded, or a function asked
/// for by name, in the graph, its subgraphs and the other functions. `libraries` say what operators mean that
/// have no function in the model. InputError when an operator asked for is not in the model, a function calls
/// itself, or the model's opset has no words for a library's definition.
Ejection eject(onnx::ModelProto& model, const std::vector<runtime::LibraryDescription>& libraries,
               const EjectOptions& options);

}  // namespace graft::rewrite
