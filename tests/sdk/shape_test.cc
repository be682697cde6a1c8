#include <graft/graft.h>
#include <gtest/gtest.h>

namespace graft {
namespace {

TEST(Shape, BroadcastsKnownDimensions) {
  const Shape result = broadcast_shapes(Shape{8, 1, 3}, Shape{5, 1});
  ASSERT_EQ(result.rank(), 3u);
  EXPECT_EQ(result[0], Dim(8));
  EXPECT_EQ(result[1], Dim(5));
  EXPECT_EQ(result[2], Dim(3));
}

TEST(Shape, KeepsTheNamesOfSymbolicDimensions) {
  const Dim n = Dim::unknown("N"), m = Dim::unknown("M"), nameless = Dim::unknown();
  EXPECT_EQ(broadcast_shapes(Shape{n}, Shape{1})[0].symbol(), "N");
  EXPECT_EQ(broadcast_shapes(Shape{1}, Shape{n})[0].symbol(), "N");
  EXPECT_EQ(broadcast_shapes(Shape{n}, Shape{n})[0].symbol(), "N");
  EXPECT_EQ(broadcast_shapes(Shape{n}, Shape{7})[0], Dim(7));  // N is 7 or 1
  EXPECT_EQ(broadcast_shapes(Shape{n}, Shape{m})[0].symbol(), "");
  EXPECT_FALSE(broadcast_shapes(Shape{n}, Shape{m})[0].known());
  EXPECT_FALSE(nameless == nameless) << "two unknown dimensions may differ";
}

TEST(Shape, RefusesWhatDoesNotBroadcast) {
  EXPECT_THROW(broadcast_shapes(Shape{2}, Shape{3}), Error);
  EXPECT_THROW(broadcast_shapes(Shape{0}, Shape{3}), Error);
  EXPECT_EQ(broadcast_shapes(Shape{0}, Shape{1})[0], Dim(0));
}

TEST(Shape, ArithmeticWithAnUnknownDimensionIsUnknown) {
  EXPECT_EQ(Dim(10) / 3 + 1, Dim(4));
  EXPECT_FALSE((Dim::unknown("N") / 2 + 1).known());
  EXPECT_EQ((Dim::unknown("N") * 2).symbol(), "");
  EXPECT_THROW(Dim(2) - Dim(3), Error);
  EXPECT_THROW(Dim(2) / Dim(0), Error);
}

TEST(Shape, RefusesTooManyDimensionsAndWrongAxes) {
  Shape shape{1, 2};
  EXPECT_EQ(shape[-1], Dim(2));
  EXPECT_THROW(shape[2], Error);
  EXPECT_THROW(shape[-3], Error);
  EXPECT_THROW(shape.resize(kMaxRank + 1), Error);
}

}  // namespace
}  // namespace graft
