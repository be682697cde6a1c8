#include "verify/float64/widen.h"

#include <fmt/format.h>
#include <onnx-ml.pb.h>

#include <map>
#include <vector>

#include "graph/infer.h"
#include "runtime/tensor_proto.h"
#include "verify/float64/operators.h"

namespace graft::verify {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;
using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

bool is_narrow(int32_t type) {
  return type == TensorProto::FLOAT || type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
}

AttributeProto* find_attribute(NodeProto& node, const std::string& name) {
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t opset_of(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  for (const auto& import : imports) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return import.version();
  }
  return 0;
}

/// Gives names that no value of a model bears, and that differ by purpose.
class FreshNames {
 public:
  explicit FreshNames(std::string purpose) : purpose_(std::move(purpose)) {}
  std::string next() { return fmt::format("graft.float64/{}/{}", purpose_, ++count_); }

 private:
  std::string purpose_;
  int count_ = 0;
};

NodeProto make_node(const std::string& type, const std::vector<std::string>& inputs,
                    const std::string& output) {
  NodeProto node;
  node.set_op_type(type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

NodeProto make_cast(const std::string& from, const std::string& to, TensorProto::DataType type) {
  NodeProto node = make_node("Cast", {from}, to);
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("to");
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(type);
  return node;
}

class Widener {
 public:
  Widener(std::filesystem::path folder, const std::set<std::string>& operators)
      : folder_(std::move(folder)), operators_(operators) {}

  void widen_graph(GraphProto& graph, int64_t opset) {
    for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
      for (onnx::ValueInfoProto& value : *values) widen_type(*value.mutable_type());
    }
    for (TensorProto& tensor : *graph.mutable_initializer()) widen_tensor(tensor);
    for (onnx::SparseTensorProto& sparse : *graph.mutable_sparse_initializer())
      widen_tensor(*sparse.mutable_values());
    widen_nodes(*graph.mutable_node(), opset);
  }

  void widen_function(onnx::FunctionProto& function) {
    in_function_ = true;
    widen_nodes(*function.mutable_node(), opset_of(function.opset_import()));
    in_function_ = false;
  }

  void widen_nodes(Nodes& nodes, int64_t opset) {
    Nodes widened;
    for (NodeProto& node : nodes) {
      for (AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_t()) widen_tensor(*attribute.mutable_t());
        for (TensorProto& tensor : *attribute.mutable_tensors()) widen_tensor(tensor);
        if (attribute.has_g()) widen_graph(*attribute.mutable_g(), opset);
        for (GraphProto& graph : *attribute.mutable_graphs()) widen_graph(graph, opset);
      }
      widen_node(node, opset, widened);
    }
    nodes.Swap(&widened);
  }

 private:
  void widen_type(onnx::TypeProto& type) {
    if (type.has_tensor_type()) {
      if (is_narrow(type.tensor_type().elem_type()))
        type.mutable_tensor_type()->set_elem_type(TensorProto::DOUBLE);
    } else if (type.has_sequence_type()) {
      widen_type(*type.mutable_sequence_type()->mutable_elem_type());
    } else if (type.has_optional_type()) {
      widen_type(*type.mutable_optional_type()->mutable_elem_type());
    } else if (type.has_map_type()) {
      widen_type(*type.mutable_map_type()->mutable_value_type());
    }
  }

  void widen_tensor(TensorProto& tensor) {
    const bool is_external = tensor.data_location() == TensorProto::EXTERNAL;
    if (!is_narrow(tensor.data_type()) && !is_external) return;
    runtime::Tensor read = runtime::tensor_from_proto(tensor, folder_);
    if (is_narrow(tensor.data_type())) read = runtime::convert(read, runtime::DataType::float64);
    runtime::tensor_to_proto(read, tensor);
  }

  void widen_node(NodeProto& node, int64_t opset, Nodes& widened) {
    if (!node.domain().empty() && node.domain() != "ai.onnx") {
      widened.Add()->Swap(&node);
      return;
    }
    const std::string& type = node.op_type();
    // From opset 12 on ORT clips in float64 itself, and integers may be clipped as well.
    if (operators_.contains(type) && !(type == "Clip" && opset >= 12)) {
      node.set_domain(float64_domain);
      if (in_function_) return add_with_known_type(node, widened);
    } else if (type == "Resize" && is_nearest(node)) {
      return resize_in_halves(node, widened);
    } else if (type == "ConstantOfShape" && !find_attribute(node, "value")) {
      AttributeProto& value = *node.add_attribute();
      value.set_name("value");
      value.set_type(AttributeProto::TENSOR);
      runtime::tensor_to_proto(runtime::Tensor::zeros(runtime::DataType::float64, {1}), *value.mutable_t());
    } else if (type == "Constant" &&
               (find_attribute(node, "value_float") || find_attribute(node, "value_floats"))) {
      return add_with_known_type(node, widened);
    }
    for (const char* name : {"to", "dtype", "output_datatype"}) {
      AttributeProto* attribute = find_attribute(node, name);
      if (attribute && attribute->type() == AttributeProto::INT &&
          is_narrow(static_cast<int32_t>(attribute->i()))) {
        attribute->set_i(TensorProto::DOUBLE);
      }
    }
    widened.Add()->Swap(&node);
  }

  /// Adds a node with a cast to float64 behind it; within a function ORT does not infer itself what a custom
  /// operator gives.
  void add_with_known_type(NodeProto& node, Nodes& widened) {
    const std::string output = node.output(0), untyped = names_.next();
    node.set_output(0, untyped);
    widened.Add()->Swap(&node);
    *widened.Add() = make_cast(untyped, output, TensorProto::DOUBLE);
  }

  static bool is_nearest(NodeProto& node) {
    const AttributeProto* mode = find_attribute(node, "mode");
    return !mode || mode->s() == "nearest";
  }

  /// Replaces a Resize that only copies elements by two on float32, of the leading bits and of the rest,
  /// whose sum is exact to 48 bits.
  void resize_in_halves(NodeProto& node, Nodes& widened) {
    const std::string input = node.input(0), output = node.output(0);
    const std::string leading = names_.next(), back = names_.next(), rest = names_.next(),
                      rest_narrow = names_.next();
    *widened.Add() = make_cast(input, leading, TensorProto::FLOAT);
    *widened.Add() = make_cast(leading, back, TensorProto::DOUBLE);
    *widened.Add() = make_node("Sub", {input, back}, rest);
    *widened.Add() = make_cast(rest, rest_narrow, TensorProto::FLOAT);
    for (int i = 1; i < node.input_size() && i < 3; ++i) {  // regions and scales
      if (node.input(i).empty()) continue;
      const std::string narrow = names_.next();
      *widened.Add() = make_cast(node.input(i), narrow, TensorProto::FLOAT);
      node.set_input(i, narrow);
    }
    std::vector<std::string> parts;
    for (const std::string& half : {leading, rest_narrow}) {
      NodeProto& resize = *widened.Add();
      resize = node;
      resize.clear_name();
      resize.set_input(0, half);
      resize.set_output(0, names_.next());
      parts.push_back(names_.next());
      *widened.Add() = make_cast(resize.output(0), parts.back(), TensorProto::DOUBLE);
    }
    *widened.Add() = make_node("Add", parts, output);
  }

  std::filesystem::path folder_;
  const std::set<std::string>& operators_;
  FreshNames names_{"widen"};
  bool in_function_ = false;
};

void import_float64(google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  onnx::OperatorSetIdProto& import = *imports.Add();
  import.set_domain(float64_domain);
  import.set_version(1);
}

/// Lists which inputs and outputs are floating, of operators where not all are.
struct FloatingPlaces {
  std::set<int> inputs, outputs;
};
const std::map<std::string, FloatingPlaces> mixed_operators = {
    {"QuantizeLinear", {{0, 1}, {}}},
    {"DequantizeLinear", {{1}, {0}}},
    {"DynamicQuantizeLinear", {{0}, {1}}},
    {"LSTM", {{0, 1, 2, 3, 5, 6, 7}, {0, 1, 2}}},
    {"GRU", {{0, 1, 2, 3, 5}, {0, 1}}},
    {"RNN", {{0, 1, 2, 3, 5}, {0, 1}}},
    {"Resize", {{0, 1, 2}, {0}}},
    {"RoiAlign", {{0, 1}, {0}}},
    {"NonMaxSuppression", {{0, 1, 3, 4}, {}}},
    {"QLinearConv", {{1, 4, 6}, {}}},
    {"QLinearMatMul", {{1, 4, 6}, {}}},
    {"MaxUnpool", {{0}, {0}}},
};

bool round_nodes(Nodes& nodes, const std::string& type, FreshNames& names) {
  bool found = false;
  Nodes rounded;
  const auto mixed = mixed_operators.find(type);
  const auto floating = [&](const std::set<int> FloatingPlaces::*places, int i) {
    return mixed == mixed_operators.end() || (mixed->second.*places).contains(i);
  };
  for (NodeProto& node : nodes) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) found |= round_nodes(*attribute.mutable_g()->mutable_node(), type, names);
      for (GraphProto& graph : *attribute.mutable_graphs())
        found |= round_nodes(*graph.mutable_node(), type, names);
    }
    if (node.op_type() != type || node.domain() == float64_domain) {
      rounded.Add()->Swap(&node);
      continue;
    }
    found = true;
    std::vector<NodeProto> after;
    for (int i = 0; i < node.input_size(); ++i) {
      if (node.input(i).empty() || !floating(&FloatingPlaces::inputs, i)) continue;
      const std::string narrow = names.next();
      *rounded.Add() = make_cast(node.input(i), narrow, TensorProto::FLOAT);
      node.set_input(i, narrow);
    }
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty() || !floating(&FloatingPlaces::outputs, i)) continue;
      const std::string narrow = names.next();
      after.push_back(make_cast(narrow, node.output(i), TensorProto::DOUBLE));
      node.set_output(i, narrow);
    }
    rounded.Add()->Swap(&node);
    for (NodeProto& cast : after) rounded.Add()->Swap(&cast);
  }
  nodes.Swap(&rounded);
  return found;
}

}  // namespace

