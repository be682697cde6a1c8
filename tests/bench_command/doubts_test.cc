#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/measure.h"

namespace graft::bench {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Makes rounds of turns that wobble by a hundredth.
Rounds rounds(int count, double first, double second) {
  Rounds made;
  for (int i = 0; i < count; ++i) {
    const double wobble = 1 + 0.01 * (i % 3 - 1);
    made.first.push_back({first * wobble, first * (2 - wobble)});
    if (second > 0) made.second.push_back({second, second * wobble});
  }
  return made;
}

TEST(Doubts, AQuietMachineRaisesNone) {
  EXPECT_THAT(doubts(rounds(20, 10, 8)), IsEmpty());
  EXPECT_THAT(doubts(rounds(20, 10, 0)), IsEmpty());
}

TEST(Doubts, TimesThatSpread) {
  Rounds noisy = rounds(20, 10, 0);
  for (size_t i = 0; i < noisy.first.size(); i += 3) noisy.first[i][0] *= 2;
  EXPECT_THAT(doubts(noisy), Contains(HasSubstr("the machine is noisy")));
}

TEST(Doubts, TooFewRounds) { EXPECT_THAT(doubts(rounds(5, 10, 8)), Contains(HasSubstr("too few rounds"))); }

TEST(Doubts, AModelThatDiffersFromItself) {
  Rounds drifting = rounds(20, 10, 9.9);
  for (auto& round : drifting.first) round[0] *= 1.05;
  EXPECT_THAT(doubts(drifting), Contains(HasSubstr("as fast as itself")));
}

TEST(Doubts, HalvesThatDisagree) {
  Rounds changed = rounds(20, 10, 8);
  for (size_t i = 10; i < 20; ++i) changed.second[i] = {9, 9};
  EXPECT_THAT(doubts(changed), Contains(HasSubstr("the two halves of the rounds disagree")));
}

TEST(Rounds, RatiosAreWithinARound) {
  Rounds made;
  made.first = {{2, 4}, {10, 10}};
  made.second = {{1, 1}, {5, 5}};
  EXPECT_EQ(made.ratios(), (std::vector<double>{3, 2}));
  EXPECT_EQ(made.own_ratios(), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(all_turns(made.first), (std::vector<double>{2, 4, 10, 10}));
}

}  // namespace
}  // namespace graft::bench
