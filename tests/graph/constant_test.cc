#include "graph/constant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "small_model.h"

namespace graft::graph {
namespace {

TEST(Constant, ReadsEveryFormOfConstantNode) {
  onnx::ModelProto model = small_model("y = Identity(x)");
  auto* graph = model.mutable_graph();
  const auto add = [&](const std::string& output, const std::function<void(onnx::AttributeProto&)>& fill) {
    auto* node = graph->add_node();
    node->set_op_type("Constant");
    node->add_output(output);
    fill(*node->add_attribute());
  };
  add("f", [](auto& a) {
    a.set_name("value_float");
    a.set_f(1.5f);
  });
  add("i", [](auto& a) {
    a.set_name("value_int");
    a.set_i(7);
  });
  add("fs", [](auto& a) {
    a.set_name("value_floats");
    a.add_floats(2.5f);
  });
  add("is", [](auto& a) {
    a.set_name("value_ints");
    a.add_ints(4);
    a.add_ints(5);
  });
  add("s", [](auto& a) {
    a.set_name("value_string");
    a.set_s("text");
  });
  add("t", [](auto& a) {
    a.set_name("value");
    a.mutable_t()->set_data_type(11);
    a.mutable_t()->add_dims(1);
    a.mutable_t()->add_double_data(0.1);
  });
  auto* copy = graph->add_node();
  copy->set_op_type("Identity");
  copy->add_input("t");
  copy->add_output("tt");
  Index index(model);
  Constants constants(index);
  const auto find = [&](const char* name) { return constants.find(index.find(0, name)); };
  EXPECT_EQ(find("f")->value, 1.5);
  EXPECT_EQ(find("f")->rank(), 0);
  EXPECT_EQ(find("i")->value, 7);
  EXPECT_EQ(find("i")->type, DataType::int64);
  EXPECT_EQ(find("fs")->value, 2.5);
  EXPECT_EQ(find("fs")->rank(), 1);
  EXPECT_EQ(find("is")->count, 2);
  EXPECT_EQ(constants.integers(index.find(0, "is")), (std::vector<int64_t>{4, 5}));
  EXPECT_FALSE(find("s")->scalar());
  EXPECT_EQ(find("t")->value, 0.1);
  EXPECT_EQ(find("tt")->value, 0.1);
  EXPECT_EQ(find("x"), nullptr);
  std::vector<NodeId> nodes;
  constants.nodes(index.find(0, "tt"), nodes);
  EXPECT_EQ(nodes.size(), 2u);
}

TEST(Constant, InitializersThatAreInputsMayBeReplacedFromIrVersion4On) {
  for (const int64_t ir_version : {3, 4, 8}) {
    onnx::ModelProto model = small_model("y = Add(x, x)", {.ir_version = ir_version});
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name("k");
    tensor->set_data_type(1);
    tensor->add_float_data(3);
    *model.mutable_graph()->add_input() = model.graph().input(0);
    model.mutable_graph()->mutable_input(1)->set_name("k");
    Index index(model);
    Constants constants(index);
    EXPECT_EQ(constants.find(index.find(0, "k"))->overridable, ir_version >= 4);
  }
}

TEST(Constant, ShortAndExternalTensorsAreNotRead) {
  onnx::TensorProto tensor;
  tensor.set_data_type(1);
  tensor.add_dims(2);
  tensor.set_raw_data(std::string(5, '\1'));
  EXPECT_TRUE(read_element(tensor, 0));
  EXPECT_FALSE(read_element(tensor, 1));
  EXPECT_FALSE(read_element(tensor, -1));
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  EXPECT_FALSE(read_element(tensor, 0));
  tensor.clear_dims();
  tensor.add_dims(std::numeric_limits<int64_t>::max());
  tensor.add_dims(2);
  EXPECT_EQ(count_elements(tensor), -1);
}

TEST(Constant, RoundsOnceToEachType) {
  EXPECT_EQ(round_to(DataType::float32, 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(round_to(DataType::float64, 0.1), 0.1);
  EXPECT_EQ(round_to(DataType::float16, 1.0 / 6), 0.1666259765625);
  EXPECT_EQ(round_to(DataType::bfloat16, 1.0 / 3), 0.333984375);
  // Just above the middle of two float16: through float it would be a tie, and go down.
  const double above = 1 + std::ldexp(1, -11) + std::ldexp(1, -40);
  EXPECT_EQ(round_to(DataType::float16, above), 1 + std::ldexp(1, -10));
  EXPECT_EQ(round_to(DataType::float16, 1 + std::ldexp(1, -11)), 1);
  EXPECT_EQ(round_to(DataType::float16, -above), -1 - std::ldexp(1, -10));
  EXPECT_TRUE(std::isinf(round_to(DataType::float16, 1e6)));
}

}  // namespace
}  // namespace graft::graph
