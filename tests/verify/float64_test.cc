#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "expect_error.h"
#include "loaded_runtime.h"
#include "model_builder.h"
#include "runtime/files.h"
#include "temporary_folder.h"
#include "verify/compare.h"
#include "verify/float64/evaluation.h"
#include "verify/inputs.h"

namespace graft::verify {
namespace {

using runtime::DataType;
using runtime::Session;
using runtime::Shape;
using runtime::Tensor;
using testing::error_of;
using testing::loaded_runtime;
using testing::ModelBuilder;
using testing::TemporaryFolder;

using Ints = std::vector<int64_t>;

/// Holds the attributes of a node under test.
struct Attributes {
  std::map<std::string, Ints> lists = {};
  std::map<std::string, int64_t> integers = {};
  std::map<std::string, float> numbers = {};
  std::map<std::string, std::string> texts = {};

  void add_to(onnx::NodeProto& node) const {
    const auto add = [&](const std::string& name,
                         onnx::AttributeProto::AttributeType type) -> onnx::AttributeProto& {
      onnx::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name(name);
      attribute.set_type(type);
      return attribute;
    };
    for (const auto& [name, values] : lists) {
      onnx::AttributeProto& attribute = add(name, onnx::AttributeProto::INTS);
      for (const int64_t value : values) attribute.add_ints(value);
    }
    for (const auto& [name, value] : integers) add(name, onnx::AttributeProto::INT).set_i(value);
    for (const auto& [name, value] : numbers) add(name, onnx::AttributeProto::FLOAT).set_f(value);
    for (const auto& [name, value] : texts) add(name, onnx::AttributeProto::STRING).set_s(value);
  }
};

/// Runs one node in ORT's float32 and in float64, on normal inputs of these shapes, and compares.
Difference node_in_float64(const std::string& type, const std::vector<Shape>& shapes,
                           const Attributes& attributes = {}, int64_t opset = 20,
                           std::optional<Tolerance> tolerance = {}) {
  TemporaryFolder folder;
  ModelBuilder model(opset, 8);
  std::vector<std::string> names;
  for (size_t i = 0; i < shapes.size(); ++i) {
    names.push_back(std::string("x").append(std::to_string(i)));
    model.input(names.back(), DataType::float32,
                std::vector<testing::Size>(shapes[i].begin(), shapes[i].end()));
  }
  attributes.add_to(model.node(type, names, {"y"}));
  model.output("y", DataType::float32, {});
  model.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const auto file = model.write(folder / "model.onnx");
  Session session(loaded_runtime(), file);
  Float64Evaluation exact(loaded_runtime(), file);
  EXPECT_TRUE(exact.rounded().empty()) << type << " is computed in float32";
  const std::vector<Tensor> inputs = make_inputs(session, settle(session, {}));
  const Tensor truth = exact.run(inputs)[0];
  EXPECT_EQ(truth.type, DataType::float64) << type;
  return compare_tensors(type, convert(truth, DataType::float32), session.run(inputs)[0], tolerance);
}

void expect_the_same(const Difference& difference) {
  EXPECT_EQ(difference.mismatch, "") << difference.output;
  EXPECT_GT(difference.elements, 0u) << difference.output;
  EXPECT_LE(difference.largest_excess, 1) << difference.output << ": " << difference.worst->reference
                                          << " and " << difference.worst->candidate << " in float32";
}

TEST(Float64, ElementwiseOperators) {
  const std::vector<Shape> x = {{3, 50}};
  for (const char* type : {"Erf",      "Softplus", "Softsign", "HardSwish",   "Mish",
                           "Tan",      "Atan",     "Sinh",     "Cosh",        "Asinh",
                           "Elu",      "Selu",     "Celu",     "HardSigmoid", "ThresholdedRelu",
                           "Gelu",     "Relu",     "Sigmoid",  "Tanh",        "Abs",
                           "LeakyRelu"}) {
    expect_the_same(node_in_float64(type, x));
  }
  expect_the_same(node_in_float64("PRelu", {{3, 50}, {50}}));
  expect_the_same(node_in_float64("LeakyRelu", x, {.numbers = {{"alpha", 0.3f}}}));
  expect_the_same(node_in_float64("Elu", x, {.numbers = {{"alpha", 0.3f}}}));
  expect_the_same(node_in_float64("Selu", x, {.numbers = {{"alpha", 0.3f}, {"gamma", 2.5f}}}));
  expect_the_same(node_in_float64("Celu", x, {.numbers = {{"alpha", 0.3f}}}));
  expect_the_same(node_in_float64("HardSigmoid", x, {.numbers = {{"alpha", 0.3f}, {"beta", 0.4f}}}));
  expect_the_same(node_in_float64("ThresholdedRelu", x, {.numbers = {{"alpha", 0.3f}}}));
  expect_the_same(node_in_float64("Gelu", x, {.texts = {{"approximate", "tanh"}}}));
  expect_the_same(node_in_float64("Clip", x, {.numbers = {{"min", -0.5f}, {"max", 0.7f}}}, 9));
  expect_the_same(node_in_float64("Clip", x, {.numbers = {{"max", 0.7f}}}, 6));
  expect_the_same(node_in_float64("Clip", {{3, 50}, {}, {}}, {}, 11));
  expect_the_same(node_in_float64("Clip", {{3, 50}, {}}, {}, 13));
}

TEST(Float64, SigmoidDoesNotCancel) {
  TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DataType::float32, {1});
  model.node("Sigmoid", {"x"}, {"y"});
  model.output("y", DataType::float32, {1});
  Float64Evaluation exact(loaded_runtime(), model.write(folder / "model.onnx"));
  Tensor x = Tensor::zeros(DataType::float32, {1});
  x.values<float>()[0] = -40;  // ORT's own for float64 gives 0
  EXPECT_DOUBLE_EQ(exact.run({x})[0].values<double>()[0], std::exp(-40.0) / (1 + std::exp(-40.0)));
}

TEST(Float64, InverseFunctionsOnTheirDomains) {
  for (const auto& [before, type] :
       {std::pair("Tanh", "Asin"), {"Tanh", "Acos"}, {"Tanh", "Atanh"}, {"Cosh", "Acosh"}}) {
    TemporaryFolder folder;
    ModelBuilder model;
    model.input("x", DataType::float32, {100});
    model.node(before, {"x"}, {"a"});
    model.node(type, {"a"}, {"y"});
    model.output("y", DataType::float32, {100});
    const auto file = model.write(folder / "model.onnx");
    Session session(loaded_runtime(), file);
    Float64Evaluation exact(loaded_runtime(), file);
    const std::vector<Tensor> inputs = make_inputs(session, settle(session, {}));
    const Difference difference =
        compare_tensors(type, convert(exact.run(inputs)[0], DataType::float32), session.run(inputs)[0],
                        Tolerance{1e-4, 1e-4});  // steep at the ends of the domain
    EXPECT_LE(difference.largest_excess, 1) << type;
  }
}

TEST(Float64, Convolutions) {
  const Shape x = {2, 4, 9, 11};
  expect_the_same(node_in_float64("Conv", {x, {6, 4, 3, 3}}));
  expect_the_same(node_in_float64("Conv", {x, {6, 4, 3, 2}, {6}},
                                  {.lists = {{"pads", {1, 0, 2, 1}}, {"strides", {2, 3}}}}));
  expect_the_same(
      node_in_float64("Conv", {x, {6, 4, 3, 3}}, {.lists = {{"dilations", {2, 3}}, {"pads", {2, 2, 2, 2}}}}));
  expect_the_same(node_in_float64("Conv", {x, {6, 2, 3, 3}, {6}}, {.integers = {{"group", 2}}}));
  expect_the_same(node_in_float64("Conv", {x, {4, 1, 5, 5}},
                                  {.lists = {{"pads", {2, 2, 2, 2}}}, .integers = {{"group", 4}}}));
  expect_the_same(node_in_float64("Conv", {x, {8, 1, 1, 1}}, {.integers = {{"group", 4}}}));
  for (const char* padding : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    expect_the_same(node_in_float64("Conv", {x, {6, 4, 4, 2}},
                                    {.lists = {{"strides", {2, 3}}}, .texts = {{"auto_pad", padding}}}));
  }
  expect_the_same(
      node_in_float64("Conv", {{2, 4, 9}, {6, 4, 3}, {6}}, {.lists = {{"pads", {1, 2}}, {"strides", {2}}}}));
  expect_the_same(node_in_float64("Conv", {x, {6, 4, 9, 11}}));  // the kernel covers the input
  // Several panels of pixels and blocks of terms, channels that fill no tile. Sums of 300 and more terms of
  // order 1 that cancel: float32 is off by 300 half units of 1.
  const Tolerance of_float32{300 * 6e-8, 1e-5};
  expect_the_same(node_in_float64("Conv", {{1, 40, 5, 37}, {9, 40, 3, 3}, {9}},
                                  {.lists = {{"pads", {1, 1, 1, 1}}}}, 20, of_float32));
  expect_the_same(
      node_in_float64("Conv", {{3, 33, 70}, {7, 33, 9}}, {.lists = {{"pads", {4, 4}}}}, 20, of_float32));
}

TEST(Float64, TransposedConvolutions) {
  const Shape x = {2, 4, 5, 6};
  expect_the_same(node_in_float64("ConvTranspose", {x, {4, 3, 2, 2}}, {.lists = {{"strides", {2, 2}}}}));
  expect_the_same(
      node_in_float64("ConvTranspose", {x, {4, 3, 3, 2}, {3}},
                      {.lists = {{"strides", {2, 3}}, {"pads", {1, 0, 1, 1}}, {"output_padding", {1, 2}}}}));
  expect_the_same(
      node_in_float64("ConvTranspose", {x, {4, 3, 3, 3}, {6}},
                      {.lists = {{"dilations", {2, 1}}, {"strides", {1, 2}}}, .integers = {{"group", 2}}}));
  expect_the_same(node_in_float64(
      "ConvTranspose", {x, {4, 3, 3, 3}},
      {.lists = {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}, {"output_shape", {10, 12}}}}));
  expect_the_same(node_in_float64(
      "ConvTranspose", {x, {4, 3, 3, 3}},
      {.lists = {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}}, .texts = {{"auto_pad", "SAME_UPPER"}}}));
  expect_the_same(node_in_float64("ConvTranspose", {{2, 4, 5}, {4, 3, 4}}, {.lists = {{"strides", {3}}}}));
}

