#include "fuse/optimised.h"

#include <algorithm>

#include "graph/model.h"
#include "graph/names.h"
#include "runtime/scratch_folder.h"
#include "runtime/session.h"

namespace graft::fuse {
namespace {

void collect(const onnx::GraphProto& graph, Optimised& found) {
  for (const onnx::NodeProto& node : graph.node()) {
    const std::string op = graph::qualified_name(node.domain(), node.op_type());
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      found.made.emplace(output, op);
    }
    found.nodes.push_back({op, node.output_size() ? node.output(0) : ""});
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) collect(attribute.g(), found);
      for (const onnx::GraphProto& subgraph : attribute.graphs()) collect(subgraph, found);
    }
  }
}

}  // namespace

Optimised ask_for_optimised(const std::shared_ptr<runtime::Runtime>& runtime,
                            const std::filesystem::path& model,
                            const std::vector<std::filesystem::path>& libraries,
                            runtime::Optimisation level) {
  const runtime::ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "optimised.onnx";
  {
    const runtime::Session session(runtime, model,
                                   {.optimisation = level, .libraries = libraries, .optimised_model = file});
  }
  Optimised found;
  collect(graph::read_model(file).proto.graph(), found);
  return found;
}

std::vector<OptimisedNode> undone(const Optimised& before, const Optimised& after, const std::string& domain,
                                  const std::map<std::string, int>& gone) {
  const auto counts = [&](const OptimisedNode& node) {
    return !node.op.starts_with(domain + ":") && node.op.find(":Reorder") == std::string::npos;
  };
  std::map<std::string, int> more;  // nodes that are there beyond what has to be
  for (const OptimisedNode& node : before.nodes) more[node.op] -= counts(node) ? 1 : 0;
  for (const OptimisedNode& node : after.nodes) more[node.op] += counts(node) ? 1 : 0;
  for (const auto& [op, count] : gone) more[op] += count;
  const bool same =
      std::all_of(more.begin(), more.end(), [](const auto& entry) { return entry.second == 0; });
  std::vector<OptimisedNode> list;
  for (const OptimisedNode& node : after.nodes) {
    if (!same && counts(node) && more[node.op] != 0 && !before.survives(node.output, node.op))
      list.push_back(node);
  }
  return list;
}

}  // namespace graft::fuse
