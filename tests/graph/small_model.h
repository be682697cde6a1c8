#pragma once
/// Lets a test write a model as text, in the language of definitions.
///
///   onnx::ModelProto model = small_model("a = Add(x, 3); y = Clip(a, 0, 6)");
#include "onnx-ml.pb.h"
#include "rewrite/definition.h"

namespace graft {

struct SmallModel {
  std::vector<std::string> inputs = {"x"};
  std::vector<std::string> outputs = {"y"};
  runtime::DataType type = runtime::DataType::float32;
  std::vector<int64_t> shape = {2, 3};
  bool with_shape = true;
  int64_t opset = 17;
  int64_t ir_version = 8;
};

inline void declare(onnx::ValueInfoProto& value, const std::string& name, const SmallModel& form) {
  value.set_name(name);
  auto* type = value.mutable_type()->mutable_tensor_type();
  type->set_elem_type(static_cast<int32_t>(form.type));
  if (!form.with_shape) return;
  auto* shape = type->mutable_shape();
  for (const int64_t size : form.shape) shape->add_dim()->set_dim_value(size);
}

inline onnx::ModelProto small_model(std::string_view text, const SmallModel& form = {}) {
  const rewrite::Signature signature{"", "model", form.inputs, form.outputs, {}, {}};
  const rewrite::Definition definition = rewrite::parse_definition(text, form.opset, signature);
  onnx::FunctionProto body = rewrite::write_function(definition, {form.type, false, form.opset});
  onnx::ModelProto model;
  model.set_ir_version(form.ir_version);
  auto* import = model.add_opset_import();
  import->set_domain("");
  import->set_version(form.opset);
  auto* graph = model.mutable_graph();
  graph->set_name("g");
  graph->mutable_node()->Swap(body.mutable_node());
  for (const auto& input : form.inputs) declare(*graph->add_input(), input, form);
  for (const auto& output : form.outputs) declare(*graph->add_output(), output, form);
  return model;
}

}  // namespace graft
