#include "verify/compare.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "loaded_runtime.h"
#include "model_builder.h"

namespace graft::verify {
namespace {

using runtime::DataType;
using runtime::Session;
using runtime::Tensor;
using testing::floats;
using testing::loaded_runtime;
using testing::ModelBuilder;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

Difference between(const std::vector<float>& a, const std::vector<float>& b,
                   std::optional<Tolerance> tolerance = {}) {
  const auto size = static_cast<int64_t>(a.size());
  return compare_tensors("y", floats(a, {size}), floats(b, {size}), tolerance);
}

template <class T> Tensor bits(DataType type, const std::vector<T>& values) {
  Tensor tensor = Tensor::zeros(type, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.values<T>().begin());
  return tensor;
}

TEST(Compare, EqualIsEqual) {
  const Difference difference = between({1, -2, 0}, {1, -2, 0});
  EXPECT_TRUE(difference.equal());
  EXPECT_EQ(difference.elements, 3u);
  EXPECT_EQ(difference.largest_absolute, 0);
  EXPECT_FALSE(difference.first.has_value());
}

TEST(Compare, SpecialValues) {
  EXPECT_TRUE(between({nan}, {std::bit_cast<float>(0xffc00123u)}).equal());
  EXPECT_TRUE(between({infinity, -infinity}, {infinity, -infinity}).equal());
  EXPECT_TRUE(between({0.0f}, {-0.0f}).equal());
  for (const auto& [a, b] :
       {std::pair{nan, 1.0f}, {1.0f, nan}, {infinity, 3e38f}, {infinity, -infinity}, {nan, infinity}}) {
    const Difference difference = between({a}, {b});
    EXPECT_FALSE(difference.equal());
    EXPECT_TRUE(std::isinf(difference.largest_absolute)) << a << " " << b;
    EXPECT_TRUE(std::isinf(difference.largest_ulp)) << a << " " << b;
    EXPECT_TRUE(std::isinf(difference.largest_excess)) << a << " " << b;
  }
}

TEST(Compare, CountsUnitsInTheLastPlace) {
  EXPECT_EQ(between({1}, {std::nextafter(1.0f, 2.0f)}).largest_ulp, 1);
  EXPECT_EQ(between({1}, {1 - 3 * 0x1p-24f}).largest_ulp, 3);  // below 1 the steps are half as wide
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(between({tiny}, {-tiny}).largest_ulp, 2);
  EXPECT_EQ(between({-0.0f}, {tiny}).largest_ulp, 1);
  EXPECT_EQ(between({0x1.fffffep127f}, {-0x1.fffffep127f}).largest_ulp, 2.0 * 0x7f7fffff);

  const auto halves = [](uint16_t a, uint16_t b) {
    return compare_tensors("y", bits<uint16_t>(DataType::float16, {a}),
                           bits<uint16_t>(DataType::float16, {b}));
  };
  EXPECT_EQ(halves(0x3c00, 0x3c05).largest_ulp, 5);
  EXPECT_EQ(halves(0x8001, 0x0001).largest_ulp, 2);
  EXPECT_EQ(halves(0x3c00, 0x3c01).largest_absolute, 0x1p-10);
  EXPECT_EQ(compare_tensors("y", bits<uint16_t>(DataType::bfloat16, {0x3f80}),
                            bits<uint16_t>(DataType::bfloat16, {0x3f82}))
                .largest_ulp,
            2);
  EXPECT_EQ(compare_tensors("y", bits<double>(DataType::float64, {1.0}),
                            bits<double>(DataType::float64, {1.0 + 0x1p-52}))
                .largest_ulp,
            1);
  const double largest = std::numeric_limits<double>::max();
  EXPECT_GT(compare_tensors("y", bits<double>(DataType::float64, {largest}),
                            bits<double>(DataType::float64, {-largest}))
                .largest_ulp,
            1e19);
  EXPECT_EQ(compare_tensors("y", bits<int64_t>(DataType::int64, {std::numeric_limits<int64_t>::min()}),
                            bits<int64_t>(DataType::int64, {std::numeric_limits<int64_t>::max()}))
                .largest_ulp,
            0x1p64);
}

TEST(Compare, TellsWhereAndHowMany) {
  const Tensor a = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor b = floats({1, 2, 3.001f, 4, 9, 6}, {2, 3});
  const Difference difference = compare_tensors("y", a, b);
  EXPECT_EQ(difference.differing, 2u);
  EXPECT_EQ(difference.first->index, (runtime::Shape{0, 2}));
  EXPECT_EQ(difference.first->reference, "3");
  EXPECT_EQ(difference.first->candidate, "3.001");
  EXPECT_EQ(difference.worst->index, (runtime::Shape{1, 1}));
  EXPECT_EQ(difference.largest_absolute, 4);
  EXPECT_DOUBLE_EQ(difference.largest_relative, 0.8);
}

TEST(Compare, PercentilesCountAllElements) {
  std::vector<float> a(100, 1.0f), b(100, 1.0f);
  for (size_t i = 0; i < 20; ++i) b[i] = 1.0f + static_cast<float>(i + 1) * 0x1p-23f;
  const Difference difference = between(a, b);
  EXPECT_EQ(difference.ulp_median, 0);
  EXPECT_EQ(difference.ulp_90, 10);  // 80 equal, then 1 to 20
  EXPECT_EQ(difference.ulp_99, 19);
  EXPECT_EQ(difference.largest_ulp, 20);
}

TEST(Compare, ToleranceIsAbsolutePlusRelative) {
  EXPECT_DOUBLE_EQ(between({100}, {100.5f}, Tolerance{0.25, 0.0025}).largest_excess, 1.0);
  EXPECT_DOUBLE_EQ(between({0}, {0.5f}, Tolerance{0.25, 10}).largest_excess, 2.0);
  EXPECT_LT(between({1}, {1.000005f}).largest_excess, 1);  // the default for float
  EXPECT_GT(between({1}, {1.00002f}).largest_excess, 1);
  // Integers stay exact, whatever tolerance is given.
  const Difference integers =
      compare_tensors("y", testing::integers({5}), testing::integers({6}), Tolerance{10, 10});
  EXPECT_TRUE(std::isinf(integers.largest_excess));
  EXPECT_EQ(integers.largest_absolute, 1);
}

TEST(Compare, TypesAndShapesMustAgree) {
  EXPECT_EQ(compare_tensors("y", floats({1, 2}, {2}), floats({1, 2}, {1, 2})).mismatch,
            "shape [2] became [1,2]");
  EXPECT_EQ(compare_tensors("y", floats({1}, {1}), Tensor::zeros(DataType::float64, {1})).mismatch,
            "type float became double");
  Comparison comparison;
  comparison.outputs.push_back(compare_tensors("y", floats({1, 2}, {2}), floats({1, 2}, {1, 2})));
  EXPECT_FALSE(comparison.equal());
  EXPECT_TRUE(std::isinf(comparison.largest_absolute()));
  EXPECT_TRUE(compare_tensors("y", floats({}, {0}), floats({}, {0})).equal());
}

TEST(Compare, EveryTypeIsCompared) {
  for (const DataType type :
       {DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16, DataType::int8,
        DataType::int16, DataType::int32, DataType::int64, DataType::uint8, DataType::uint16,
        DataType::uint32, DataType::uint64, DataType::boolean, DataType::complex64, DataType::complex128,
        DataType::float8e4m3fn, DataType::float8e5m2, DataType::int4, DataType::string}) {
    const Tensor a = Tensor::zeros(type, {2, 3});
    Tensor b = a;
    EXPECT_TRUE(compare_tensors("y", a, b).equal()) << type_name(type);
    if (type == DataType::string) {
      b.strings[5] = "x";
    } else {
      b.bytes.back() = std::byte{1};
    }
    const Difference difference = compare_tensors("y", a, b);
    EXPECT_EQ(difference.differing, 1u) << type_name(type);
    EXPECT_EQ(difference.first->index[0], 1) << type_name(type);
  }
}

TEST(Compare, MergingKeepsTheLarger) {
  Difference first = between({1, 1}, {1, 1.5f});
  first.merge(between({1, 1}, {3, 1}));
  EXPECT_EQ(first.elements, 4u);
  EXPECT_EQ(first.differing, 2u);
  EXPECT_EQ(first.largest_absolute, 2);
  EXPECT_EQ(first.worst->candidate, "3");
  EXPECT_EQ(first.first->candidate, "1.5");
}

ModelBuilder unary(const std::string& type, const std::string& input, const std::string& output,
                   DataType element = DataType::float32) {
  ModelBuilder model;
  model.input(input, element, {"N"});
  model.node(type, {input}, {output});
  model.output(output, element, {"N"});
  return model;
}

TEST(Compare, RunsBothModels) {
  Session a = Session::from_bytes(loaded_runtime(), unary("Neg", "x", "y").bytes());
  Session b = Session::from_bytes(loaded_runtime(), unary("Identity", "x", "y").bytes());
  EXPECT_EQ(compare(a, b, {floats({1, 2}, {2})}).largest_absolute(), 4);
  EXPECT_TRUE(compare(a, a, {floats({1, 2}, {2})}).equal());
}

TEST(Compare, NamesHowInterfacesDiffer) {
  const auto open = [](const ModelBuilder& model, const std::string& name) {
    return Session::from_bytes(loaded_runtime(), model.bytes(), {}, name);
  };
  const Session a = open(unary("Neg", "x", "y"), "a");
  EXPECT_EQ(interface_difference(a, open(unary("Abs", "x", "y"), "b")), "");
  EXPECT_EQ(interface_difference(a, open(unary("Neg", "z", "y"), "b")), "b: has no input x, which a has");
  EXPECT_EQ(interface_difference(a, open(unary("Neg", "x", "z"), "b")), "b: has no output y, which a has");
  EXPECT_EQ(interface_difference(a, open(unary("Neg", "x", "y", DataType::float64), "b")),
            "b: input x is double[N], and float[N] in a");
  ModelBuilder more = unary("Neg", "x", "y");
  more.input("extra", DataType::float32, {1});
  EXPECT_EQ(interface_difference(a, open(more, "b")), "b: has input extra, which a has not");
  ModelBuilder swapped = unary("Neg", "extra", "z");
  swapped.input("x", DataType::float32, {"N"});
  more.node("Identity", {"extra"}, {"z"});
  EXPECT_EQ(interface_difference(open(more, "a"), open(swapped, "b")).find("b: input 1 is extra, and x in a"),
            0u);
}

}  // namespace
}  // namespace graft::verify
