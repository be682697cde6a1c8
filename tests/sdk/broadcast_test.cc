#include <graft/graft.h>
#include <gtest/gtest.h>

#include <random>

namespace graft {
namespace {

/// Gives the offset of an output position in an input, the slow way.
int64_t reference_offset(const Dims& input, const Dims& output, int64_t position) {
  int64_t offset = 0, step = 1;
  for (size_t back = 1; back <= output.size(); ++back) {
    const int64_t index = position % output[output.size() - back];
    position /= output[output.size() - back];
    if (back > input.size()) continue;
    const int64_t dim = input[input.size() - back];
    if (dim != 1) offset += index * step;
    step *= dim;
  }
  return offset;
}

template <size_t N>
void expect_offsets(const std::array<Dims, N>& shapes) {
  std::array<const Dims*, N> inputs;
  for (size_t i = 0; i < N; ++i) inputs[i] = &shapes[i];
  const BroadcastPlan<N> plan = plan_broadcast<N>(inputs);
  for (size_t i = 0; i < N; ++i) {
    EXPECT_TRUE(plan.stride[i][plan.rank - 1] == 0 || plan.stride[i][plan.rank - 1] == 1);
  }
  for (int64_t begin : {int64_t(0), plan.size / 3, plan.size / 2}) {
    int64_t next = begin;
    for_each_run(plan, begin, plan.size, [&](const std::array<int64_t, N>& offset, int64_t position, int64_t count) {
      ASSERT_EQ(position, next);
      ASSERT_GT(count, 0);
      next += count;
      for (int64_t k = 0; k < count; ++k) {
        for (size_t i = 0; i < N; ++i) {
          ASSERT_EQ(offset[i] + k * plan.stride[i][plan.rank - 1], reference_offset(shapes[i], plan.shape, position + k));
        }
      }
    });
    EXPECT_EQ(next, plan.size);
  }
}

TEST(Broadcast, CollapsesDimensionsThatWalkAlike) {
  const Dims x{8, 64, 56, 56}, bias{64, 1, 1};
  const auto plan = plan_broadcast<2>({&x, &bias});
  ASSERT_EQ(plan.rank, 3u);
  EXPECT_EQ(plan.extent[0], 8);
  EXPECT_EQ(plan.extent[1], 64);
  EXPECT_EQ(plan.extent[2], 56 * 56);
  EXPECT_EQ(plan.stride[1][0], 0);
  EXPECT_EQ(plan.stride[1][1], 1);
  EXPECT_EQ(plan.stride[1][2], 0);
  EXPECT_TRUE(plan.dense[0]);
  EXPECT_FALSE(plan.dense[1]);
}

TEST(Broadcast, ScalarAndSameShapeAreOneDimension) {
  const Dims x{2, 3, 4}, scalar{}, one{1, 1};
  EXPECT_EQ((plan_broadcast<2>({&x, &x}).rank), 1u);
  EXPECT_EQ((plan_broadcast<2>({&x, &scalar}).rank), 1u);
  EXPECT_EQ((plan_broadcast<2>({&scalar, &one}).size), 1);
}

TEST(Broadcast, WalksAsONNXSays) {
  expect_offsets<2>({Dims{2, 3, 4}, Dims{2, 3, 4}});
  expect_offsets<2>({Dims{2, 3, 4}, Dims{4}});
  expect_offsets<2>({Dims{2, 3, 4}, Dims{3, 1}});
  expect_offsets<2>({Dims{5, 1}, Dims{1, 7}});
  expect_offsets<2>({Dims{}, Dims{2, 2}});
  expect_offsets<2>({Dims{0, 3}, Dims{3}});
  expect_offsets<3>({Dims{2, 1, 4, 1}, Dims{3, 1, 5}, Dims{1}});
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const size_t rank = random() % 7;
    std::array<Dims, 3> shapes;
    std::array<int64_t, 7> full;
    for (auto& d : full) d = 1 + int64_t(random() % 4);
    for (Dims& shape : shapes) {
      const size_t own = rank ? random() % (rank + 1) : 0;
      shape.resize(own);
      for (size_t i = 0; i < own; ++i) shape[i] = random() % 3 ? full[rank - own + i] : 1;
    }
    expect_offsets<3>(shapes);
  }
}

TEST(Broadcast, RefusalShowsTheShapes) {
  const Dims a{2, 3}, b{4};
  try {
    plan_broadcast<2>({&a, &b});
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the shapes [2,3] and [4] do not broadcast");
  }
}

}  // namespace
}  // namespace graft
