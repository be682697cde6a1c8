#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace graft::bench {
namespace {

std::vector<double> one_to(int count) {
  std::vector<double> figures(static_cast<size_t>(count));
  std::iota(figures.begin(), figures.end(), 1);
  return figures;
}

TEST(Statistics, FiguresInterpolate) {
  const Figures figures = figures_of({5, 1, 4, 2, 3});
  EXPECT_EQ(figures.least, 1);
  EXPECT_DOUBLE_EQ(figures.p10, 1.4);
  EXPECT_DOUBLE_EQ(figures.median, 3);
  EXPECT_DOUBLE_EQ(figures.p90, 4.6);
  EXPECT_EQ(figures.most, 5);
  EXPECT_EQ(figures.count, 5u);
  EXPECT_DOUBLE_EQ(figures.spread(), 4.6 / 1.4);
  EXPECT_EQ(figures_of({}).count, 0u);
  EXPECT_EQ(figures_of({}).spread(), 0);
}

/// Holds rows of the usual table of confidence intervals of a median (Conover's and others): n, and which
/// order statistics.
TEST(Statistics, IntervalsAreThoseOfTheTables) {
  struct Row {
    int n;
    double lower, upper, confidence;
  };
  for (const Row& row :
       {Row{6, 1, 6, 0.96875}, Row{8, 1, 8, 0.9921875}, Row{9, 2, 8, 0.9609375}, Row{10, 2, 9, 0.978515625},
        Row{20, 6, 15, 0.9586}, Row{25, 8, 18, 0.9567}, Row{100, 40, 61, 0.9648}}) {
    const auto interval = median_interval(one_to(row.n));
    ASSERT_TRUE(interval) << row.n;
    EXPECT_EQ(interval->lower, row.lower) << row.n;
    EXPECT_EQ(interval->upper, row.upper) << row.n;
    EXPECT_NEAR(interval->confidence, row.confidence, 5e-5) << row.n;
  }
}

TEST(Statistics, FewFiguresGiveNoInterval) {
  for (int n = 0; n < 6; ++n) EXPECT_FALSE(median_interval(one_to(n))) << n;
  EXPECT_TRUE(median_interval(one_to(5), 0.9));
}

TEST(Statistics, ManyFiguresDoNotUnderflow) {
  const auto interval = median_interval(one_to(5000));
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->lower, 2500 - 1.96 * std::sqrt(5000) / 2, 2);
  EXPECT_NEAR(interval->confidence, 0.95, 0.002);
}

TEST(Statistics, TheIntervalHoldsTheMedianAsOftenAsItSays) {
  std::mt19937 random(1);
  std::exponential_distribution<double> skewed(1);
  const double median = std::log(2.0);
  int held = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> figures(15);
    std::generate(figures.begin(), figures.end(), [&] { return skewed(random); });
    held += median_interval(figures)->contains(median) ? 1 : 0;
  }
  EXPECT_NEAR(held / 2000.0, 0.9648, 0.015);  // 4th of 15 from both ends; three standard errors
}

TEST(Statistics, ARatioTellsOnlyWhatItsIntervalDoes) {
  EXPECT_TRUE(ratio_of({1.1, 1.2, 1.1, 1.3, 1.2, 1.1}).tells());
  EXPECT_FALSE(ratio_of({0.9, 1.2, 1.1, 1.3, 1.2, 1.1}).tells());
  EXPECT_FALSE(ratio_of({1.1, 1.2, 1.1}).tells());
}

}  // namespace
}  // namespace graft::bench
