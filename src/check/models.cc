#include "check/models.h"

#include <fmt/format.h>

#include "rewrite/fallback.h"
#include "rewrite/inline.h"
#include "runtime/tensor_proto.h"

namespace graft::check {
using onnx::ModelProto;
using onnx::NodeProto;
using runtime::DataType;
using runtime::Tensor;

namespace {

std::string input_name(size_t input) { return fmt::format("x{}", input); }
std::string output_name(size_t output) { return fmt::format("y{}", output); }

bool is_left_out(const Tensor& tensor) { return tensor.type == DataType::undefined; }

bool is_constant(const Subject& subject, size_t input) {
  const size_t port = port_of(subject, input);
  return port < subject.constant.size() && subject.constant[port];
}

ModelProto empty_model(const Subject& subject, int64_t opset) {
  ModelProto model;
  model.set_ir_version(8);
  model.mutable_graph()->set_name("check");
  auto* standard = model.add_opset_import();
  standard->set_domain("");
  standard->set_version(opset);
  auto* own = model.add_opset_import();
  own->set_domain(subject.op.domain);
  own->set_version(subject.op.since_version);
  return model;
}

void declare(onnx::ValueInfoProto& value, const std::string& name, size_t input, const Tensor& tensor,
             Sizes sizes) {
  value.set_name(name);
  auto* type = value.mutable_type()->mutable_tensor_type();
  type->set_elem_type(static_cast<int32_t>(tensor.type));
  if (sizes == Sizes::open) return;
  auto* shape = type->mutable_shape();
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    auto* dimension = shape->add_dim();
    if (sizes == Sizes::named)
      dimension->set_dim_param(fmt::format("x{}_{}", input, axis));
    else
      dimension->set_dim_value(tensor.shape[axis]);
  }
}

void declare_outputs(const Subject& subject, ModelProto& model) {
  const std::vector<DataType> types = outputs_of(subject);
  for (size_t i = 0; i < types.size(); ++i) {
    auto& value = *model.mutable_graph()->add_output();
    value.set_name(output_name(i));
    value.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(types[i]));
  }
}

/// Makes a node that copies a tensor: a Transpose that changes nothing, which ORT has for every element type.
NodeProto copy_node(const std::string& from, const std::string& to, size_t rank) {
  NodeProto node;
  node.set_op_type("Transpose");
  node.add_input(from);
  node.add_output(to);
  auto& order = *node.add_attribute();
  order.set_name("perm");
  order.set_type(onnx::AttributeProto::INTS);
  for (size_t axis = 0; axis < rank; ++axis) order.add_ints(static_cast<int64_t>(axis));
  return node;
}

NodeProto call_node(const Subject& subject, const Case& one,
                    const std::vector<onnx::AttributeProto>& attributes) {
  NodeProto node;
  node.set_domain(subject.op.domain);
  node.set_op_type(subject.op.name);
  size_t last = one.inputs.size();
  while (last > 0 && is_left_out(one.inputs[last - 1])) --last;
  for (size_t i = 0; i < last; ++i) node.add_input(is_left_out(one.inputs[i]) ? "" : input_name(i));
  for (size_t i = 0; i < outputs_of(subject).size(); ++i) node.add_output(output_name(i));
  for (const auto& attribute : attributes) *node.add_attribute() = attribute;
  return node;
}

}  // namespace

std::vector<DataType> outputs_of(const Subject& subject) {
  std::vector<DataType> types = subject.outputs;
  if (subject.op.outputs.back().arity == runtime::Arity::variadic) types.push_back(types.back());
  return types;
}

ModelProto node_model(const Subject& subject, const Case& one, const AttributeSet& attributes,
                      const ModelForm& form) {
  ModelProto model = empty_model(subject, form.opset);
  auto& graph = *model.mutable_graph();
  NodeProto node = call_node(subject, one, attributes.given);
  std::vector<NodeProto> after;
  declare_outputs(subject, model);
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    const Tensor& tensor = one.inputs[i];
    if (is_left_out(tensor)) continue;
    if (is_constant(subject, i)) {
      auto& initializer = *graph.add_initializer();
      runtime::tensor_to_proto(tensor, initializer);
      initializer.set_name(input_name(i));
      continue;
    }
    declare(*graph.add_input(), input_name(i), i, tensor, form.sizes);
    if (form.source == Source::caller) continue;
    const std::string made = fmt::format("m{}", i);
    *graph.add_node() = copy_node(input_name(i), made, tensor.shape.size());
    node.set_input(static_cast<int>(i), made);
    if (form.source != Source::kept) continue;
    const std::string again = fmt::format("z{}", i);
    after.push_back(copy_node(made, again, tensor.shape.size()));
    auto& value = *graph.add_output();
    value.set_name(again);
    value.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(tensor.type));
  }
  *graph.add_node() = node;
  for (const NodeProto& reader : after) *graph.add_node() = reader;
  return model;
}

ModelProto definition_model(const Subject& subject, const Case& one, const AttributeSet& attributes,
                            int64_t opset) {
  ModelProto model = empty_model(subject, opset);
  auto& graph = *model.mutable_graph();
  declare_outputs(subject, model);
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    if (!is_left_out(one.inputs[i]))
      declare(*graph.add_input(), input_name(i), i, one.inputs[i], Sizes::open);
  }
  const DataType element = subject.inputs.empty() ? subject.outputs.at(0) : subject.inputs[0];
  const onnx::FunctionProto body = rewrite::write_body(subject.op, element, opset);
  rewrite::FreshNames names(model);
  for (const NodeProto& node :
       rewrite::inline_call(call_node(subject, one, attributes.complete), body, names))
    *graph.add_node() = node;
  return model;
}

std::vector<Tensor> fed(const Subject& subject, const Case& one, bool constants) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    if (!is_left_out(one.inputs[i]) && (constants || !is_constant(subject, i)))
      tensors.push_back(one.inputs[i]);
  }
  return tensors;
}

}  // namespace graft::check
