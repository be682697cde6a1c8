#pragma once
/// Lets a test write a small ONNX model in a few lines.
///
///   ModelBuilder model;
///   model.input("x", DataType::float32, {"N", 4});
///   model.constant("one", number(1));
///   model.node("Add", {"x", "one"}, {"y"});
///   model.output("y", DataType::float32, {"N", 4});
///   Session session = Session::from_bytes(runtime, model.bytes());
#include <onnx-ml.pb.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "runtime/tensor.h"

namespace graft::testing {

using Size = std::variant<int64_t, std::string>;  // a number, or a symbolic name; "" is unknown and unnamed

class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 17, int64_t ir_version = 8) {
    model_.set_ir_version(ir_version);
    model_.mutable_graph()->set_name("test");
    import("", opset);
  }

  void import(const std::string& domain, int64_t version) {
    onnx::OperatorSetIdProto* opset = model_.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }

  void input(const std::string& name, runtime::DataType type, const std::vector<Size>& shape) {
    describe(*model_.mutable_graph()->add_input(), name, type, shape);
  }
  void output(const std::string& name, runtime::DataType type, const std::vector<Size>& shape) {
    describe(*model_.mutable_graph()->add_output(), name, type, shape);
  }

  void constant(const std::string& name, const runtime::Tensor& tensor) {
    onnx::TensorProto* proto = model_.mutable_graph()->add_initializer();
    proto->set_name(name);
    proto->set_data_type(static_cast<int32_t>(tensor.type));
    for (const int64_t size : tensor.shape) proto->add_dims(size);
    proto->set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  }

  onnx::NodeProto& node(const std::string& type, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& domain = "") {
    onnx::NodeProto* node = model_.mutable_graph()->add_node();
    node->set_op_type(type);
    node->set_domain(domain);
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return *node;
  }

  onnx::ModelProto& proto() { return model_; }
  std::string bytes() const { return model_.SerializeAsString(); }

  std::filesystem::path write(const std::filesystem::path& file) const {
    std::ofstream(file, std::ios::binary) << bytes();
    return file;
  }

 private:
  static void describe(onnx::ValueInfoProto& value, const std::string& name, runtime::DataType type,
                       const std::vector<Size>& shape) {
    value.set_name(name);
    onnx::TypeProto::Tensor* tensor = value.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(static_cast<int32_t>(type));
    for (const Size& size : shape) {
      onnx::TensorShapeProto::Dimension* dimension = tensor->mutable_shape()->add_dim();
      if (const auto* number = std::get_if<int64_t>(&size)) {
        dimension->set_dim_value(*number);
      } else if (!std::get<std::string>(size).empty()) {
        dimension->set_dim_param(std::get<std::string>(size));
      }
    }
    tensor->mutable_shape();  // a scalar has a shape too
  }

  onnx::ModelProto model_;
};

/// Makes a float tensor.
inline runtime::Tensor floats(const std::vector<float>& values, runtime::Shape shape) {
  runtime::Tensor tensor = runtime::Tensor::zeros(runtime::DataType::float32, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.values<float>().begin());
  return tensor;
}

/// Makes a float scalar.
inline runtime::Tensor number(float value) { return floats({value}, {}); }

/// Makes an int64 vector.
inline runtime::Tensor integers(const std::vector<int64_t>& values) {
  runtime::Tensor tensor =
      runtime::Tensor::zeros(runtime::DataType::int64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.values<int64_t>().begin());
  return tensor;
}

}  // namespace graft::testing
