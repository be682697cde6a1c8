#include "verify/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "expect_error.h"
#include "loaded_runtime.h"
#include "model_builder.h"
#include "verify/sizes.h"

namespace graft::verify {
namespace {

using runtime::DataType;
using runtime::Session;
using runtime::Shape;
using runtime::Tensor;
using testing::error_of;
using testing::floats;
using testing::loaded_runtime;
using testing::ModelBuilder;
using testing::Size;

/// Makes a model that takes anything of this shape.
ModelBuilder identity(DataType type, const std::vector<Size>& shape) {
  ModelBuilder model;
  model.input("x", type, shape);
  model.node("Identity", {"x"}, {"y"});
  model.output("y", type, shape);
  return model;
}

Session open(const ModelBuilder& model) {
  return Session::from_bytes(loaded_runtime(), model.bytes(), {}, "m");
}

Shape settled(const ModelBuilder& model, InputPlan plan = {}) {
  Session session = open(model);
  return settle(session, std::move(plan)).shapes.at("x");
}

TEST(Inputs, FixedSizesStay) { EXPECT_EQ(settled(identity(DataType::float32, {2, 5})), (Shape{2, 5})); }

TEST(Inputs, ImagesGetMultiplesOf32) {
  const Shape image = settled(identity(DataType::float32, {"N", 3, "H", "W"}));
  EXPECT_EQ(image[0], 1);
  EXPECT_EQ(image[1], 3);
  EXPECT_EQ(image[2] % 32, 0);
  EXPECT_EQ(image[3] % 32, 0);
  const Shape last = settled(identity(DataType::uint8, {"N", "H", "W", 3}));
  EXPECT_EQ(last[0], 1);
  EXPECT_EQ(last[1] % 32, 0);
  EXPECT_EQ(last[3], 3);
  EXPECT_EQ(settled(identity(DataType::float32, {"", "", "", ""}))[1], 3);
  EXPECT_EQ(settled(identity(DataType::float32, {"N", 3, 48, "W"}))[2], 48);
}

TEST(Inputs, TheBatchIsOne) { EXPECT_EQ(settled(identity(DataType::int32, {"N", 2048})), (Shape{1, 2048})); }

TEST(Inputs, OneSymbolIsOneSize) {
  ModelBuilder model;
  model.input("x", DataType::float32, {"N", "L"});
  model.input("z", DataType::float32, {"L", "N"});
  model.node("MatMul", {"x", "z"}, {"y"});
  model.output("y", DataType::float32, {"N", "N"});
  Session session = open(model);
  const InputPlan plan = settle(session, {});
  EXPECT_EQ(plan.shapes.at("x")[1], plan.shapes.at("z")[0]);
  EXPECT_EQ(plan.shapes.at("x")[0], plan.shapes.at("z")[1]);
  // A size given for one input, or for the symbol, holds for the other.
  EXPECT_EQ(settle(session, {.shapes = {{"x", {2, 7}}}}).shapes.at("z"), (Shape{7, 2}));
  EXPECT_EQ(settle(session, {.shapes = {{"L", {9}}}}).shapes.at("z"), (Shape{9, 1}));
  EXPECT_EQ(settle(session, {.values = {{"z", floats(std::vector<float>(6), {3, 2})}}}).shapes.at("x"),
            (Shape{2, 3}));
  EXPECT_NE(error_of([&] {
              settle(session, {.shapes = {{"x", {2, 7}}, {"z", {6, 2}}}});
            }).find("dimension L is given as 7"),
            std::string::npos);
}

TEST(Inputs, OtherSizesAreTriedWhenOrtRefuses) {
  ModelBuilder model;  // reshaping to [-1,80] wants a multiple of 80
  model.input("x", DataType::float32, {"N", "L"});
  model.constant("shape", testing::integers({-1, 80}));
  model.node("Reshape", {"x", "shape"}, {"y"});
  model.output("y", DataType::float32, {"", 80});
  EXPECT_EQ(settled(model)[1] % 80, 0);
}

TEST(Inputs, SaysWhichShapeToGive) {
  ModelBuilder model;
  model.input("x", DataType::float32, {"N", "length"});
  model.constant("shape", testing::integers({-1, 1237}));
  model.node("Reshape", {"x", "shape"}, {"y"});
  model.output("y", DataType::float32, {"", 1237});
  const std::string text = error_of([&] { settled(model); });
  EXPECT_TRUE(text.starts_with("m: no input sizes found that it runs with (")) << text;
  EXPECT_NE(text.find("--shape x=N,length"), std::string::npos) << text;
  EXPECT_NE(text.find("ORT said: "), std::string::npos) << text;
  EXPECT_EQ(settled(model, {.shapes = {{"x", {2, 1237}}}}), (Shape{2, 1237}));
}

TEST(Inputs, AnUnknownRankIsFound) {
  ModelBuilder model;
  model.input("x", DataType::float32, {});
  model.proto().mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  model.node("Transpose", {"x"}, {"y"});
  auto& attribute = *model.proto().mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name("perm");
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t axis : {1, 0}) attribute.add_ints(axis);
  model.output("y", DataType::float32, {"", ""});
  EXPECT_EQ(settled(model).size(), 2u);
}

TEST(Inputs, WhatIsGivenMustFit) {
  Session session = open(identity(DataType::float32, {"N", 3}));
  const auto complaint = [&](InputPlan plan) { return error_of([&] { settle(session, std::move(plan)); }); };
  EXPECT_EQ(complaint({.shapes = {{"z", {1}}}}),
            "--shape z: the model has no input and no symbolic dimension of that name (inputs: x)");
  EXPECT_EQ(complaint({.shapes = {{"x", {1, 4}}}}),
            "input x is [N,3], and [1,4] was given (dimension 1 must be 3)");
  EXPECT_EQ(complaint({.shapes = {{"x", {3}}}}), "input x has 2 dimensions, [N,3], and [3] was given");
  EXPECT_EQ(complaint({.shapes = {{"x", {-1, 3}}}}), "--shape x: [-1,3] has a negative size");
  EXPECT_EQ(complaint({.values = {{"z", floats({1}, {1})}}}), "m: has no input z (inputs: x)");
  EXPECT_EQ(complaint({.values = {{"x", testing::integers({1})}}}),
            "m: input x takes float, and int64 was given");
}

TEST(Inputs, TheSeedDecides) {
  Session session = open(identity(DataType::float32, {4, 100}));
  const auto bytes = [&](uint64_t seed) {
    InputPlan plan = settle(session, {.seed = seed});
    return make_inputs(session, plan)[0].bytes;
  };
  EXPECT_EQ(bytes(1), bytes(1));
  EXPECT_NE(bytes(1), bytes(2));
}

TEST(Inputs, NormalNumbersAreNormal) {
  Session session = open(identity(DataType::float32, {100, 1000}));
  const Tensor x = make_inputs(session, settle(session, {}))[0];
  double sum = 0, squares = 0;
  for (const float value : x.values<float>()) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.03);
}

