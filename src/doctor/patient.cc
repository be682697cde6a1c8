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
    text = fmt::format(" in the {} of the {} that makes {}", inner.attribute, index.proto(inner.owner).op_type(),
                       index.proto(inner.owner).output_size() ? index.proto(inner.owner).output(0) : "nothing");
  }
  if (outer.function)
    text += fmt::format(" in the function {}", graph::qualified_name(outer.function->domain(), outer.function->name()));
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
  return fmt::format("python3 -c \"import onnx; from onnx import helper; m = onnx.load('{}'); {}; onnx.save(m, 'fixed.onnx')\"",
                     model.file.string(), statement);
}

std::string Patient::python_node(graph::NodeId node) const {
  const onnx::NodeProto& proto = index.proto(node);
  return fmt::format("next(n for n in m.graph.node if '{}' in n.output)", proto.output_size() ? proto.output(0) : "");
}

}  // namespace graft::doctor
