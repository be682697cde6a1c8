#include "check/shaken.h"

#include <fmt/format.h>
#include <onnx-ml.pb.h>

#include <set>

#include "runtime/files.h"
#include "runtime/tensor_proto.h"
#include "verify/float64/operators.h"
#include "verify/float64/widen.h"

namespace graft::check {
using runtime::DataType;
using runtime::Session;
using runtime::Tensor;

namespace {

/// Lists the operators that round; others pass values on, or give no floating ones.
const std::set<std::string> rounding_operators = {
    "Add",      "Sub",     "Mul",     "Div",      "Pow",        "Sqrt",      "Exp",        "Log",
    "Erf",      "Tanh",    "Sigmoid", "Softplus", "Reciprocal", "Sin",       "Cos",        "Tan",
    "Sinh",     "Cosh",    "Atan",    "MatMul",   "Gemm",       "ReduceSum", "ReduceMean", "ReduceSumSquare",
    "ReduceL2", "Softmax", "Mean",    "Sum"};

void shake(onnx::ModelProto& model, uint64_t pattern) {
  auto& graph = *model.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> shaken;
  int number = 0;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    const bool rounds = rounding_operators.contains(node.op_type());
    const std::string output = node.output(0);
    const std::string before = fmt::format("check/before/{}", number),
                      factor = fmt::format("check/factor/{}", number);
    if (rounds) node.set_output(0, before);
    shaken.Add()->Swap(&node);
    if (!rounds) continue;
    Tensor one = Tensor::zeros(DataType::float64, {});
    one.values<double>()[0] = (pattern >> (number % 64)) & 1 ? 1 + 0x1p-52 : 1 - 0x1p-52;
    auto& initializer = *graph.add_initializer();
    runtime::tensor_to_proto(one, initializer);
    initializer.set_name(factor);
    onnx::NodeProto& product = *shaken.Add();
    product.set_op_type("Mul");
    product.add_input(before);
    product.add_input(factor);
    product.add_output(output);
    ++number;
  }
  graph.mutable_node()->Swap(&shaken);
}

Session load(const std::shared_ptr<runtime::Runtime>& runtime, const std::filesystem::path& file,
             uint64_t pattern) {
  onnx::ModelProto model;
  if (!model.ParseFromString(runtime::read_file(file)))
    throw InputError(fmt::format("{}: not an ONNX model", file.string()));
  verify::widen(model, file.parent_path(), verify::float64_operators());
  shake(model, pattern);
  return Session::from_bytes(
      runtime, model.SerializeAsString(),
      {.optimisation = runtime::Optimisation::none, .operators = {verify::register_float64_operators}},
      "definition, shaken");
}

}  // namespace

ShakenEvaluation::ShakenEvaluation(std::shared_ptr<runtime::Runtime> runtime,
                                   const std::filesystem::path& model, uint64_t pattern)
    : session_(load(runtime, model, pattern)) {}

std::vector<Tensor> ShakenEvaluation::run(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> widened;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool wants_double = session_.inputs().at(i).type == DataType::float64;
    widened.push_back(wants_double ? runtime::convert(inputs[i], DataType::float64) : inputs[i]);
  }
  return session_.run(widened);
}

}  // namespace graft::check