TEST(Float64, Pools) {
  const Shape x = {2, 3, 9, 11};
  expect_the_same(node_in_float64("AveragePool", {x}, {.lists = {{"kernel_shape", {2, 3}}}}));
  for (const int64_t include : {0, 1}) {
    expect_the_same(
        node_in_float64("AveragePool", {x},
                        {.lists = {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}},
                         .integers = {{"count_include_pad", include}}}));
    expect_the_same(
        node_in_float64("AveragePool", {x},
                        {.lists = {{"kernel_shape", {3, 3}}, {"strides", {3, 3}}, {"pads", {0, 1, 0, 0}}},
                         .integers = {{"ceil_mode", 1}, {"count_include_pad", include}}}));
  }
  expect_the_same(node_in_float64(
      "AveragePool", {x},
      {.lists = {{"kernel_shape", {4, 4}}, {"strides", {3, 2}}}, .texts = {{"auto_pad", "SAME_UPPER"}}}));
  expect_the_same(node_in_float64("AveragePool", {{2, 3, 9}}, {.lists = {{"kernel_shape", {2}}}}));
  expect_the_same(node_in_float64("GlobalAveragePool", {x}));
  expect_the_same(node_in_float64("GlobalAveragePool", {{2, 3, 4, 5, 6}}));
  expect_the_same(node_in_float64("GlobalMaxPool", {x}));
  expect_the_same(node_in_float64("MaxPool", {x}, {.lists = {{"kernel_shape", {2, 3}}}}));
}

