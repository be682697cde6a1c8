#include "rewrite/fallback.h"

#include <gtest/gtest.h>

namespace graft::rewrite {
namespace {

runtime::OperatorDescription op(const std::string& text, int64_t opset = 17) {
  runtime::OperatorDescription op;
  op.domain = "my.ops";
  op.name = "Op";
  op.inputs = {{"x", {}}};
  op.outputs = {{"y", {}}};
  op.attributes = {{"alpha", runtime::AttributeType::float_, true, {}},
                   {"n", runtime::AttributeType::int_, true, {}}};
  op.definitions = {{opset, text, false}};
  return op;
}

/// Spells out a body for one type; with a second type, one that serves both.
std::string spelled(const Fallback& fallback);
std::string spelled(const onnx::FunctionProto& function) {
  std::string text;
  for (const auto& node : function.node()) {
    text += node.op_type();
    for (const auto& attribute : node.attribute())
      text +=
          "." + attribute.name() + (attribute.ref_attr_name().empty() ? "" : "@" + attribute.ref_attr_name());
    text += " ";
  }
  return text;
}

std::string spelled(const Fallback& fallback) { return spelled(fallback.function); }

TEST(Fallback, ClipTakesAttributesBeforeOpset11) {
  const auto clip = op("y = Clip(Add(x, 3), 0, 6)");
  EXPECT_EQ(spelled(write_body(clip, DataType::float32, 9)), "Constant.value Add Clip.max.min ");
  EXPECT_EQ(spelled(write_body(clip, DataType::float32, 11)),
            "Constant.value Add Constant.value Constant.value Clip ");
  EXPECT_EQ(write_body(clip, DataType::float32, 9).opset_import(0).version(), 9);
  // In double a bound of 0.1 is no float, as the attribute would be, and ONNX Runtime has no Clip for it
  // before opset 12.
  EXPECT_THROW(write_body(op("y = Clip(x, 0.1, 6)"), DataType::float64, 7), OpsetError);
  for (const int64_t opset : {9, 11})
    EXPECT_EQ(spelled(write_body(op("y = Clip(x, 0.1, 6)"), DataType::float64, opset)),
              "Constant.value Max Constant.value Min ");
  EXPECT_EQ(spelled(write_body(op("y = Clip(x, , 6)"), DataType::float64, 11)), "Constant.value Min ");
  EXPECT_EQ(spelled(write_body(op("y = Clip(x, 0.1, 6)"), DataType::float64, 12)),
            "Constant.value Constant.value Clip ");
}

TEST(Fallback, LiteralsHaveTheTypeOfTheSites) {
  for (const DataType type : {DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16}) {
    const auto function = write_body(op("y = Add(x, 0.1)"), type, 17);
    EXPECT_EQ(function.node(0).attribute(0).t().data_type(), static_cast<int32_t>(type));
    EXPECT_EQ(graph::read_element(function.node(0).attribute(0).t(), 0), graph::round_to(type, 0.1));
  }
}

TEST(Fallback, LiteralsFollowTheTypeOfTheCall) {
  const auto sum = op("y = Add(x, 3)");
  for (const auto& types : {std::set{DataType::float32}, std::set{DataType::float32, DataType::float64}}) {
    const Fallback fallback = write_fallback(sum, types, 15);
    EXPECT_EQ(spelled(fallback), "Constant.value CastLike Add ");
    EXPECT_TRUE(fallback.literals.empty());
  }
  EXPECT_EQ(spelled(write_fallback(sum, {DataType::float64}, 13)), "Constant.value Add ");
}

TEST(Fallback, SitesOfSeveralTypesBringTheirLiterals) {
  const Fallback older =
      write_fallback(op("y = Mul(@alpha, Add(Add(x, 3), 0.1))"), {DataType::float32, DataType::float64}, 13);
  EXPECT_EQ(spelled(older),
            "Constant.value@graft_k3 Add Constant.value@graft_k0p1 Add Constant.value@graft_alpha Mul ");
  ASSERT_EQ(older.literals.size(), 3u);
  const int last = older.function.attribute_size() - 1;
  for (int at = 0; at < 3; ++at)
    EXPECT_EQ(older.function.attribute(last - 2 + at), older.literals[static_cast<size_t>(at)].name);
  const auto literal = make_literal(older.literals[1], DataType::float64, {});
  EXPECT_EQ(literal.name(), "graft_k0p1");
  EXPECT_EQ(graph::read_element(literal.t(), 0), 0.1);
  EXPECT_EQ(graph::read_element(make_literal(older.literals[2], DataType::float16, {0.25}).t(), 0), 0.25);
}

TEST(Fallback, AFunctionThatGraftWroteIsRecognised) {
  const auto own = op("y = Add(x, 3)"), other = op("y = Add(x, 4)");
  for (const int64_t opset : {13, 17}) {
    for (const auto& types : {std::set{DataType::float32}, std::set{DataType::float32, DataType::float64}}) {
      const auto function = write_fallback(own, types, opset).function;
      EXPECT_TRUE(recognise(function, own, DataType::float32, opset));
      EXPECT_FALSE(recognise(function, other, DataType::float32, opset));
    }
    EXPECT_EQ(
        recognise(write_fallback(own, {DataType::float32}, opset).function, own, DataType::float64, opset)
            .has_value(),
        opset >= 15);
  }
}

TEST(Fallback, AttributesBecomeValues) {
  EXPECT_EQ(spelled(write_body(op("y = Mul(@alpha, x)"), DataType::float32, 12)),
            "Constant.value_float@alpha Mul ");
  EXPECT_EQ(spelled(write_body(op("y = Mul(@alpha, x)"), DataType::float64, 12)),
            "Constant.value_float@alpha Cast.to Mul ");
  EXPECT_EQ(spelled(write_body(op("y = Mul(@alpha, x)"), DataType::float32, 9)),
            "Constant.value LeakyRelu.alpha@alpha Neg Mul ");
  EXPECT_THROW(write_body(op("y = Mul(@n, x)"), DataType::float32, 9), OpsetError);
}

TEST(Fallback, AxesAreAttributesOrInputs) {
  const auto attribute = op("y = ReduceMean<axes=[-1]>(x)", 13), input = op("y = ReduceMean(x, [-1])", 18);
  for (const auto& each : {attribute, input}) {
    EXPECT_EQ(spelled(write_body(each, DataType::float32, 13)), "ReduceMean.axes ");
    EXPECT_EQ(spelled(write_body(each, DataType::float32, 18)), "Constant.value ReduceMean ");
  }
  EXPECT_EQ(spelled(write_body(op("y = Unsqueeze(x, [0])"), DataType::float32, 11)), "Unsqueeze.axes ");
}

TEST(Fallback, WhatAnOpsetLacksIsRefused) {
  EXPECT_THROW(write_body(op("y = Erf(x)"), DataType::float32, 8), OpsetError);
  EXPECT_THROW(write_body(op("y = Mish(x)"), DataType::float32, 17), OpsetError);
  EXPECT_NO_THROW(write_body(op("y = Mish(x)"), DataType::float32, 18));
  EXPECT_EQ(spelled(write_body(op("y = Where(GreaterOrEqual(x, x), x, x)"), DataType::float32, 11)),
            "Greater Equal Or Where ");
  EXPECT_THROW(write_body(op("y = Where(GreaterOrEqual(x, x), x, x)"), DataType::float32, 9), OpsetError);
  EXPECT_THROW(write_body(op("y = other::Thing(x)"), DataType::float32, 17), InputError);
}

TEST(Fallback, AnOutputThatIsAnInputIsCopied) {
  EXPECT_EQ(spelled(write_body(op("y = x"), DataType::float32, 17)), "Identity ");
}

TEST(Fallback, AFunctionThatIsThereMayMeanTheSame) {
  const std::string text = "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)";
  const Pattern pattern(parse_definition(text, 17, signature_of(op(text))));
  const auto single = write_body(op(text), DataType::float32, 17),
             mixed = write_fallback(op(text), {DataType::float32, DataType::float64}, 17).function;
  EXPECT_TRUE(means_the_same(single, pattern, DataType::float32));
  EXPECT_FALSE(means_the_same(single, pattern, DataType::float64));
  EXPECT_TRUE(means_the_same(mixed, pattern, DataType::float64));
  EXPECT_FALSE(
      means_the_same(write_body(op("y = Div(Mul(x, Clip(Add(x, 3), 0, 7)), 6)"), DataType::float32, 17),
                     pattern, DataType::float32));
}

// Found by tests/fuzz/definition.cc.
TEST(Fallback, ACallThatLacksAnArgumentIsRefused) {
  EXPECT_THROW(write_body(op("y = Where(GreaterOrEqual(x), x, x)"), DataType::float32, 11), InputError);
  EXPECT_THROW(write_body(op("y = Clip(, 0, 6)"), DataType::float64, 9), InputError);
  EXPECT_THROW(write_body(op("y = Unsqueeze(x, [1e300])"), DataType::float32, 17), InputError);
  EXPECT_NO_THROW(write_body(op("y = Unsqueeze(x, [ ])"), DataType::float32, 17));
}

}  // namespace
}  // namespace graft::rewrite
