#include "verify/judgement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "expect_error.h"
#include "loaded_runtime.h"
#include "model_builder.h"
#include "temporary_folder.h"

namespace graft::verify {
namespace {

using runtime::DataType;
using testing::error_of;
using testing::loaded_runtime;
using testing::ModelBuilder;
using testing::TemporaryFolder;

/// Builds x * clip(x + 3, 0, 6) / divisor.
ModelBuilder hard_swish(float divisor) {
  ModelBuilder model;
  model.input("x", DataType::float32, {"N", 64});
  model.constant("three", testing::number(3));
  model.constant("zero", testing::number(0));
  model.constant("six", testing::number(6));
  model.constant("divisor", testing::number(divisor));
  model.node("Add", {"x", "three"}, {"a"});
  model.node("Clip", {"a", "zero", "six"}, {"b"});
  model.node("Mul", {"x", "b"}, {"c"});
  model.node("Div", {"c", "divisor"}, {"y"});
  model.output("y", DataType::float32, {"N", 64});
  return model;
}

TEST(Judgement, AModelIsEqualToItself) {
  TemporaryFolder folder;
  const auto model = hard_swish(6).write(folder / "a.onnx");
  const Judgement judgement = judge(loaded_runtime(), model, model);
  EXPECT_TRUE(judgement.passed()) << judgement.reason;
  EXPECT_TRUE(judgement.optimised.equal());
  EXPECT_TRUE(judgement.plain.equal());
  EXPECT_EQ(judgement.sets, 4);
  ASSERT_EQ(judgement.others.size(), 1u);
  EXPECT_EQ(judgement.others[0].distribution, Distribution::wide);
  EXPECT_EQ(judgement.plan.shapes.at("x")[1], 64);
}

TEST(Judgement, FindsAPlantedDrift) {
  TemporaryFolder folder;
  const auto reference = hard_swish(6).write(folder / "a.onnx");
  const auto candidate = hard_swish(6.001f).write(folder / "b.onnx");
  const Judgement judgement = judge(loaded_runtime(), reference, candidate);
  EXPECT_FALSE(judgement.passed());
  EXPECT_TRUE(judgement.reason.starts_with("output y[")) << judgement.reason;
  EXPECT_NEAR(judgement.optimised.largest_relative(), 0.001 / 6, 1e-6);
  EXPECT_TRUE(judge(loaded_runtime(), reference, candidate, {.tolerance = Tolerance{1e-3, 1e-3}}).passed());
}

TEST(Judgement, AllowsRounding) {
  TemporaryFolder folder;
  const auto reference = hard_swish(6).write(folder / "a.onnx");
  ModelBuilder multiplied = hard_swish(1.0f / 6);
  multiplied.proto().mutable_graph()->mutable_node(3)->set_op_type("Mul");
  const Judgement judgement = judge(loaded_runtime(), reference, multiplied.write(folder / "b.onnx"));
  EXPECT_TRUE(judgement.passed()) << judgement.reason;
  EXPECT_FALSE(judgement.optimised.equal());
  EXPECT_GE(judgement.optimised.largest_ulp(), 1);
}

TEST(Judgement, ChanceIsNoDriftWhateverTheSeed) {
  TemporaryFolder folder;
  const auto reference = hard_swish(6).write(folder / "a.onnx");
  ModelBuilder multiplied = hard_swish(1.0f / 6);
  multiplied.proto().mutable_graph()->mutable_node(3)->set_op_type("Mul");
  const auto candidate = multiplied.write(folder / "b.onnx");
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    InputPlan plan;
    plan.seed = seed;
    const Judgement judgement = judge(loaded_runtime(), reference, candidate, {.plan = plan});
    EXPECT_TRUE(judgement.passed()) << "seed " << seed << ": " << judgement.reason;
  }
}

TEST(Judgement, FindsADriftOfAFewUlpsWhateverTheSeed) {
  TemporaryFolder folder;
  const auto reference = hard_swish(6).write(folder / "a.onnx");
  const auto candidate = hard_swish(6.000002f).write(folder / "b.onnx");  // four steps from 6
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    InputPlan plan;
    plan.seed = seed;
    const Judgement judgement = judge(loaded_runtime(), reference, candidate, {.plan = plan});
    EXPECT_FALSE(judgement.passed()) << "seed " << seed;
    EXPECT_NE(judgement.reason.find("sets of inputs"), std::string::npos) << judgement.reason;
  }
}

TEST(Judgement, GivenInputsAreJudgedAlone) {
  TemporaryFolder folder;
  const auto reference = hard_swish(6).write(folder / "a.onnx");
  InputPlan plan;
  plan.values["x"] = runtime::Tensor::zeros(DataType::float32, {1, 64});
  for (size_t i = 0; i < 64; ++i)
    runtime::set_element(plan.values["x"], i, std::sin(1 + static_cast<double>(i)));
  const auto passes = [&](float divisor) {
    const auto candidate = hard_swish(divisor).write(folder / "b.onnx");
    return judge(loaded_runtime(), reference, candidate, {.plan = plan}).passed();
  };
  EXPECT_TRUE(passes(6.000001f));  // two steps from 6: not more than 4 ulp in the result
  EXPECT_FALSE(passes(6.001f));
}

