#include "rewrite/inject.h"

#include <gtest/gtest.h>

#include "rewrite/fallback.h"
#include "small_model.h"

namespace graft::rewrite {
namespace {

using runtime::DataType;

constexpr const char* chain = "a = Add(x, 3); c = Clip(a, 0, 6); m = Mul(x, c); y = Div(m, 6)";

runtime::LibraryDescription library(std::vector<DataType> types = {DataType::float32},
                                    const std::string& text = "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)") {
  runtime::OperatorDescription op;
  op.domain = "my.ops";
  op.name = "HardSwish";
  op.inputs = {{"x", {}}};
  op.outputs = {{"y", {}}};
  for (const DataType type : types) op.overloads.push_back({{type}, {type}});
  op.definitions = {{11, text, true}};
  runtime::LibraryDescription library;
  library.operators = {op};
  return library;
}

std::vector<std::string> nodes(const onnx::GraphProto& graph) {
  std::vector<std::string> all;
  for (const auto& node : graph.node()) all.push_back(node.op_type());
  return all;
}

TEST(Inject, ReplacesAChainAndEmbedsItsDefinition) {
  onnx::ModelProto model = small_model(chain);
  model.mutable_graph()->mutable_node(model.graph().node_size() - 1)->set_name("last");
  model.mutable_graph()->mutable_node(model.graph().node_size() - 1)->set_doc_string("a note");
  const Injection injection = inject(model, {library()}, {});
  ASSERT_EQ(injection.sites.size(), 1u);
  EXPECT_TRUE(injection.embedded);
  EXPECT_EQ(nodes(model.graph()), std::vector<std::string>{"HardSwish"});
  const auto& node = model.graph().node(0);
  EXPECT_EQ(node.domain(), "my.ops");
  EXPECT_EQ(node.name(), "last");
  EXPECT_EQ(node.doc_string(), "a note");
  EXPECT_EQ(node.input(0), "x");
  EXPECT_EQ(node.output(0), "y");
  ASSERT_EQ(model.functions_size(), 1);
  EXPECT_EQ(model.functions(0).name(), "HardSwish");
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(1).domain(), "my.ops");

  const std::string once = model.SerializeAsString();
  const Injection again = inject(model, {library()}, {});
  EXPECT_FALSE(again.changed());
  EXPECT_EQ(again.already.at("my.ops:HardSwish"), 1);
  EXPECT_EQ(model.SerializeAsString(), once);
}

TEST(Inject, WhatIsReadElsewhereStays) {
  onnx::ModelProto model = small_model(std::string(chain) + "; z = Neg(c)", {.outputs = {"y", "z"}});
  const Injection injection = inject(model, {library()}, {});
  ASSERT_EQ(injection.sites.size(), 1u);
  EXPECT_TRUE(injection.sites[0].inner_value_read);
  EXPECT_EQ(nodes(model.graph()), (std::vector<std::string>{"Constant", "Add", "Constant", "Constant", "Clip",
                                                            "HardSwish", "Neg"}));
}

TEST(Inject, ANewValueHasItsTypeDeclared) {
  onnx::ModelProto model = small_model(std::string(chain) + "; z = Neg(y)", {.outputs = {"z"}});
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    auto* known = model.mutable_graph()->add_value_info();
    declare(*known, node.output(0), {});
  }
  const std::string made = model.graph().node(model.graph().node_size() - 1).input(0);
  inject(model, {library()}, {});
  ASSERT_EQ(model.graph().value_info_size(), 2);
  EXPECT_EQ(model.graph().value_info(0).name(), made);

  onnx::ModelProto bare = small_model(std::string(chain) + "; z = Neg(y)", {.outputs = {"z"}});
  inject(bare, {library()}, {});
  ASSERT_EQ(bare.graph().value_info_size(), 1);
  EXPECT_EQ(bare.graph().value_info(0).type().tensor_type().shape().dim_size(), 2);
}

struct Refusal {
  const char* name;
  Reason reason;
  std::function<void(onnx::ModelProto&)> change;
  runtime::LibraryDescription library = rewrite::library();
  SmallModel form = {};
  InjectOptions options = {};
};
void PrintTo(const Refusal& refusal, std::ostream* stream) { *stream << refusal.name; }

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, ByItsReasonAndUnchanged) {
  onnx::ModelProto model = small_model(chain, GetParam().form);
  GetParam().change(model);
  const std::string before = model.SerializeAsString();
  const Injection injection = inject(model, {GetParam().library}, GetParam().options);
  EXPECT_TRUE(injection.sites.empty());
  ASSERT_FALSE(injection.misses.empty());
  EXPECT_EQ(code(injection.misses[0].reason), code(GetParam().reason)) << injection.misses[0].detail;
  EXPECT_EQ(injection.misses[0].output, "y");
  EXPECT_EQ(model.SerializeAsString(), before);
}