void widen(onnx::ModelProto& model, const std::filesystem::path& folder,
           const std::set<std::string>& operators) {
  Widener widener(folder, operators);
  widener.widen_graph(*model.mutable_graph(), opset_of(model.opset_import()));
  import_float64(*model.mutable_opset_import());
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    widener.widen_function(function);
    for (onnx::ValueInfoProto& value : *function.mutable_value_info()) value.clear_type();
    import_float64(*function.mutable_opset_import());
  }
}

std::map<std::string, std::string> half_values(onnx::ModelProto& model) {
  const graph::Index index(model);
  const graph::Constants constants(index);
  const graph::Types types(index, constants);
  std::map<std::string, std::string> values;
  for (graph::NodeId node = 0; node < index.node_count(); ++node) {
    if (index.node(node).scope != 0 || index.node(node).owner != graph::none) continue;
    for (const graph::ValueId output : index.outputs(node)) {
      if (output == graph::none) continue;
      const runtime::DataType type = types.of(output).type;
      if (type == runtime::DataType::float16) values[std::string(index.value(output).name)] = round_to_float16;
      if (type == runtime::DataType::bfloat16) values[std::string(index.value(output).name)] = round_to_bfloat16;
    }
  }
  return values;
}

void round_halves(onnx::ModelProto& model, const std::map<std::string, std::string>& values) {
  FreshNames names("halves");
  Nodes rounded;
  for (NodeProto& node : *model.mutable_graph()->mutable_node()) {
    std::vector<NodeProto> after;
    for (std::string& output : *node.mutable_output()) {
      const auto found = values.find(output);
      if (output.empty() || found == values.end()) continue;
      const std::string exact = names.next();
      after.push_back(make_node(found->second, {exact}, output));
      after.back().set_domain(float64_domain);
      output = exact;
    }
    rounded.Add()->Swap(&node);
    for (NodeProto& rounding : after) rounded.Add()->Swap(&rounding);
  }
  model.mutable_graph()->mutable_node()->Swap(&rounded);
}

bool round_around(onnx::ModelProto& model, const std::string& type) {
  FreshNames names(type);
  bool found = round_nodes(*model.mutable_graph()->mutable_node(), type, names);
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    found |= round_nodes(*function.mutable_node(), type, names);
  }
  return found;
}

}  // namespace graft::verify