TEST(Inputs, WideAndSpecialNumbers) {
  for (const DataType type : {DataType::float32, DataType::float64, DataType::float16}) {
    Session session = open(identity(type, {1000}));
    InputPlan plan = settle(session, {.distribution = Distribution::wide});
    const Tensor wide = make_inputs(session, plan)[0];
    double largest = 0, smallest = 1;
    for (size_t i = 0; i < 1000; ++i) {
      largest = std::max(largest, element_as_double(wide, i));
      smallest = std::min(smallest, std::abs(element_as_double(wide, i)));
    }
    EXPECT_GT(largest, 1000);
    EXPECT_LE(largest, 10000);
    EXPECT_LT(smallest, 0.001);
    plan.distribution = Distribution::special;
    const Tensor special = make_inputs(session, plan)[0];
    int nans = 0, infinities = 0, negative_zeros = 0, denormals = 0;
    for (size_t i = 0; i < 1000; ++i) {
      const double value = element_as_double(special, i);
      nans += std::isnan(value);
      infinities += std::isinf(value);
      negative_zeros += value == 0 && std::signbit(value);
      denormals += value != 0 && std::abs(value) < (type == DataType::float16 ? 0x1p-14 : 1e-37);
    }
    EXPECT_GT(nans, 0);
    EXPECT_GT(infinities, 0);
    EXPECT_GT(negative_zeros, 0);
    EXPECT_GT(denormals, 0);
    EXPECT_LT(infinities, 50);  // the largest value of the type is not rounded to infinity
  }
}

