#include "bench/copy.h"

#include <gtest/gtest.h>

#include "bench/traffic.h"

namespace graft::bench {
namespace {

const CopyCurve curve({{1000, 8e9}, {1000000, 2e9}});

TEST(Copy, BandwidthIsReadFromTheLine) {
  EXPECT_EQ(curve.bytes_per_second(10), 8e9);
  EXPECT_EQ(curve.bytes_per_second(1000), 8e9);
  EXPECT_DOUBLE_EQ(curve.bytes_per_second(10000), 6e9);  // a third of the way, in logarithms
  EXPECT_EQ(curve.bytes_per_second(1000000), 2e9);
  EXPECT_EQ(curve.bytes_per_second(1u << 30), 2e9);
  EXPECT_EQ(CopyCurve().bytes_per_second(10), 0);
  EXPECT_DOUBLE_EQ(curve.milliseconds(4000000), 2);
  EXPECT_EQ(CopyCurve().milliseconds(10), 0);
}

TEST(Copy, MeasuresEverySizeWithEveryNumberOfThreads) {
  for (const int threads : {1, 2, 3}) {
    const CopyCurve measured = measure_copy(threads, size_t(1) << 20);
    ASSERT_EQ(measured.points().size(), 5u);
    EXPECT_EQ(measured.points().front().bytes, 2u << 12);
    EXPECT_EQ(measured.points().back().bytes, 2u << 20);
    for (const CopyPoint& point : measured.points()) {
      EXPECT_GT(point.bytes_per_second, 1e7);
      EXPECT_LT(point.bytes_per_second, 1e14);
    }
  }
}

TEST(Copy, TheLargestBufferIsBelievable) {
  EXPECT_GE(size_beyond_caches(), size_t(1) << 20);
  EXPECT_LE(size_beyond_caches(), size_t(128) << 20);
}

TEST(Traffic, LeavesOutWhatIsNotTold) {
  Profile profile;
  profile.nodes = {{"a", "Add", "CPU", 0.5, 600000, 400000},
                   {"b", "Add", "CPU", 7, {}, 5},
                   {"c", "Add", "CPU", 0.5, 600000, 400000}};
  OperatorUse use;
  use.nodes = {0, 1, 2};
  const Traffic traffic = traffic_of(profile, use, curve);
  EXPECT_EQ(traffic.bytes_in, 1200000u);
  EXPECT_EQ(traffic.bytes_out, 800000u);
  EXPECT_EQ(traffic.without_bytes, 1u);
  EXPECT_DOUBLE_EQ(traffic.milliseconds, 1);
  EXPECT_DOUBLE_EQ(*traffic.bytes_per_second(), 2e9);
  EXPECT_DOUBLE_EQ(*traffic.share_of_copy(), 1);
  EXPECT_DOUBLE_EQ(*traffic_of_run(profile, 4, curve).bytes_per_second(), 5e8);
}

TEST(Traffic, NothingMovedHasNoShare) {
  Profile profile;
  profile.nodes = {{"a", "Reshape", "CPU", 0.5, 0, 0}};
  OperatorUse use;
  use.nodes = {0};
  EXPECT_FALSE(traffic_of(profile, use, curve).share_of_copy());
  EXPECT_FALSE(traffic_of(profile, use, curve).bytes_per_second());
}

}  // namespace
}  // namespace graft::bench
