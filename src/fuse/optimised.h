#pragma once
/// Lets you know what ORT makes of a model before it runs it: which nodes it leaves as they are, and which it
/// fuses.
///
///   const Optimised before = ask_for_optimised(runtime, "model.onnx", {});
///   if (before.survives("y", "Mul")) ...
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "onnx-ml.pb.h"
#include "runtime/runtime.h"
#include "runtime/session.h"

namespace graft::fuse {

struct OptimisedNode {
  std::string op;  ///< "Mul", "com.microsoft:QuickGelu"
  std::string output;
};

struct Optimised {
  std::vector<OptimisedNode> nodes;  ///< those of subgraphs too
  std::set<std::pair<std::string, std::string>> made;

  /// Tells whether the node that makes this value is still there as itself.
  bool survives(const std::string& output, const std::string& op) const {
    return made.count({output, op}) > 0;
  }
};

/// Loads the model at a level of optimisation and reads what ORT would run. The model's own custom operators
/// need their libraries. Errors are those of runtime::Session.
Optimised ask_for_optimised(const std::shared_ptr<runtime::Runtime>& runtime,
                            const std::filesystem::path& model,
                            const std::vector<std::filesystem::path>& libraries, runtime::Optimisation level);

/// Lists what ORT does otherwise with a model in which operators of `domain` took the places of nodes: nodes
/// of `after` that were not there before. `gone` counts, by operator, the nodes of the original that ORT left
/// and that are no more. Where the numbers of nodes of each kind are what they have to be, nothing is listed:
/// ORT's names for values may differ. Reorders of ORT's blocked layout are not counted.
std::vector<OptimisedNode> undone(const Optimised& before, const Optimised& after, const std::string& domain,
                                  const std::map<std::string, int>& gone);

}  // namespace graft::fuse