TEST(Float64, NormalizationsAndProducts) {
  expect_the_same(
      node_in_float64("InstanceNormalization", {{2, 3, 4, 5}, {3}, {3}}, {.numbers = {{"epsilon", 1e-3f}}}));
  expect_the_same(node_in_float64("LayerNormalization", {{2, 3, 8}, {8}, {8}}));
  expect_the_same(node_in_float64("MatMul", {{5, 7}, {7, 3}}));
  expect_the_same(node_in_float64("Gemm", {{5, 7}, {7, 3}, {3}}));
  expect_the_same(node_in_float64("Softmax", {{5, 7}}));
}

TEST(Float64, ANearestResizeKeeps48Bits) {
  TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DataType::float32, {1, 2, 3, 4});
  model.constant("scales", testing::floats({1, 1, 2, 2}, {4}));
  model.constant("third", testing::number(1.0f / 3));
  model.node("Mul", {"x", "third"}, {"a"});
  Attributes{.texts = {{"mode", "nearest"},
                       {"coordinate_transformation_mode", "asymmetric"},
                       {"nearest_mode", "floor"}}}
      .add_to(model.node("Resize", {"a", "", "scales"}, {"y"}));
  model.output("y", DataType::float32, {1, 2, 6, 8});
  Float64Evaluation exact(loaded_runtime(), model.write(folder / "model.onnx"));
  EXPECT_TRUE(exact.rounded().empty());
  Tensor x = Tensor::zeros(DataType::float32, {1, 2, 3, 4});
  for (size_t i = 0; i < x.count(); ++i) set_element(x, i, static_cast<double>(i + 1));
  const Tensor y = exact.run({x})[0];
  const double wanted = 24 * static_cast<double>(1.0f / 3);
  EXPECT_NEAR(element_as_double(y, y.count() - 1), wanted, wanted * 0x1p-47);
}

