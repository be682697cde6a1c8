#include "graph/sort.h"

#include <gtest/gtest.h>

#include "small_model.h"

namespace graft::graph {
namespace {

std::string order(const onnx::GraphProto& graph) {
  std::string text;
  for (const auto& node : graph.node()) text += node.output(0) + " ";
  return text;
}

TEST(Sort, KeepsAnOrderThatIsRight) {
  onnx::ModelProto model = small_model("a = Neg(x); b = Abs(x); y = Add(b, a)");
  const std::string before = model.SerializeAsString();
  EXPECT_FALSE(sort_nodes(model));
  EXPECT_EQ(model.SerializeAsString(), before);
}

TEST(Sort, PutsMakersBeforeReaders) {
  onnx::ModelProto model = small_model("a = Neg(x); b = Abs(a); y = Add(b, a)");
  auto* nodes = model.mutable_graph()->mutable_node();
  nodes->SwapElements(0, 2);
  const std::string last = model.graph().node(2).output(0);
  EXPECT_TRUE(sort_nodes(model));
  EXPECT_EQ(model.graph().node(0).output(0), last);
  EXPECT_EQ(model.graph().node(2).output(0), "y");
  EXPECT_EQ(order(model.graph()), last + " " + model.graph().node(1).output(0) + " y ");
}

TEST(Sort, CountsWhatSubgraphsRead) {
  onnx::ModelProto model = small_model("y = Neg(x)");
  auto* graph = model.mutable_graph();
  graph->mutable_node(0)->set_output(0, "late");
  auto* branch = graph->add_node();
  branch->set_op_type("If");
  branch->add_input("x");
  branch->add_output("y");
  auto* attribute = branch->add_attribute();
  attribute->set_name("then_branch");
  auto* inner = attribute->mutable_g()->add_node();
  inner->set_op_type("Abs");
  inner->add_input("late");
  inner->add_output("t");
  graph->mutable_node()->SwapElements(0, 1);
  EXPECT_TRUE(sort_nodes(model));
  EXPECT_EQ(model.graph().node(0).output(0), "late");
}

TEST(Sort, LeavesACycleAtTheEnd) {
  onnx::ModelProto model = small_model("a = Neg(x); b = Abs(a); y = Relu(x)");
  auto* graph = model.mutable_graph();
  graph->clear_node();
  for (const auto& [in, out] : {std::pair("q", "p"), std::pair("p", "q"), std::pair("x", "y")}) {
    auto* node = graph->add_node();
    node->set_op_type("Neg");
    node->add_input(in);
    node->add_output(out);
  }
  EXPECT_TRUE(sort_nodes(model));
  EXPECT_EQ(order(model.graph()), "y p q ");
}

}  // namespace
}  // namespace graft::graph
