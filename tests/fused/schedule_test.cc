#include "schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace graft::fused {
namespace {

Bound bound_of(std::string_view text, uint64_t singles = 0, bool stream = false) {
  return Schedule(read_program(text)).bind(singles, stream);
}

/// Gives the number of loops over the elements of a tile.
size_t loops(std::string_view text, uint64_t singles = 0) {
  const Bound bound = bound_of(text, singles);
  return size_t(std::ranges::count_if(bound.steps, [](const Step& step) { return !step.once; }));
}

TEST(Schedule, HardSwishIsOneLoop) {
  for (const char* text :
       {"mul f32 0 5; k f32 6; div f32 6 7; out 8", "div f32 5 3; mul f32 0 6; out 7",
        "mul f32 5 1; mul f32 6 0; out 7", "mul f32 0 5; mul f32 6 1; out 7", "mul f32 5 0; out 6"}) {
    const std::string program =
        std::string("in f32; k f32 3; k f32 0; k f32 6; add f32 1 0; clamp f32 4 2 3; ") + text;
    EXPECT_EQ(loops(program), 1u) << program;
    EXPECT_EQ(bound_of(program).buffers, 0u) << program;
  }
}

TEST(Schedule, ScaleAndBiasBeforeHardSwishAreInTheSameLoop) {
  const char* text =
      "in f32; in f32; in f32; k f32 3; k f32 0; k f32 6; mul f32 0 1; add f32 6 2; add f32 7 3; clamp f32 8 "
      "4 5; mul f32 7 9; "
      "div f32 10 5; out 11";
  EXPECT_EQ(loops(text), 1u);
  EXPECT_EQ(loops(text, 0b110), 1u);
  EXPECT_EQ(loops(text, 0b100), 1u);
}

TEST(Schedule, CompositesAreFound) {
  EXPECT_EQ(loops("in f32; sigmoid f32 0; mul f32 1 0; out 2"), 1u);
  EXPECT_EQ(loops("in f32; softplus f32 0; tanh f32 1; mul f32 0 2; out 3"), 1u);
  EXPECT_EQ(loops("in f32; k f32 1.4142135; k f32 1; k f32 0.5; div f32 0 1; erf f32 4; add f32 5 2; mul f32 "
                  "0 6; mul f32 7 3; out 8"),
            1u);
  EXPECT_EQ(loops("in f32; k f32 1.5; k f32 1; k f32 0.5; div f32 0 1; erf f32 4; add f32 5 2; mul f32 0 6; "
                  "mul f32 7 3; out 8"),
            3u);  // no gelu
}

TEST(Schedule, FunctionsAreJoinedWithASumOrAProduct) {
  for (const char* op : {"exp", "tanh", "sigmoid", "erf", "sqrt", "abs"}) {
    const std::string name(op);
    for (const char* binary : {"add", "mul"}) {
      EXPECT_EQ(loops("in f32; k f32 3; " + std::string(binary) + " f32 0 1; " + name + " f32 2; out 3"), 1u)
          << name;
      EXPECT_EQ(loops("in f32; in f32; " + name + " f32 1; " + std::string(binary) + " f32 0 2; out 3"), 1u)
          << name;
    }
  }
  EXPECT_EQ(loops("in f32; k f32 3; add f32 0 1; floor f32 2; out 3"), 2u);
}

TEST(Schedule, WhatAnotherReadsIsNotJoined) {
  EXPECT_EQ(loops("in f32; in f32; mul f32 0 1; add f32 2 0; out 3"), 1u);
  EXPECT_EQ(loops("in f32; in f32; mul f32 0 1; add f32 2 0; out 3 2"), 2u);
  EXPECT_EQ(loops("in f32; in f32; mul f32 0 1; add f32 2 0; max f32 3 2; out 4"), 3u);
}

TEST(Schedule, WhatIsOneValueIsComputedOnce) {
  const Bound bound = bound_of("in f32; in f32; sigmoid f32 1; mul f32 0 2; out 3", 0b10);
  ASSERT_EQ(bound.steps.size(), 2u);
  EXPECT_TRUE(bound.steps[0].once && !bound.steps[1].once);
  EXPECT_EQ(bound.buffers, 0u);
  EXPECT_EQ(loops("in f32; in f32; sigmoid f32 1; mul f32 0 2; out 3"), 1u);
}

TEST(Schedule, ConstantsAreComputedAhead) {
  EXPECT_EQ(bound_of("in f32; k f32 2; k f32 3; mul f32 1 2; sqrt f32 3; add f32 0 4; out 5").steps.size(),
            1u);
}

TEST(Schedule, WhatNobodyNeedsIsLeftOut) {
  EXPECT_EQ(bound_of("in f32; exp f32 0; relu f32 0; out 2").steps.size(), 1u);
}

TEST(Schedule, BuffersAreUsedAgain) {
  std::string text = "in f32; ";
  for (int i = 0; i < 20; ++i) text += "exp f32 " + std::to_string(i) + "; ";
  EXPECT_EQ(bound_of(text + "out 20").buffers, 1u);
  EXPECT_LE(bound_of("in f16; in f16; add f16 0 1; mul f16 2 0; out 3").buffers, 2u);
  // Not for a value of another width, which would be overwritten while it is read.
  EXPECT_EQ(bound_of("in f32; exp f32 0; cast f64 1; exp f64 2; cast f32 3; out 4").buffers, 2u);
}

TEST(Schedule, OutputsPastTheCacheAreReadBefore) {
  const Bound bound = bound_of("in f32; exp f32 0; exp f32 1; out 1 2", 0, true);
  if (streaming(Type::f32) != nullptr) {
    EXPECT_EQ(bound.steps.size(), 4u);
  }
}

TEST(Schedule, TooManyInputsAreRefused) {
  std::string text;
  for (int i = 0; i < 65; ++i) text += "in f32; ";
  EXPECT_THROW(Schedule(read_program(text + "add f32 0 64; out 65")), std::invalid_argument);
}

}  // namespace
}  // namespace graft::fused