TEST(Float64, IsCloserThanFloat32) {
  TemporaryFolder folder;
  ModelBuilder model;  // (1 + 1e-4) - 1 loses most digits in float32
  model.input("x", DataType::float32, {1});
  model.constant("one", testing::number(1));
  model.node("Add", {"x", "one"}, {"a"});
  model.node("Sub", {"a", "one"}, {"y"});
  model.output("y", DataType::float32, {1});
  Float64Evaluation exact(loaded_runtime(), model.write(folder / "model.onnx"));
  const Tensor y = exact.run({testing::floats({1e-4f}, {1})})[0];
  EXPECT_NEAR(element_as_double(y, 0), static_cast<double>(1e-4f), 1e-15);
}

TEST(Float64, WidensConstantsCastsFunctionsAndSubgraphs) {
  TemporaryFolder folder;
  ModelBuilder model;
  model.import("local", 1);
  model.input("x", DataType::float16, {3});
  Attributes{.integers = {{"to", onnx::TensorProto::FLOAT}}}.add_to(model.node("Cast", {"x"}, {"a"}));
  Attributes{.numbers = {{"value_float", 0.1f}}}.add_to(model.node("Constant", {}, {"tenth"}));
  model.node("Mul", {"a", "tenth"}, {"b"});
  model.node("Squash", {"b"}, {"c"}, "local");
  model.constant("yes", [] {
    Tensor yes = Tensor::zeros(DataType::boolean, {});
    set_element(yes, 0, 1);
    return yes;
  }());
  onnx::NodeProto& choose = model.node("If", {"yes"}, {"d"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& attribute = *choose.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& graph = *attribute.mutable_g();
    graph.set_name(name);
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type("Erf");
    node.add_input("c");
    node.add_output("inner");
    onnx::ValueInfoProto& output = *graph.add_output();
    output.set_name("inner");
    output.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  Attributes{.integers = {{"to", onnx::TensorProto::FLOAT16}}}.add_to(model.node("Cast", {"d"}, {"y"}));
  model.output("y", DataType::float16, {3});
  onnx::FunctionProto& function = *model.proto().add_functions();
  function.set_domain("local");
  function.set_name("Squash");
  function.add_input("in");
  function.add_output("out");
  function.add_opset_import()->set_version(17);
  onnx::NodeProto& node = *function.add_node();
  node.set_op_type("Softplus");
  node.add_input("in");
  node.add_output("out");

  Float64Evaluation exact(loaded_runtime(), model.write(folder / "model.onnx"));
  EXPECT_TRUE(exact.rounded().empty());
  Tensor x = Tensor::zeros(DataType::float16, {3});
  for (size_t i = 0; i < 3; ++i) set_element(x, i, static_cast<double>(i) - 1);
  const Tensor y = exact.run({x})[0];
  ASSERT_EQ(y.type, DataType::float64);
  for (size_t i = 0; i < 3; ++i) {
    const double value = (static_cast<double>(i) - 1) * static_cast<double>(0.1f);
    EXPECT_NEAR(element_as_double(y, i), std::erf(std::log1p(std::exp(value))), 1e-15);
  }
}

TEST(Float64, RoundsValuesOf16BitsAtEachNodeWhenAsked) {
  TemporaryFolder folder;
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    ModelBuilder model;
    Tensor small = Tensor::zeros(type, {}), one = Tensor::zeros(type, {});
    set_element(small, 0, 0x1p-13);
    set_element(one, 0, 1);
    model.constant("small", small);
    model.constant("one", one);
    model.input("x", type, {3});
    model.node("Add", {"x", "small"}, {"a"});  // is lost beside 1 in both types
    model.node("Sub", {"a", "one"}, {"y"});
    model.output("y", type, {3});
    const auto file = model.write(folder / "model.onnx");
    Tensor x = Tensor::zeros(type, {3});
    for (size_t i = 0; i < 3; ++i) set_element(x, i, static_cast<double>(i) + 1);
    Float64Evaluation exact(loaded_runtime(), file), rounded(loaded_runtime(), file, {}, 1, Halves::rounded);
    EXPECT_TRUE(exact.has_halves());
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(element_as_double(exact.run({x})[0], i), static_cast<double>(i) + 0x1p-13);
      EXPECT_EQ(element_as_double(rounded.run({x})[0], i), static_cast<double>(i));
    }
  }
}

