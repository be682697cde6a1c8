#include "rewrite/eject.h"

#include <gtest/gtest.h>

#include "rewrite/fallback.h"
#include "rewrite/inline.h"
#include "small_model.h"

namespace graft::rewrite {
namespace {

using runtime::DataType;

runtime::LibraryDescription library(const std::string& text = "y = Mul(x, Clip(x, 0, @high))") {
  runtime::OperatorDescription op;
  op.domain = "my.ops";
  op.name = "Capped";
  op.inputs = {{"x", {}}};
  op.outputs = {{"y", {}}};
  op.overloads = {{{DataType::float32}, {DataType::float32}}, {{DataType::float64}, {DataType::float64}}};
  op.attributes = {{"high", runtime::AttributeType::float_, true, {}}};
  op.definitions = {{11, text, false}};
  runtime::LibraryDescription library;
  library.operators = {op};
  return library;
}

onnx::NodeProto& call(onnx::GraphProto& graph, const std::string& input, const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_domain("my.ops");
  node.set_op_type("Capped");
  node.add_input(input);
  node.add_output(output);
  auto& high = *node.add_attribute();
  high.set_name("high");
  high.set_type(onnx::AttributeProto::FLOAT);
  high.set_f(2.5f);
  return node;
}

/// Makes y = Capped(Capped(x)), with or without the function.
onnx::ModelProto calling_model(bool with_function) {
  onnx::ModelProto model = small_model("y = Neg(x)");
  model.mutable_graph()->clear_node();
  call(*model.mutable_graph(), "x", "a").set_name("first");
  call(*model.mutable_graph(), "a", "y").set_doc_string("a note");
  auto& import = *model.add_opset_import();
  import.set_domain("my.ops");
  import.set_version(1);
  if (with_function)
    *model.add_functions() = write_fallback(library().operators[0], {DataType::float32}, 17).function;
  return model;
}

void expect_ejected(const onnx::ModelProto& model) {
  EXPECT_EQ(model.functions_size(), 0);
  EXPECT_EQ(model.opset_import_size(), 1);
  std::set<std::string> made{"x"}, names;
  for (const auto& node : model.graph().node()) {
    EXPECT_TRUE(node.domain().empty());
    EXPECT_TRUE(names.insert(node.name()).second) << node.name();
    for (const auto& input : node.input()) EXPECT_TRUE(input.empty() || made.count(input)) << input;
    for (const auto& output : node.output()) EXPECT_TRUE(made.insert(output).second) << output;
    for (const auto& attribute : node.attribute()) {
      EXPECT_TRUE(attribute.ref_attr_name().empty());
      if (attribute.name() == "value_float") EXPECT_EQ(attribute.f(), 2.5f);
    }
  }
  EXPECT_TRUE(made.count("a") && made.count("y"));
}

TEST(Eject, WritesOutWhatAnEmbeddedFunctionSays) {
  onnx::ModelProto model = calling_model(true);
  const Ejection ejection = eject(model, {}, {});
  EXPECT_EQ(ejection.places.at("my.ops:Capped"), 2);
  EXPECT_EQ(ejection.removed, std::vector<std::string>{"my.ops:Capped"});
  EXPECT_TRUE(ejection.left.empty());
  expect_ejected(model);
  const auto& last = model.graph().node(model.graph().node_size() - 1);
  EXPECT_EQ(last.output(0), "y");
  EXPECT_EQ(last.doc_string(), "a note");
  const std::string once = model.SerializeAsString();
  EXPECT_FALSE(eject(model, {}, {}).changed());
  EXPECT_EQ(model.SerializeAsString(), once);
}

TEST(Eject, TakesTheLibrarysDefinitionWhereTheModelHasNoFunction) {
  onnx::ModelProto model = calling_model(false);
  onnx::ModelProto untouched = model;
  const Ejection alone = eject(untouched, {}, {});
  EXPECT_FALSE(alone.changed());
  EXPECT_EQ(alone.left.at("my.ops:Capped"), 2);
  const Ejection ejection = eject(model, {library()}, {});
  EXPECT_EQ(ejection.places.at("my.ops:Capped"), 2);
  expect_ejected(model);
}

TEST(Eject, LiteralsComeBackInTheTypeOfTheCall) {
  onnx::ModelProto model = small_model("y = Add(x, 3)", {.type = DataType::float16});
  runtime::LibraryDescription adding = library("y = Add(x, 3)");
  model.mutable_graph()->mutable_node()->DeleteSubrange(0, 1);
  auto& only = *model.mutable_graph()->mutable_node(0);
  only.set_domain("my.ops");
  only.set_op_type("Capped");
  only.mutable_input()->RemoveLast();
  *model.add_functions() = write_fallback(adding.operators[0], {DataType::float16}, 17).function;
  EXPECT_EQ(eject(model, {}, {}).places.size(), 1u);
  ASSERT_EQ(model.graph().node_size(), 2);
  EXPECT_EQ(model.graph().node(0).op_type(), "Constant");
  EXPECT_EQ(model.graph().node(0).attribute(0).t().data_type(), onnx::TensorProto::FLOAT16);
}

TEST(Eject, AnOperatorOfTheModelsOwnIsWrittenOutWhenItIsAskedFor) {
  onnx::ModelProto model = calling_model(true);
  model.mutable_functions(0)->clear_doc_string();
  onnx::ModelProto untouched = model;
  EXPECT_FALSE(eject(untouched, {}, {}).changed());
  EXPECT_EQ(untouched.functions_size(), 1);
  EXPECT_EQ(eject(model, {}, {{"my.ops:Capped"}}).places.at("my.ops:Capped"), 2);
  expect_ejected(model);
  EXPECT_THROW(eject(model, {}, {{"Capped"}}), InputError);
}

TEST(Eject, ReachesSubgraphsAndOtherFunctions) {
  onnx::ModelProto model = calling_model(true);
  // An If whose branch calls the operator on a value of the graph around it.
  auto& branch_owner = *model.mutable_graph()->add_node();
  branch_owner.set_op_type("If");
  branch_owner.add_input("c");
  branch_owner.add_output("z");
  auto& branch = *branch_owner.add_attribute();
  branch.set_name("then_branch");
  branch.set_type(onnx::AttributeProto::GRAPH);
  call(*branch.mutable_g(), "a", "t");
  branch.mutable_g()->add_output()->set_name("t");
  // A function of the model's own, whose call hands its own attribute on.
  auto& function = *model.add_functions();
  function.set_domain("blocks");
  function.set_name("Act");
  function.add_input("x");
  function.add_output("y");
  function.add_attribute("limit");
  auto& import = *function.add_opset_import();
  import.set_domain("my.ops");
  import.set_version(1);
  onnx::GraphProto body;
  call(body, "x", "y").mutable_attribute(0)->set_ref_attr_name("limit");
  body.mutable_node(0)->mutable_attribute(0)->clear_f();
  function.mutable_node()->Swap(body.mutable_node());
  const Ejection ejection = eject(model, {}, {});
  EXPECT_EQ(ejection.places.at("my.ops:Capped"), 4);
  ASSERT_EQ(model.functions_size(), 1);
  EXPECT_EQ(model.functions(0).opset_import_size(), 0);
  bool handed_on = false;
  for (const auto& node : model.functions(0).node()) {
    for (const auto& attribute : node.attribute()) handed_on |= attribute.ref_attr_name() == "limit";
  }
  EXPECT_TRUE(handed_on);
  const auto& inside = model.graph().node(model.graph().node_size() - 1).attribute(0).g();
  EXPECT_GT(inside.node_size(), 1);
  EXPECT_EQ(inside.node(inside.node_size() - 1).output(0), "t");
}

TEST(Eject, AFunctionThatCallsItselfIsRefused) {
  onnx::ModelProto model = calling_model(true);
  auto& inner = *model.mutable_functions(0)->add_node();
  inner = model.graph().node(0);
  inner.set_input(0, "x");
  inner.set_output(0, "again");
  EXPECT_THROW(eject(model, {}, {}), InputError);
}

TEST(Inline, WhatIsGivenOnOrTwiceIsCopied) {
  onnx::ModelProto model = small_model("y = Neg(x)");
  onnx::FunctionProto function;
  function.add_input("p");
  function.add_output("p");
  auto& node = *model.mutable_graph()->mutable_node(0);
  FreshNames names(model);
  const auto nodes = inline_call(node, function, names);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].op_type(), "Identity");
  EXPECT_EQ(nodes[0].input(0), "x");
  EXPECT_EQ(nodes[0].output(0), "y");
}

TEST(Inline, ACallThatDoesNotFitIsRefused) {
  onnx::ModelProto model = small_model("y = Neg(x)");
  FreshNames names(model);
  EXPECT_THROW(inline_call(model.graph().node(0), onnx::FunctionProto(), names), InputError);
  onnx::ModelProto calling = calling_model(true);
  calling.mutable_graph()->mutable_node(0)->clear_attribute();
  FreshNames others(calling);
  EXPECT_THROW(inline_call(calling.graph().node(0), calling.functions(0), others), InputError);
}

}  // namespace
}  // namespace graft::rewrite
