#include "verify/timing.h"

#include <gtest/gtest.h>

#include "loaded_runtime.h"
#include "model_builder.h"

namespace graft::verify {
namespace {

using runtime::DataType;
using runtime::Session;
using testing::ModelBuilder;

TEST(Timing, SpreadInterpolates) {
  const Spread spread = spread_of({4, 1, 3, 2});
  EXPECT_EQ(spread.least, 1);
  EXPECT_DOUBLE_EQ(spread.lower_quartile, 1.75);
  EXPECT_DOUBLE_EQ(spread.median, 2.5);
  EXPECT_DOUBLE_EQ(spread.upper_quartile, 3.25);
  EXPECT_EQ(spread.most, 4);
  EXPECT_EQ(spread_of({7}).median, 7);
  EXPECT_EQ(spread_of({}).median, 0);
}

/// Multiplies a matrix by itself again and again.
ModelBuilder products(int count) {
  ModelBuilder model;
  model.input("x", DataType::float32, {64, 64});
  std::string value = "x";
  for (int i = 0; i < count; ++i) {
    const std::string next = i + 1 == count ? "y" : std::string("v").append(std::to_string(i));
    model.node("MatMul", {value, "x"}, {next});
    value = next;
  }
  model.output("y", DataType::float32, {64, 64});
  return model;
}

TEST(Timing, TellsTheSlowerModel) {
  Session slow = Session::from_bytes(testing::loaded_runtime(), products(40).bytes());
  Session fast = Session::from_bytes(testing::loaded_runtime(), products(2).bytes());
  const std::vector<runtime::Tensor> inputs = {runtime::Tensor::zeros(DataType::float32, {64, 64})};
  const PairTiming timing = time_interleaved(
      slow, fast, inputs, {.warm_up = 2, .least_rounds = 5, .most_rounds = 20, .budget_seconds = 0.2});
  EXPECT_GE(timing.rounds, 5);
  EXPECT_LE(timing.rounds, 20);
  EXPECT_GT(timing.speedup.median, 2);  // 20 times the work
  EXPECT_GT(timing.first.best_ms, timing.second.best_ms);
  EXPECT_LE(timing.first.best_ms, timing.first.median_ms);
  EXPECT_LE(timing.first.lower_quartile_ms, timing.first.upper_quartile_ms);
  EXPECT_GT(timing.best_speedup, 2);
}

}  // namespace
}  // namespace graft::verify
