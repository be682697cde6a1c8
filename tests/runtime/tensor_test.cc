#include "runtime/tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace graft::runtime {
namespace {

TEST(Tensor, NamesAndSizesOfTypes) {
  EXPECT_EQ(type_name(DataType::float32), "float");
  EXPECT_EQ(type_name(DataType::boolean), "bool");
  EXPECT_EQ(type_from_name("double"), DataType::float64);
  EXPECT_EQ(type_from_name("bfloat16"), DataType::bfloat16);
  EXPECT_EQ(type_from_name("float32"), DataType::undefined);
  EXPECT_EQ(element_size(DataType::float16), 2u);
  EXPECT_EQ(element_size(DataType::complex128), 16u);
  EXPECT_EQ(element_size(DataType::string), 0u);
}

TEST(Tensor, CountsElements) {
  EXPECT_EQ(element_count({}), 1u);
  EXPECT_EQ(element_count({2, 3}), 6u);
  EXPECT_EQ(element_count({2, 0, 3}), 0u);
  EXPECT_EQ(Tensor::zeros(DataType::int4, {3}).bytes.size(), 2u);
  EXPECT_EQ(to_string(Shape{1, 3, 32}), "[1,3,32]");
}

TEST(Tensor, EveryFloat16SurvivesFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = float16_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float16_to_float(float_to_float16(value))));
    } else {
      ASSERT_EQ(float_to_float16(value), half) << value;
    }
  }
}

TEST(Tensor, EveryBfloat16SurvivesFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto brain = static_cast<uint16_t>(bits);
    const float value = bfloat16_to_float(brain);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(value))));
    } else {
      ASSERT_EQ(float_to_bfloat16(value), brain) << value;
    }
  }
}

TEST(Tensor, Float16RoundsTiesToEvenAndOverflowsToInfinity) {
  EXPECT_EQ(float_to_float16(1.0f + 0x1p-11f), 0x3c00);             // halfway: down to even
  EXPECT_EQ(float_to_float16(1.0f + 3 * 0x1p-11f), 0x3c02);         // halfway: up to even
  EXPECT_EQ(float_to_float16(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);  // above halfway
  EXPECT_EQ(float_to_float16(65504.0f), 0x7bff);
  EXPECT_EQ(float_to_float16(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_float16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_float16(0x1p-25f), 0);  // halfway between 0 and the smallest: to even
  EXPECT_EQ(float_to_float16(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(float_to_float16(-0.0f), 0x8000);
}

TEST(Tensor, DoubleToHalfRoundsOnce) {
  Tensor half = Tensor::zeros(DataType::float16, {1});
  // Just above the tie between 1 and 1 + 2^-10: rounding to float first would land on the tie and go down.
  set_element(half, 0, 1.0 + 0x1p-11 + 0x1p-40);
  EXPECT_EQ(half.values<uint16_t>()[0], 0x3c01);
  set_element(half, 0, -(1.0 + 0x1p-11 + 0x1p-40));
  EXPECT_EQ(half.values<uint16_t>()[0], 0xbc01);
  set_element(half, 0, std::numeric_limits<double>::infinity());
  EXPECT_EQ(half.values<uint16_t>()[0], 0x7c00);
  set_element(half, 0, 1e300);
  EXPECT_EQ(half.values<uint16_t>()[0], 0x7c00);
  Tensor brain = Tensor::zeros(DataType::bfloat16, {1});
  set_element(brain, 0, 1.0 + 0x1p-8 + 0x1p-40);
  EXPECT_EQ(brain.values<uint16_t>()[0], 0x3f81);
}

TEST(Tensor, StoresEveryNumericType) {
  for (const DataType type : {DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16,
                              DataType::int8, DataType::int16, DataType::int32, DataType::int64,
                              DataType::uint8, DataType::uint16, DataType::uint32, DataType::uint64}) {
    Tensor tensor = Tensor::zeros(type, {3});
    set_element(tensor, 1, 3);
    EXPECT_EQ(element_as_double(tensor, 0), 0) << type_name(type);
    EXPECT_EQ(element_as_double(tensor, 1), 3) << type_name(type);
    EXPECT_EQ(element_as_double(tensor, 2), 0) << type_name(type);
  }
  Tensor flag = Tensor::zeros(DataType::boolean, {1});
  set_element(flag, 0, 0.5);
  EXPECT_EQ(element_as_double(flag, 0), 1);
  Tensor small = Tensor::zeros(DataType::int8, {1});
  set_element(small, 0, 1000);
  EXPECT_EQ(element_as_double(small, 0), 127);
  EXPECT_THROW(element_as_double(Tensor::zeros(DataType::complex64, {2}), 0), std::invalid_argument);
}

TEST(Tensor, Converts) {
  Tensor tensor = Tensor::zeros(DataType::float32, {2});
  set_element(tensor, 0, 0.1);
  set_element(tensor, 1, -7.75);
  const Tensor wide = convert(tensor, DataType::float64);
  EXPECT_EQ(wide.values<double>()[0], static_cast<double>(0.1f));
  EXPECT_EQ(convert(tensor, DataType::int32).values<int32_t>()[1], -7);
  EXPECT_THROW(convert(tensor, DataType::string), std::invalid_argument);
}

TEST(Tensor, SmallTypesAreRoundedAndRead) {
  Tensor e4m3 = Tensor::zeros(DataType::float8e4m3fn, {4}),
         signed_nibbles = Tensor::zeros(DataType::int4, {5}), nibbles = Tensor::zeros(DataType::uint4, {3});
  const double numbers[] = {1.0625, -448, 1e9, NAN};  // the first is halfway: ties to even
  for (size_t i = 0; i < 4; ++i) set_element(e4m3, i, numbers[i]);
  EXPECT_EQ(element_as_double(e4m3, 0), 1);
  EXPECT_EQ(element_as_double(e4m3, 1), -448);
  EXPECT_EQ(element_as_double(e4m3, 2), 448);
  EXPECT_TRUE(std::isnan(element_as_double(e4m3, 3)));
  for (size_t i = 0; i < 5; ++i) set_element(signed_nibbles, i, static_cast<double>(i) * 4 - 10);
  const double kept[] = {-8, -6, -2, 2, 6};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(element_as_double(signed_nibbles, i), kept[i]);
  EXPECT_EQ(signed_nibbles.bytes[0], std::byte{0xa8});  // the first in the low bits
  for (size_t i = 0; i < 3; ++i) set_element(nibbles, i, static_cast<double>(i) * 8);
  EXPECT_EQ(element_as_double(nibbles, 1), 8);
  EXPECT_EQ(element_as_double(nibbles, 2), 15);
}

}  // namespace
}  // namespace graft::runtime
