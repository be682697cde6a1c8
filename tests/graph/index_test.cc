#include "graph/index.h"

#include <gtest/gtest.h>

#include "small_model.h"

namespace graft::graph {
namespace {

/// y = If(cond) { then: t = Neg(a) } else { e = Abs(x) }, where a = Add(x, 3).
onnx::ModelProto with_branches() {
  onnx::ModelProto model = small_model("y = Add(x, 3)");
  auto* graph = model.mutable_graph();
  graph->mutable_node(1)->set_output(0, "a");
  *graph->add_input() = graph->input(0);
  graph->mutable_input(1)->set_name("cond");
  auto* node = graph->add_node();
  node->set_op_type("If");
  node->add_input("cond");
  node->add_output("y");
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* attribute = node->add_attribute();
    attribute->set_name(branch);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    auto* inner = attribute->mutable_g()->add_node();
    const bool then = std::string(branch) == "then_branch";
    inner->set_op_type(then ? "Neg" : "Abs");
    inner->add_input(then ? "a" : "x");
    inner->add_output(then ? "t" : "e");
    attribute->mutable_g()->add_output()->set_name(then ? "t" : "e");
  }
  return model;
}

TEST(Index, KnowsMakersAndReadersAcrossScopes) {
  onnx::ModelProto model = with_branches();
  Index index(model);
  ASSERT_EQ(index.scope_count(), 3);
  EXPECT_EQ(index.scope_name(0), "main");
  EXPECT_EQ(index.scope_name(1), "main/y:then_branch");
  const ValueId a = index.find(0, "a"), x = index.find(0, "x");
  EXPECT_EQ(index.find(1, "a"), a);
  ASSERT_EQ(index.uses(a).size(), 1u);
  EXPECT_EQ(index.proto(index.uses(a)[0].node).op_type(), "Neg");
  EXPECT_EQ(index.uses(x).size(), 2u);
  EXPECT_TRUE(index.value(index.find(0, "y")).is_output);
  EXPECT_FALSE(index.value(a).is_output);
  EXPECT_TRUE(index.value(index.find(1, "t")).is_output);
  const NodeId branching = index.value(index.find(0, "y")).producer;
  EXPECT_EQ(index.captures(branching).size(), 2u);
  EXPECT_EQ(index.find(0, "t"), none);
}

TEST(Index, FindsFunctionsAndTheirOpset) {
  onnx::ModelProto model = small_model("y = Neg(x)");
  auto* function = model.add_functions();
  function->set_domain("blocks");
  function->set_name("Act");
  function->add_input("u");
  function->add_output("v");
  auto* node = function->add_node();
  node->set_op_type("Relu");
  node->add_input("u");
  node->add_output("v");
  auto* import = function->add_opset_import();
  import->set_domain("ai.onnx");
  import->set_version(14);
  Index index(model);
  const ScopeId scope = index.function("blocks", "Act");
  ASSERT_NE(scope, none);
  EXPECT_EQ(index.scope_name(scope), "function:blocks:Act");
  EXPECT_EQ(index.opset(scope), 14);
  EXPECT_EQ(index.opset(0), 17);
  EXPECT_EQ(index.function("blocks", "Other"), none);
}

TEST(Index, LivesWithNamesThatDangleOrRepeat) {
  onnx::ModelProto model = small_model("y = Add(x, x)");
  model.mutable_graph()->mutable_node(0)->set_input(1, "nowhere");
  *model.mutable_graph()->add_node() = model.graph().node(0);
  Index index(model);
  EXPECT_NE(index.input(0, 1), none);
  EXPECT_EQ(index.value(index.input(0, 1)).producer, none);
  EXPECT_EQ(index.value(index.find(0, "y")).producer, 0);
}

}  // namespace
}  // namespace graft::graph
