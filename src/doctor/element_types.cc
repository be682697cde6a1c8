#include "doctor/element_types.h"

#include "graph/constant.h"
#include "graph/infer.h"
#include "graph/names.h"

namespace graft::doctor {
namespace {

using graph::none;
using graph::ValueId;

constexpr size_t most_bytes = 4096;  ///< tensors up to this size keep their elements: axes and shapes do

/// Copies a tensor, without the elements of a large one.
void outline(const onnx::TensorProto& tensor, onnx::TensorProto& copy) {
  if (tensor.ByteSizeLong() <= most_bytes) {
    copy = tensor;
    return;
  }
  copy.set_name(tensor.name());
  copy.set_data_type(tensor.data_type());
  *copy.mutable_dims() = tensor.dims();
}

/// Finds the input whose type an output always has.
int same_as_input(const runtime::OperatorDescription& op, size_t output) {
  for (size_t input = 0; input < op.inputs.size(); ++input) {
    bool always = !op.overloads.empty();
    for (const auto& overload : op.overloads)
      always &= overload.outputs[output] == overload.inputs[input] &&
                overload.outputs[output] != runtime::DataType::undefined;
    if (always) return static_cast<int>(input);
  }
  return -1;
}

/// Finds the one type that an output has in every overload.
runtime::DataType constant_type(const runtime::OperatorDescription& op, size_t output) {
  const auto type = op.overloads.empty() ? runtime::DataType::undefined : op.overloads[0].outputs[output];
  for (const auto& overload : op.overloads) {
    if (overload.outputs[output] != type) return runtime::DataType::undefined;
  }
  return type;
}

class Outline {
 public:
  explicit Outline(const Libraries& libraries) : libraries_(libraries) {}

  /// Copies a graph without what it declares of its own values.
  void copy(const onnx::GraphProto& graph, onnx::GraphProto& to) const {
    *to.mutable_input() = graph.input();
    for (const auto& tensor : graph.initializer()) outline(tensor, *to.add_initializer());
    for (const auto& sparse : graph.sparse_initializer()) {
      outline(sparse.values(), *to.add_sparse_initializer()->mutable_values());
    }
    for (const auto& output : graph.output()) to.add_output()->set_name(output.name());
    copy(graph.node(), *to.mutable_node());
  }

  void copy(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
            google::protobuf::RepeatedPtrField<onnx::NodeProto>& to) const {
    for (const auto& node : nodes) {
      if (!graph::is_default_domain(node.domain())) {
        const auto operators = libraries_.find(node.domain(), node.op_type());
        if (!operators.empty()) {
          // A recorded operator of many overloads may have open ports, and then nothing is sure.
          const bool open = libraries_.is_recorded(*operators[0]) && operators[0]->overloads.size() > 1;
          if (!open) spell_out(node, *operators[0], to);
          continue;
        }
      }
      auto& made = *to.Add();
      made.set_domain(node.domain());
      made.set_op_type(node.op_type());
      made.set_overload(node.overload());
      made.set_name(node.name());
      *made.mutable_input() = node.input();
      *made.mutable_output() = node.output();
      for (const auto& attribute : node.attribute()) {
        auto& kept = *made.add_attribute();
        if (attribute.has_g()) {
          kept.set_name(attribute.name());
          kept.set_type(attribute.type());
          copy(attribute.g(), *kept.mutable_g());
        } else if (attribute.has_t()) {
          kept.set_name(attribute.name());
          kept.set_type(attribute.type());
          outline(attribute.t(), *kept.mutable_t());
        } else {
          kept = attribute;
        }
      }
    }
  }

 private:
  /// Writes nodes that have the output types of a library's operator; values keep their names.
  static void spell_out(const onnx::NodeProto& node, const runtime::OperatorDescription& op,
                        google::protobuf::RepeatedPtrField<onnx::NodeProto>& to) {
    for (int output = 0; output < node.output_size() && output < static_cast<int>(op.outputs.size());
         ++output) {
      if (node.output(output).empty()) continue;
      const int same = same_as_input(op, static_cast<size_t>(output));
      const auto type = constant_type(op, static_cast<size_t>(output));
      auto& made = *to.Add();
      made.add_output(node.output(output));
      if (same >= 0 && same < node.input_size()) {
        made.set_op_type(op.shape == runtime::ShapeRule::broadcast || op.shape == runtime::ShapeRule::same
                             ? "Identity"
                             : "Compress");  // the type, and no shape
        made.add_input(node.input(same));
      } else if (type != runtime::DataType::undefined) {
        made.set_op_type("Cast");
        if (node.input_size()) made.add_input(node.input(0));
        auto& attribute = *made.add_attribute();
        attribute.set_name("to");
        attribute.set_type(onnx::AttributeProto::INT);
        attribute.set_i(static_cast<int64_t>(type));
      } else {
        made.set_op_type("Unknown");
      }
    }
  }

  const Libraries& libraries_;
};

}  // namespace

ElementTypes::ElementTypes(const onnx::ModelProto& model, const graph::Index& index,
                           const Libraries& libraries) {
  onnx::ModelProto copy;
  copy.set_ir_version(model.ir_version());
  *copy.mutable_opset_import() = model.opset_import();
  const Outline outline(libraries);
  outline.copy(model.graph(), *copy.mutable_graph());
  for (const auto& function : model.functions()) {
    auto& made = *copy.add_functions();
    made.set_domain(function.domain());
    made.set_name(function.name());
    made.set_overload(function.overload());
    *made.mutable_opset_import() = function.opset_import();
    *made.mutable_input() = function.input();
    *made.mutable_output() = function.output();
    *made.mutable_attribute() = function.attribute();
    *made.mutable_attribute_proto() = function.attribute_proto();
    outline.copy(function.node(), *made.mutable_node());
  }
  // The copy has the same scopes in the same order, and values of the same names in them.
  const graph::Index outlined(copy);
  const graph::Constants constants(outlined);
  const graph::Types types(outlined, constants);
  types_.resize(static_cast<size_t>(index.value_count()));
  for (ValueId id = 0; id < index.value_count(); ++id) {
    const graph::Value& value = index.value(id);
    if (value.scope >= outlined.scope_count()) continue;
    const auto& names = outlined.scope(value.scope).names;
    const auto place = names.find(value.name);
    if (place != names.end()) types_[static_cast<size_t>(id)] = types.of(place->second);
  }
}

}  // namespace graft::doctor