/// Makes the constant that a node reads an initializer with this change.
void with_initializer(onnx::ModelProto& model, int slot, const char* op,
                      const std::function<void(onnx::TensorProto&)>& change) {
  auto* graph = model.mutable_graph();
  for (auto& node : *graph->mutable_node()) {
    if (node.op_type() != op) continue;
    auto* tensor = graph->add_initializer();
    for (const auto& maker : graph->node()) {
      if (maker.output(0) == node.input(slot)) *tensor = maker.attribute(0).t();
    }
    tensor->set_name("k");
    change(*tensor);
    node.set_input(slot, "k");
  }
}

void add_function(onnx::ModelProto& model) {
  auto* function = model.add_functions();
  function->set_domain("my.ops");
  function->set_name("HardSwish");
  function->add_input("x");
  function->add_output("y");
  auto* node = function->add_node();
  node->set_op_type("Abs");
  node->add_input("x");
  node->add_output("y");
}

const std::function<void(onnx::ModelProto&)> unchanged = [](onnx::ModelProto&) {};
INSTANTIATE_TEST_SUITE_P(
    Reasons, Refused,
    testing::Values(
        Refusal{"differs", Reason::constant_differs,
                [](auto& m) {
                  with_initializer(m, 1, "Div", [](auto& t) {
                    t.clear_raw_data();
                    t.add_float_data(6.5f);
                  });
                }},
        Refusal{"overridable", Reason::constant_overridable,
                [](auto& m) {
                  with_initializer(m, 1, "Div", [](auto&) {});
                  *m.mutable_graph()->add_input() = m.graph().input(0);
                  m.mutable_graph()->mutable_input(1)->set_name("k");
                }},
        Refusal{"unknown", Reason::constant_unknown,
                [](auto& m) {
                  *m.mutable_graph()->add_input() = m.graph().input(0);
                  m.mutable_graph()->mutable_input(1)->set_name("k");
                  for (auto& node : *m.mutable_graph()->mutable_node())
                    if (node.op_type() == "Div") node.set_input(1, "k");
                }},
        Refusal{"not scalar", Reason::constant_not_scalar,
                [](auto& m) {
                  with_initializer(m, 1, "Div", [](auto& t) {
                    t.clear_raw_data();
                    t.add_dims(3);
                    for (int at = 0; at < 3; ++at) t.add_float_data(6);
                  });
                }},
        Refusal{"shape", Reason::output_shape_changes,
                [](auto& m) {
                  with_initializer(m, 1, "Div", [](auto& t) {
                    for (int at = 0; at < 3; ++at) t.add_dims(1);
                  });
                }},
        Refusal{"rank",
                Reason::rank_unknown,
                [](auto& m) { with_initializer(m, 1, "Div", [](auto& t) { t.add_dims(1); }); },
                library(),
                {.with_shape = false}},
        Refusal{"dtype", Reason::dtype_not_supported, unchanged, library(), {.type = DataType::float64}},
        Refusal{"taken", Reason::name_taken, add_function},
        Refusal{"exact",
                Reason::only_within_rounding,
                unchanged,
                library({DataType::float32}, "y = Mul(x, Div(Clip(Add(x, 3), 0, 6), 6))"),
                {},
                {.exact = true}},
        Refusal{"opset",
                Reason::opset_unsupported,
                unchanged,
                library({DataType::float32}, "y = HardSwish(x)"),
                {.opset = 13}}));

TEST(Inject, ALibraryThatShadowsAFunctionOfTheModelIsNotUsed) {
  runtime::LibraryDescription both = library();
  runtime::OperatorDescription other = both.operators[0];
  other.name = "Other";
  other.definitions.clear();
  both.operators.push_back(other);
  for (const bool called : {false, true}) {
    onnx::ModelProto model = small_model(std::string(chain) + "; z = Neg(y)", {.outputs = {"z"}});
    add_function(model);
    model.mutable_functions(0)->set_name("Other");
    if (called) model.mutable_graph()->mutable_node(model.graph().node_size() - 1)->set_domain("my.ops");
    if (called) model.mutable_graph()->mutable_node(model.graph().node_size() - 1)->set_op_type("Other");
    const Injection injection = inject(model, {both}, {});
    EXPECT_EQ(injection.sites.size(), called ? 0u : 1u);
    if (called) EXPECT_EQ(injection.misses.at(0).reason, Reason::name_taken);
  }
}

