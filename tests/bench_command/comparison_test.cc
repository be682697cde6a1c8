#include "bench/comparison.h"

#include <gtest/gtest.h>

namespace graft::bench {
namespace {

OperatorUse use(const std::string& op, size_t calls, uint64_t bytes, std::vector<double> milliseconds) {
  OperatorUse made;
  made.op = op;
  made.nodes.resize(calls);
  made.bytes_in = bytes;
  made.milliseconds = std::move(milliseconds);
  return made;
}

Profile profile(std::vector<OperatorUse> operators) {
  Profile made;
  made.operators = std::move(operators);
  return made;
}

TEST(Comparison, OnlyTheSameWorkHasASpeedUpOfItsOwn) {
  const Profile first =
      profile({use("Conv", 2, 100, {4, 4, 4, 4, 4, 4}), use("Mul", 3, 30, {6, 6, 6, 6, 6, 6}),
               use("Div", 1, 10, {2, 2, 2, 2, 2, 2})});
  const Profile second =
      profile({use("Conv", 2, 100, {2, 2, 2, 2, 2, 2}), use("Mul", 1, 10, {1, 1, 1, 1, 1, 1}),
               use("HardSwish", 1, 10, {1, 1, 1, 1, 1, 1})});
  const OperatorComparison found = compare_operators(first, second);
  ASSERT_EQ(found.pairs.size(), 4u);
  EXPECT_EQ(found.pairs[0].op, "Mul") << "the largest difference first";
  EXPECT_FALSE(found.pairs[0].same_work);
  EXPECT_FALSE(found.pairs[0].speedup);
  for (const OperatorPair& pair : found.pairs) {
    if (pair.op != "Conv") continue;
    ASSERT_TRUE(pair.speedup);
    EXPECT_EQ(pair.speedup->median, 2);
    EXPECT_TRUE(pair.speedup->tells());
  }
  EXPECT_EQ(found.changed.first_calls, 4u);
  EXPECT_EQ(found.changed.second_calls, 2u);
  EXPECT_EQ(found.changed.first_ms, 8);
  EXPECT_EQ(found.changed.second_ms, 2);
  EXPECT_EQ(found.changed.speedup->median, 4);
}

TEST(Comparison, OtherSizesAreOtherWork) {
  const OperatorComparison found =
      compare_operators(profile({use("Conv", 2, 100, {4})}), profile({use("Conv", 2, 99, {2})}));
  EXPECT_FALSE(found.pairs[0].same_work);
  EXPECT_EQ(found.changed.first_calls, 2u);
}

TEST(Comparison, EqualModelsChangeNothing) {
  const Profile same = profile({use("Conv", 2, 100, {4, 5})});
  const OperatorComparison found = compare_operators(same, same);
  EXPECT_EQ(found.changed.first_calls + found.changed.second_calls, 0u);
  EXPECT_FALSE(found.changed.speedup);
}

}  // namespace
}  // namespace graft::bench
