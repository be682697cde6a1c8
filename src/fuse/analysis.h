#pragma once
/// Lets you know what of a model can be fused: the regions that ORT leaves, grouped by what they compute.
///
///   const Analysis found = analyse(runtime, "model.onnx", {});
///   for (const Kind& kind : found.kinds) fmt::print("{} places: {}\n", kind.sites.size(), kind.what);
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "fuse/model_view.h"
#include "fuse/optimised.h"
#include "fuse/regions.h"
#include "fuse/surgery.h"
#include "graph/model.h"
#include "runtime/runtime.h"

namespace graft::fuse {

/// Is a place in the model that can be fused.
struct Site {
  size_t view = 0;  ///< of Analysis::views
  size_t kind = 0;  ///< of Analysis::kinds
  Region region;
  std::vector<Border> borders;
  std::string scope;   ///< "main", "main/z:then_branch"
  std::string output;  ///< the last value that it makes
};

/// Is what some places compute alike, but for the values of some literals: one operator serves them all.
struct Kind {
  std::string program;                ///< of its first place, in one line
  std::string what;                   ///< its operators, "Add Clip Mul Div"
  std::vector<Parameter> parameters;  ///< literals that differ from place to place
  std::vector<size_t> sites;
};

struct Analysis {
  graph::Model model;
  std::vector<ModelView> views;
  std::vector<Site> sites;
  std::vector<Kind> kinds;
  Optimised before;
  runtime::Optimisation level = runtime::Optimisation::all;
  int nodes = 0;        ///< of the model's graphs
  int elementwise = 0;  ///< of them, what programs can compute
  int left_by_ort = 0;  ///< of these, what ORT leaves as they are
};

/// Reads a model and finds its regions. `libraries` hold the model's own custom operators, `level` is the
/// level of optimisation that the model is going to be run at. Errors are those of graph::read_model and
/// runtime::Session.
Analysis analyse(const std::shared_ptr<runtime::Runtime>& runtime, const std::filesystem::path& model,
                 const std::vector<std::filesystem::path>& libraries, const RegionOptions& options,
                 runtime::Optimisation level = runtime::Optimisation::all);

}  // namespace graft::fuse
