#include "program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::fused {
namespace {

constexpr std::string_view kHardSwish =
    "in f32; k f32 3; add f32 0 1; k f32 0; k f32 6; clamp f32 2 3 4; mul f32 0 5; div f32 6 4; out 7";

/// Reads what must be refused, and gives what is said.
std::string refusal_of(std::string_view text) {
  try {
    read_program(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Program, IsReadAndWrittenAlike) {
  const Program program = read_program(kHardSwish);
  EXPECT_EQ(program.values.size(), 8u);
  EXPECT_EQ(program.input_count(), 1);
  EXPECT_EQ(program.outputs, std::vector<int>{7});
  EXPECT_EQ(program.values[5].op, Op::clamp);
  EXPECT_EQ(program.values[5].operands, (std::array{2, 3, 4}));
  EXPECT_EQ(write_program(program), kHardSwish);
  EXPECT_EQ(read_program("in   f32 ;\n relu f32  0;;out 1;"), read_program("in f32; relu f32 0; out 1"));
}

TEST(Program, HasEveryOperatorOnce) {
  for (const OpInfo& info : kOps) {
    EXPECT_EQ(info_of(info.op), &info) << info.name;
    EXPECT_EQ(std::ranges::count_if(kOps, [&](const OpInfo& other) { return other.name == info.name; }), 1)
        << info.name;
  }
  EXPECT_EQ(info_of(Op::input), nullptr);
  EXPECT_EQ(info_of(Op::constant), nullptr);
}

TEST(Program, ReadsEveryOperator) {
  for (const OpInfo& info : kOps) {
    const bool logical = info.operands == Operands::logical, tested = info.operands == Operands::tested;
    const bool integers = info.op == Op::mod, chosen = info.operands == Operands::chosen;
    const std::string type = logical ? "bool" : integers ? "i64" : "f32";
    const std::string result = logical || tested || info.operands == Operands::compared ? "bool" : type;
    std::string text =
        chosen ? "in bool; in f32; in f32; " : "in " + type + "; in " + type + "; in " + type + "; ";
    text += std::string(info.name) + " " + result;
    for (int k = 0; k < info.arity; ++k) text += " " + std::to_string(k);
    text += "; out 3";
    EXPECT_EQ(refusal_of(text), "") << text;
    EXPECT_EQ(write_program(read_program(text)), text);
  }
}

TEST(Program, NumbersComeBackAsTheyWere) {
  for (const double number :
       {0.0, -0.0, 1.0, -3.5, 0.1, 1e300, 5e-324, double(0.1f), 3.4028234663852886e38, 9007199254740992.0,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    const Program program = read_program("in f64; k f64 " + write_number(number) + "; add f64 0 1; out 2");
    EXPECT_EQ(program.values[1].number, number);
    EXPECT_EQ(std::signbit(program.values[1].number), std::signbit(number));
  }
  EXPECT_TRUE(std::isnan(read_program("in f32; k f32 nan; add f32 0 1; out 2").values[1].number));
  EXPECT_EQ(read_program("in f32; k f32 -0x1.8p1; add f32 0 1; out 2").values[1].number, -3.0);
}

TEST(Program, RefusesWithTheStatementAndTheReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no input"},
      {"k f32 1; out 0", "no input"},
      {"in f32", "`out` is missing"},
      {"in f32; out", "`out` is missing"},
      {"in f32; out 1", "no value of it"},
      {"in f32; out -1", "no value of it"},
      {"in f32; out x", "\"x\" is no number"},
      {"in; out 0", "\"in\": a type is missing"},
      {"in f33; out 0", "a type is missing: f32, f64"},
      {"in f32 0; out 0", "too many words"},
      {"in f32; relo f32 0; out 1", "\"relo f32 0\": there is no operator"},
      {"in f32; relu f32; out 1", "takes 1 values"},
      {"in f32; relu f32 0 0; out 1", "too many words"},
      {"in f32; relu f32 1; out 1", "not there before it"},
      {"in f32; relu f32 -1; out 1", "not there before it"},
      {"in f32; k f32; out 0", "the number is missing"},
      {"in f32; k f32 one; out 0", "\"one\" is no number"},
      {"in f32; k f32 1x; out 0", "\"1x\" is no number"},
      {"in f32; relu f32 0; in f32; out 1", "inputs come first"},
      {"in f32; relu f32 0; out 1; relu f32 1", "nothing comes behind"},
      {"in f32; in f64; add f32 0 1; out 2", "combines two types"},
      {"in f32; in f32; add f64 0 1; out 2", "does not take or give"},
      {"in bool; in bool; add bool 0 1; out 2", "does not take or give"},
      {"in i32; exp i32 0; out 1", "does not take or give"},
      {"in f32; mod f32 0 0; out 1", "does not take or give"},
      {"in f32; lt f32 0 0; out 1", "does not take or give"},
      {"in f32; and bool 0 0; out 1", "does not take or give"},
      {"in i32; isnan bool 0; out 1", "does not take or give"},
      {"in f32; in f32; where f32 0 0 1; out 2", "does not take or give"},
      {"in bool; in f32; in f64; where f32 0 1 2; out 3", "combines two types"},
  };
  for (const auto& [text, reason] : cases) {
    EXPECT_NE(refusal_of(text).find(reason), std::string::npos) << text << ": " << refusal_of(text);
  }
}

}  // namespace
}  // namespace graft::fused