TEST(Float64, NamesWhatItRounds) {
  TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DataType::float32, {5, 1, 4});
  model.constant("w", Tensor::zeros(DataType::float32, {1, 12, 4}));
  model.constant("r", Tensor::zeros(DataType::float32, {1, 12, 3}));
  Attributes{.integers = {{"size", 3}}}.add_to(model.node("LRN", {"x4"}, {"y"}));
  model.constant("axes", testing::integers({0}));
  onnx::NodeProto lrn = model.proto().graph().node(0);
  model.proto().mutable_graph()->clear_node();
  model.node("Unsqueeze", {"x", "axes"}, {"x4"});
  *model.proto().mutable_graph()->add_node() = lrn;
  model.output("y", DataType::float32, {1, 5, 1, 4});
  const auto file = model.write(folder / "model.onnx");
  Float64Evaluation exact(loaded_runtime(), file);
  EXPECT_EQ(exact.rounded(), std::vector<std::string>{"LRN"});
  Session session(loaded_runtime(), file);
  const std::vector<Tensor> inputs = make_inputs(session, settle(session, {}));
  EXPECT_LE(compare_tensors("y", convert(exact.run(inputs)[0], DataType::float32), session.run(inputs)[0])
                .largest_excess,
            1);
}

TEST(Float64, SaysWhyAModelCannotBeEvaluated) {
  TemporaryFolder folder;
  ModelBuilder model;
  model.import("my.ops", 1);
  model.input("x", DataType::float32, {3});
  model.node("Unknown", {"x"}, {"y"}, "my.ops");
  model.output("y", DataType::float32, {3});
  const auto file = model.write(folder / "model.onnx");
  const std::string text = error_of([&] { Float64Evaluation(loaded_runtime(), file); });
  EXPECT_TRUE(text.starts_with(file.string() + " in float64: ")) << text;
  EXPECT_NE(text.find("my.ops:Unknown"), std::string::npos) << text;
}

}  // namespace
}  // namespace graft::verify
