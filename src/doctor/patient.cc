#include "doctor/patient.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/names.h"

namespace graft::doctor {

int64_t Patient::opset_of(graph::NodeId node) const {
  const graph::Scope& root = index.scope(index.root(index.node(node).scope));
  if (!root.function) return model_opset;
  const int64_t own = graph::imported_version(root.function->opset_import(), "");
  return own > 0 ? std::min(own, model_opset) : model_opset;
}

std::string Patient::scope_text(graph::ScopeId scope) const {
  if (scope == 0) return "";
  const graph::Scope& outer = index.scope(index.root(scope));
  std::string text;
  if (scope != index.root(scope)) {
    const graph::Scope& inner = index.scope(scope);
    text =
        fmt::format(" in the {} of the {} that makes {}", inner.attribute, index.proto(inner.owner).op_type(),
                    index.proto(inner.owner).output_size() ? index.proto(inner.owner).output(0) : "nothing");
  }
  if (outer.function)
    text += fmt::format(" in the function {}",
                        graph::qualified_name(outer.function->domain(), outer.function->name()));
  return text;
}

std::string Patient::node_text(graph::NodeId node) const {
  const onnx::NodeProto& proto = index.proto(node);
  std::string text = fmt::format("the {} node", op_text(node));
  if (!proto.name().empty()) {
    text += fmt::format(" \"{}\"", proto.name());
  } else if (proto.output_size()) {
    text += fmt::format(" that makes {}", proto.output(0));
  }
  return text + scope_text(index.node(node).scope);
}

std::string Patient::op_text(graph::NodeId node) const {
  return graph::qualified_name(index.proto(node).domain(), index.proto(node).op_type());
}

std::string Patient::python(const std::string& statement) const {
  return fmt::format(
      "python3 -c \"import onnx; from onnx import helper; m = onnx.load('{}'); {}; onnx.save(m, "
      "'fixed.onnx')\"",
      model.file.string(), statement);
}

std::string Patient::python_node(graph::NodeId node) const {
  const graph::ScopeId scope = index.node(node).scope;
  int depth = 0;
  for (graph::ScopeId at = scope; at != index.root(scope); at = index.scope(at).parent) ++depth;
  // One loop into the functions or the graph, and one more for each subgraph on the way.
  const char* nodes = index.scope(index.root(scope)).function ? "for f in m.functions for n0 in f.node"
                                                              : "for n0 in m.graph.node";
  std::string loops = nodes;
  for (int level = 0; level < depth; ++level)
    loops += fmt::format(" for a{0} in n{0}.attribute for n{1} in a{0}.g.node", level, level + 1);
  const onnx::NodeProto& proto = index.proto(node);
  std::string found = fmt::format("next(n{0} {1} if '{2}' in n{0}.output)", depth, loops,
                                  proto.output_size() ? proto.output(0) : "");
  for (size_t at = 0; depth == 0 && (at = found.find("n0", at)) != std::string::npos;) found.erase(at + 1, 1);
  return found;
}

}  // namespace graft::doctor