TEST(Inject, AChainThatLiesInTwoGraphsIsRefused) {
  onnx::ModelProto model = small_model("a = Add(x, 3); y = Clip(a, 0, 6)");
  auto* graph = model.mutable_graph();
  graph->mutable_node(graph->node_size() - 1)->set_output(0, "c");
  auto* branch = graph->add_node();
  branch->set_op_type("If");
  branch->add_input("x");
  branch->add_output("y");
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::ModelProto inner = small_model("m = Mul(x, x); t = Div(m, 6)", {.outputs = {"t"}});
    for (auto& node : *inner.mutable_graph()->mutable_node())
      if (node.op_type() == "Mul") node.set_input(1, "c");
    auto* attribute = branch->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() = inner.graph();
    attribute->mutable_g()->clear_input();
  }
  const Injection injection = inject(model, {library()}, {});
  EXPECT_TRUE(injection.sites.empty());
  ASSERT_EQ(injection.misses.size(), 2u);
  EXPECT_EQ(injection.misses[0].reason, Reason::crosses_scopes);
  EXPECT_EQ(injection.misses[0].scope, "main/y:then_branch");
}

TEST(Inject, SitesOfTwoTypesShareAFunction) {
  for (const int64_t opset : {13, 17}) {
    onnx::ModelProto model = small_model(chain, {.opset = opset});
    onnx::ModelProto other =
        small_model("b = Add(u, 3); d = Clip(b, 0, 6); n = Mul(u, d); v = Div(n, 6)",
                    {.inputs = {"u"}, .outputs = {"v"}, .type = DataType::float64, .opset = opset});
    for (auto& node : *other.mutable_graph()->mutable_node()) {
      for (auto& name : *node.mutable_input())
        if (name != "u") name += "_d";
      for (auto& name : *node.mutable_output())
        if (name != "v") name += "_d";
    }
    model.mutable_graph()->mutable_node()->MergeFrom(other.graph().node());
    model.mutable_graph()->mutable_input()->MergeFrom(other.graph().input());
    model.mutable_graph()->mutable_output()->MergeFrom(other.graph().output());
    const Injection injection = inject(model, {library({DataType::float32, DataType::float64})}, {});
    EXPECT_EQ(injection.sites.size(), 2u);
    ASSERT_EQ(model.functions_size(), 1);
    for (const auto& node : model.graph().node()) {
      ASSERT_EQ(node.attribute_size(), opset < 15 ? 3 : 0);
      if (opset < 15) {
        EXPECT_EQ(node.attribute(0).name(), "graft_k3");
        EXPECT_EQ(node.attribute(0).t().data_type(), node.input(0) == "u" ? 11 : 1);
      }
    }
  }
}

TEST(Inject, IrVersionsBelow4StayAndHaveNoFunctions) {
  onnx::ModelProto model = small_model(chain, {.opset = 11, .ir_version = 3});
  const Injection injection = inject(model, {library()}, {});
  EXPECT_EQ(injection.sites.size(), 1u);
  EXPECT_FALSE(injection.embedded);
  EXPECT_EQ(model.ir_version(), 3);
  EXPECT_EQ(model.functions_size(), 0);
}

TEST(Inject, TheLargerOperatorComesFirst) {
  runtime::LibraryDescription both = library();
  runtime::OperatorDescription part = both.operators[0];
  part.name = "Part";
  part.definitions[0].text = "y = Clip(Add(x, 3), 0, 6)";
  both.operators.insert(both.operators.begin(), part);
  onnx::ModelProto model = small_model(chain);
  const Injection injection = inject(model, {both}, {});
  ASSERT_EQ(injection.sites.size(), 1u);
  EXPECT_EQ(injection.sites[0].op, "my.ops:HardSwish");
}

TEST(Inject, AnAttributeThatTheOperatorDoesNotKnowIsNoted) {
  onnx::ModelProto model = small_model("y = Neg(x)");
  auto& node = *model.mutable_graph()->mutable_node(0);
  node.set_op_type("HardSwish");
  node.set_domain("my.ops");
  for (const char* name : {"alhpa", "graft_k3"}) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
  }
  runtime::LibraryDescription known = library();
  known.operators[0].attributes = {{"alpha", runtime::AttributeType::float_, false, 1.0}};
  const Injection injection = inject(model, {known}, {});
  ASSERT_EQ(injection.notes.size(), 1u);
  EXPECT_EQ(injection.notes[0],
            "my.ops:HardSwish that makes `y` has an attribute `alhpa`, which the operator does not know; did "
            "you mean "
            "`alpha`?");
}

}  // namespace
}  // namespace graft::rewrite