TEST(Judgement, BatchesAreJudgedByFloat64Too) {
  TemporaryFolder folder;
  const auto reference = hard_swish(6).write(folder / "a.onnx");
  ModelBuilder other = hard_swish(6);  // differs by 1e-6 of the result where the batch is 1
  auto& graph = *other.proto().mutable_graph();
  graph.mutable_node(3)->set_output(0, "d");
  other.constant("axis", testing::integers({0}));
  other.constant("little", testing::number(1e-6f));
  other.constant("one", testing::number(1));
  other.constant("first", testing::integers({0}));
  other.constant("only", testing::integers({1}));
  other.node("Shape", {"x"}, {"shape"});
  other.node("Gather", {"shape", "first"}, {"batch"});
  other.node("Equal", {"batch", "only"}, {"is_one"});
  other.node("Cast", {"is_one"}, {"as_float"});
  auto& to = *graph.mutable_node(graph.node_size() - 1)->add_attribute();
  to.set_name("to");
  to.set_type(onnx::AttributeProto::INT);
  to.set_i(onnx::TensorProto::FLOAT);
  other.node("Mul", {"as_float", "little"}, {"more"});
  other.node("Add", {"one", "more"}, {"factor"});
  other.node("Mul", {"d", "factor"}, {"y"});
  const auto candidate = other.write(folder / "b.onnx");
  InputPlan plan;
  plan.shapes["x"] = {2, 64};
  EXPECT_TRUE(judge(loaded_runtime(), reference, candidate, {.plan = plan}).passed());
  const Judgement judgement =
      judge(loaded_runtime(), reference, candidate, {.plan = plan, .batches = {1, 0}});
  EXPECT_FALSE(judgement.passed());
  EXPECT_EQ(judgement.batches, (std::vector<int64_t>{1, 0}));
}

TEST(Judgement, SpecialInputsReachBothModels) {
  TemporaryFolder folder;
  const auto reference = hard_swish(6).write(folder / "a.onnx");
  ModelBuilder other = hard_swish(6);  // the same function but for NaN and infinities: x - x gives NaN there
  auto& graph = *other.proto().mutable_graph();
  graph.mutable_node(3)->set_output(0, "d");
  other.node("Sub", {"x", "x"}, {"e"});
  other.node("Add", {"d", "e"}, {"y"});
  const auto candidate = other.write(folder / "b.onnx");
  EXPECT_TRUE(judge(loaded_runtime(), reference, candidate).passed());
  const Judgement judgement =
      judge(loaded_runtime(), reference, candidate, {.also = {Distribution::special}});
  EXPECT_FALSE(judgement.passed());
  EXPECT_NE(judgement.reason.find("special inputs"), std::string::npos) << judgement.reason;
}

TEST(Judgement, AShapeThatChangesIsDrift) {
  TemporaryFolder folder;
  ModelBuilder reference, candidate;
  for (ModelBuilder* model : {&reference, &candidate}) {
    model->input("x", DataType::float32, {2, 3});
    model->constant("shape", model == &reference ? testing::integers({3, 2}) : testing::integers({6}));
    model->node("Reshape", {"x", "shape"}, {"y"});
    model->output("y", DataType::float32, {});
    model->proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  }
  const Judgement judgement =
      judge(loaded_runtime(), reference.write(folder / "a.onnx"), candidate.write(folder / "b.onnx"));
  EXPECT_EQ(judgement.reason, "output y: shape [3,2] became [6] (full optimisation)");
}

TEST(Judgement, GivenInputsAreUsed) {
  TemporaryFolder folder;
  const auto reference = hard_swish(6).write(folder / "a.onnx");
  const auto candidate = hard_swish(7).write(folder / "b.onnx");
  InputPlan plan;
  plan.values["x"] = runtime::Tensor::zeros(DataType::float32, {2, 64});  // where the two agree
  const Judgement judgement = judge(loaded_runtime(), reference, candidate, {.plan = plan});
  EXPECT_TRUE(judgement.passed());
  EXPECT_EQ(judgement.sets, 1);
}

TEST(Judgement, NamesTheModelThatDoesNotFit) {
  TemporaryFolder folder;
  const auto reference = hard_swish(6).write(folder / "a.onnx");
  ModelBuilder other;
  other.input("z", DataType::float32, {"N", 64});
  other.node("Neg", {"z"}, {"y"});
  other.output("y", DataType::float32, {"N", 64});
  const auto candidate = other.write(folder / "b.onnx");
  EXPECT_EQ(error_of([&] { judge(loaded_runtime(), reference, candidate); }),
            candidate.string() + ": has no input x, which " + reference.string() + " has");
  EXPECT_EQ(error_of([&] { judge(loaded_runtime(), reference, folder / "none.onnx"); }),
            (folder / "none.onnx").string() + ": does not exist");
}

}  // namespace
}  // namespace graft::verify
