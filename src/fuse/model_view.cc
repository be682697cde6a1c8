#include "fuse/model_view.h"

#include <fmt/format.h>

#include <unordered_map>

#include "graph/names.h"
#include "graph/sort.h"

namespace graft::fuse {
namespace {

using graph::NodeId;
using graph::ValueId;

class Builder {
 public:
  Builder(const graph::Index& index, const graph::Constants& constants, const graph::Types& types,
          graph::ScopeId scope)
      : index_(index), constants_(constants), types_(types) {
    made_.scope = scope;
  }

  ModelView build() {
    for (const NodeId node : graph::topological_order(index_, made_.scope)) add(node);
    for (const ValueId output : index_.scope(made_.scope).outputs) (void)value(output);
    return std::move(made_);
  }

 private:
  int value(ValueId id) {
    if (id == graph::none) return -1;
    const auto [place, fresh] = numbers_.try_emplace(id, -1);
    if (!fresh) return place->second;
    const graph::Value& source = index_.value(id);
    ViewValue made{.name = std::string(source.name), .type = types_.of(id), .escapes = source.is_output};
    if (const graph::Constant* constant = constants_.find(id);
        constant && constant->scalar() && !constant->overridable && constant->attribute.empty()) {
      made.scalar = constant->value;
      made.type.type = constant->type;
      made.type.dims = constant->dims;
    }
    for (const graph::Use& use : index_.uses(id)) made.escapes |= index_.node(use.node).scope != made_.scope;
    made_.values.push_back(id);
    return place->second = made_.view.add_value(std::move(made));
  }

  void add(NodeId id) {
    const onnx::NodeProto& source = index_.proto(id);
    ViewNode node;
    node.op = graph::qualified_name(source.domain(), source.op_type());
    if (graph::is_default_domain(source.domain())) node.op = source.op_type();
    node.opset = index_.opset(made_.scope);
    for (const onnx::AttributeProto& attribute : source.attribute()) {
      Attribute& made = node.attributes[attribute.name()];
      if (!attribute.ref_attr_name().empty()) continue;
      if (attribute.type() == onnx::AttributeProto::FLOAT) made = static_cast<double>(attribute.f());
      if (attribute.type() == onnx::AttributeProto::INT) made = attribute.i();
      if (attribute.type() == onnx::AttributeProto::STRING) made = attribute.s();
    }
    for (const ValueId input : index_.inputs(id)) node.inputs.push_back(value(input));
    for (const ValueId output : index_.outputs(id)) node.outputs.push_back(value(output));
    for (const ValueId captured : index_.captures(id)) node.captures.push_back(value(captured));
    if (is_quantized(id)) node.kept = "it lies between quantize and dequantize nodes";
    made_.nodes.push_back(id);
    made_.view.add_node(std::move(node));
  }

  bool is(NodeId node, std::string_view op) const {
    return node != graph::none && index_.proto(node).op_type() == op;
  }

  bool is_quantized(NodeId id) const {
    for (const ValueId input : index_.inputs(id)) {
      if (input != graph::none && is(index_.value(input).producer, "DequantizeLinear") &&
          !constants_.find(input) && !is_weight(index_.value(input).producer))
        return true;
    }
    for (const ValueId output : index_.outputs(id)) {
      if (output == graph::none) continue;
      for (const graph::Use& use : index_.uses(output)) {
        if (use.slot == 0 && is(use.node, "QuantizeLinear")) return true;
      }
    }
    return false;
  }

  /// Tells whether a node dequantizes an initializer: that is how weights are stored, and says nothing of the
  /// values.
  bool is_weight(NodeId node) const {
    const ValueId source = index_.input(node, 0);
    return source != graph::none && constants_.find(source) != nullptr;
  }

  const graph::Index& index_;
  const graph::Constants& constants_;
  const graph::Types& types_;
  std::unordered_map<ValueId, int> numbers_;
  ModelView made_;
};

}  // namespace

std::vector<ModelView> views_of(const graph::Index& index, const graph::Constants& constants,
                                const graph::Types& types) {
  std::vector<ModelView> views;
  for (graph::ScopeId scope = 0; scope < index.scope_count(); ++scope) {
    if (index.scope(index.root(scope)).function) continue;
    views.push_back(Builder(index, constants, types, scope).build());
  }
  return views;
}

}  // namespace graft::fuse