TEST(Inputs, StrokesAreDarkOnWhiteInAllChannels) {
  for (const bool first : {true, false}) {
    Session session = open(identity(
        DataType::float32, first ? std::vector<Size>{2, 3, 64, 96} : std::vector<Size>{2, 64, 96, 3}));
    const InputPlan plan = settle(session, {.distribution = Distribution::strokes});
    EXPECT_TRUE(takes_images(session, plan));
    const Tensor x = make_inputs(session, plan)[0];
    size_t dark = 0;
    for (const float value : x.values<float>()) {
      EXPECT_TRUE(value == 1 || value == -1);
      dark += value == -1;
    }
    EXPECT_GT(dark, 0u);
    EXPECT_LT(dark, x.count() / 4);
    for (size_t pixel = 0; pixel < 64 * 96; ++pixel) {
      const auto at = [&](size_t c) {
        return x.values<float>()[first ? c * 64 * 96 + pixel : pixel * 3 + c];
      };
      ASSERT_EQ(at(0), at(1));
      ASSERT_EQ(at(0), at(2));
    }
  }
  Session rows = open(identity(DataType::float32, {4, 64}));
  EXPECT_FALSE(takes_images(rows, settle(rows, {})));
}

TEST(Inputs, FewIntegersWorkAsIndices) {
  for (const DataType type :
       {DataType::int32, DataType::int64, DataType::uint8, DataType::boolean, DataType::string}) {
    Session session = open(identity(type, {50}));
    const Tensor x = make_inputs(session, settle(session, {}))[0];
    for (size_t i = 0; i < 50; ++i) {
      const double value = type == DataType::string ? std::stod(x.strings[i]) : element_as_double(x, i);
      EXPECT_TRUE(value == 0 || value == 1);
    }
  }
}

TEST(Inputs, ManyIntegersAreBytesWhereTheModelTakesThem) {
  Session data = open(identity(DataType::int32, {1, 2048}));
  const Tensor x = make_inputs(data, settle(data, {}))[0];
  const auto values = x.values<int32_t>();
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 250);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 255);

  ModelBuilder table;  // of ten rows: an index of 255 is refused
  table.input("x", DataType::int64, {100});
  table.constant("rows", Tensor::zeros(DataType::float32, {10, 4}));
  table.node("Gather", {"rows", "x"}, {"y"});
  table.output("y", DataType::float32, {100, 4});
  Session lookup = open(table);
  const Tensor index = make_inputs(lookup, settle(lookup, {}))[0];
  EXPECT_EQ(*std::max_element(index.values<int64_t>().begin(), index.values<int64_t>().end()), 1);
}

TEST(Inputs, AudioGetsASecondAndItsLength) {
  ModelBuilder model;
  model.input("waveforms", DataType::float32, {"N", "samples"});
  model.input("waveforms_lens", DataType::int64, {"N"});
  model.node("Identity", {"waveforms"}, {"y"});
  model.node("Identity", {"waveforms_lens"}, {"z"});
  model.output("y", DataType::float32, {"N", "samples"});
  model.output("z", DataType::int64, {"N"});
  Session session = open(model);
  const std::vector<Tensor> inputs = make_inputs(session, settle(session, {}));
  EXPECT_EQ(inputs[0].shape, (Shape{1, 16000}));
  EXPECT_EQ(element_as_double(inputs[1], 0), 16000);
}

TEST(Sizes, EveryChoiceIsTriedOnce) {
  SizeChoices choices({{"x", "tensor", DataType::float32, {{-1, "N"}, {-1, "L"}}}}, {});
  EXPECT_TRUE(choices.open());
  std::set<Shape> seen;
  do {
    EXPECT_TRUE(seen.insert(choices.shapes().at("x")).second);
  } while (choices.next());
  EXPECT_GT(seen.size(), 10u);
  EXPECT_FALSE(SizeChoices({{"x", "tensor", DataType::float32, {{2, ""}}}}, {}).open());
}

}  // namespace
}  // namespace graft::verify
