// What is generated, piece by piece; whole files are in golden/.
#include "fuse/emit.h"

#include <gtest/gtest.h>

#include "fuse/expression.h"

namespace graft::fuse {
namespace {

std::string name(const std::string& program) {
  std::set<std::string> taken;
  return name_for(fused::read_program(program), taken);
}

/// Gives what the call operator returns.
std::string result(const std::string& program, const std::vector<std::string>& names = {}) {
  Operator op;
  op.name = "Tested";
  op.program = fused::read_program(program);
  op.input_names = names;
  const std::string source = write_source("d", {op}, "m.onnx");
  const size_t begin = source.find("return ") + 7;
  return source.substr(begin, source.find(';', begin) - begin);
}

TEST(Names, FollowTheComputation) {
  EXPECT_EQ(name("in f32; in f32; add f32 0 1; relu f32 2; out 3"), "AddRelu");
  EXPECT_EQ(name("in f32; in f32; relu f32 1; add f32 0 2; out 3"), "ReluAdd");
  EXPECT_EQ(name("in f32; cast f64 0; exp f64 1; cast f32 2; out 3"), "Exp");
  EXPECT_EQ(name("in f32; cast f64 0; out 1"), "Cast");
  EXPECT_EQ(name("in f32; out 0"), "Copy");
}

TEST(Names, SayWhatIsKnown) {
  EXPECT_EQ(
      name(
          "in f32; k f32 3; add f32 0 1; k f32 0; k f32 6; clamp f32 2 3 4; mul f32 0 5; div f32 6 4; out 7"),
      "HardSwish");
  EXPECT_EQ(
      name(
          "in f32; k f32 3; add f32 1 0; k f32 0; k f32 6; clamp f32 2 3 4; div f32 5 4; mul f32 6 0; out 7"),
      "HardSwish");
  EXPECT_EQ(
      name(
          "in f32; k f32 0.16666667; mul f32 0 1; k f32 0.5; add f32 2 3; k f32 0; k f32 1; clamp f32 4 5 6; "
          "mul f32 0 7; out 8"),
      "HardSwish");
  EXPECT_EQ(name("in f32; k f32 0.2; mul f32 0 1; k f32 0.5; add f32 2 3; k f32 0; k f32 1; clamp f32 4 5 6; "
                 "mul f32 0 7; "
                 "out 8"),
            "HardSigmoidMul");
  EXPECT_EQ(name("in f32; sigmoid f32 0; mul f32 1 0; out 2"), "Silu");
  EXPECT_EQ(name("in f32; softplus f32 0; tanh f32 1; mul f32 0 2; out 3"), "Mish");
  EXPECT_EQ(name("in f32; k f32 1.4142135; div f32 0 1; erf f32 2; k f32 1; add f32 3 4; mul f32 0 5; k f32 "
                 "0.5; mul f32 6 7; "
                 "out 8"),
            "Gelu");
  EXPECT_EQ(name("in f32; k f32 0; lt bool 0 1; k f32 0.01; mul f32 0 3; where f32 2 4 0; out 5"),
            "LeakyRelu");
  EXPECT_EQ(name("in f32; in f32; k f32 0; lt bool 0 2; mul f32 1 0; where f32 3 4 0; out 5"), "PRelu");
  EXPECT_EQ(name("in f32; k f32 0; lt bool 0 1; expm1 f32 0; where f32 2 3 0; out 4"), "Elu");
  EXPECT_EQ(name("in f32; mul f32 0 0; out 1"), "Square");
  EXPECT_EQ(name("in f32; k f32 0; k f32 6; clamp f32 0 1 2; out 3"), "Relu6");
}

TEST(Names, AreWhatTheyAreWhenAPartIsUsedElsewhere) {
  EXPECT_EQ(name("in f32; k f32 3; add f32 0 1; k f32 0; k f32 6; clamp f32 2 3 4; mul f32 0 5; div f32 6 4; "
                 "out 7 2"),
            "AddRelu6MulDiv");
}

TEST(Names, AreShortAndNotTaken) {
  const std::string chain =
      "in f32; exp f32 0; neg f32 1; sin f32 2; abs f32 3; cos f32 4; sqrt f32 5; tanh f32 6; out 7";
  EXPECT_EQ(name(chain), "ExpNegCosSqrtTanh");
  std::set<std::string> taken;
  const fused::Program program = fused::read_program("in f32; in f32; add f32 0 1; out 2");
  EXPECT_EQ(name_for(program, taken), "Add");
  EXPECT_EQ(name_for(program, taken), "Add2");
  EXPECT_EQ(name_for(fused::read_program("in f32; k f32 0; k f32 6; clamp f32 0 1 2; out 3"), taken),
            "Relu6");
  EXPECT_EQ(name_for(fused::read_program("in f16; k f16 0; k f16 6; clamp f16 0 1 2; out 3"), taken),
            "Relu6_2");
}

TEST(Expressions, HaveTheParenthesesThatTheyNeed) {
  const std::string three = "in f32; in f32; in f32; ";
  const std::vector<std::string> abc{"a", "b", "c"};
  EXPECT_EQ(result(three + "add f32 0 1; add f32 3 2; out 4", abc), "a + b + c");
  EXPECT_EQ(result(three + "add f32 1 2; add f32 0 3; out 4", abc), "a + (b + c)");
  EXPECT_EQ(result(three + "sub f32 1 2; sub f32 0 3; out 4", abc), "a - (b - c)");
  EXPECT_EQ(result(three + "div f32 0 1; mul f32 3 2; out 4", abc), "a / b * c");
  EXPECT_EQ(result(three + "mul f32 1 2; div f32 0 3; out 4", abc), "a / (b * c)");
  EXPECT_EQ(result(three + "add f32 0 1; mul f32 3 2; neg f32 4; out 5", abc), "-((a + b) * c)");
  EXPECT_EQ(result("in f32; neg f32 0; neg f32 1; out 2", abc), "-(-a)");
  EXPECT_EQ(result(three + "lt bool 0 1; lt bool 1 2; and bool 3 4; eq bool 0 2; or bool 5 6; out 7", abc),
            "(a < b && b < c) || a == c");
  EXPECT_EQ(result("in bool; in bool; in bool; and bool 0 1; and bool 3 2; not bool 4; out 5", abc),
            "!(a && b && c)");
  EXPECT_EQ(result("in bool; in bool; in bool; xor bool 0 1; eq bool 3 2; out 4", abc), "(a != b) == c");
}

TEST(Expressions, WriteNumbersAsShortAsTheyAre) {
  const auto with = [](const std::string& type, const std::string& number) {
    return result("in " + type + "; k " + type + " " + number + "; mul " + type + " 0 1; out 2").substr(4);
  };
  EXPECT_EQ(with("f32", "3"), "3");
  EXPECT_EQ(with("f32", "0.10000000149011612"), "0.1");
  EXPECT_EQ(with("f64", "0.10000000149011612"), "0.10000000149011612");
  EXPECT_EQ(with("f32", "1e-5"), "1e-5");
  EXPECT_EQ(with("f32", "1e30"), "1e30");
  EXPECT_EQ(with("f32", "-0"), "-0.0");
  EXPECT_EQ(with("f32", "-inf"), "-INFINITY");
  EXPECT_EQ(with("f32", "nan"), "NAN");
  EXPECT_EQ(with("f16", "0.0999755859375"), "0.099975586");
  EXPECT_EQ(with("i64", "-9007199254740992"), "-9007199254740992");
  EXPECT_EQ(with("f64", "12345678901234567890"), "12345678901234567168.0");
  EXPECT_EQ(result("in f32; k f32 -3; add f32 0 1; out 2"), "x - 3");
  EXPECT_EQ(result("in f32; k f32 -3; sub f32 1 0; out 2"), "-3 - x");
}

TEST(Expressions, FoldWhatIsConstant) {
  EXPECT_EQ(result("in f32; k f32 2; k f32 3; add f32 1 2; mul f32 0 3; out 4"), "x * 5");
  EXPECT_EQ(result("in f32; k f64 0.1; cast f32 1; mul f32 0 2; out 3"), "x * 0.1");
  EXPECT_EQ(result("in bool; k bool 1; and bool 0 1; out 2"), "condition");
  EXPECT_EQ(result("in bool; in bool; k bool 0; where bool 0 2 1; out 3", {"a", "b"}), "!a && b");
}

TEST(Inputs, AreNamedAfterWhatIsDoneWithThem) {
  const auto names = [](const std::string& program, const std::vector<std::string>& wanted = {}) {
    return input_names_for(fused::read_program(program), wanted);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("in f32; in f32; in f32; mul f32 0 1; add f32 3 2; out 4"), (Names{"x", "scale", "bias"}));
  EXPECT_EQ(names("in f32; in f32; in f32; mul f32 0 1; mul f32 3 2; out 4"),
            (Names{"x", "scale", "scale2"}));
  EXPECT_EQ(names("in f32; in f32; out 0", {"tanh", "bn.w:0"}), (Names{"tanh2", "bn_w_0"}));
  EXPECT_EQ(names("in f32; in f32; out 0", {"class", "1st"}), (Names{"class2", "x1st"}));
  EXPECT_EQ(names("in f32; in f32; out 0", {"a", "a"}), (Names{"a", "a2"}));
}

TEST(Parts, HaveTheLinesOfTheWholeFile) {
  std::vector<Operator> operators;
  std::set<std::string> taken;
  for (const char* text :
       {"in f32; in f32; add f32 0 1; out 2", "in f32; exp f32 0; out 1", "in f32; relu f32 0; out 1"}) {
    Operator op;
    op.program = fused::read_program(text);
    op.name = name_for(op.program, taken);
    operators.push_back(op);
  }
  const std::string source = write_source("d", operators, "m.onnx");
  std::vector<std::string> lines{""};  // counted from 1
  for (size_t at = 0; at < source.size(); at = source.find('\n', at) + 1)
    lines.push_back(source.substr(at, source.find('\n', at) - at));
  size_t found = 0;
  const auto parts = write_parts("d", operators, "m.onnx", "whole.cc", 2);
  ASSERT_EQ(parts.size(), 2U);
  for (const std::string& part : parts) {
    size_t number = 0;
    for (size_t at = 0; at < part.size(); at = part.find('\n', at) + 1) {
      const std::string line = part.substr(at, part.find('\n', at) - at);
      if (line.starts_with("#line ")) {
        number = size_t(std::stoul(line.substr(6))) - 1;
      } else if (number > 0 && line.starts_with("struct")) {
        EXPECT_EQ(line, lines.at(number));
      } else if (number > 0 && line.find("m.def") != std::string::npos) {
        EXPECT_EQ(line, lines.at(number));
        ++found;
      }
      ++number;
      if (number == 1) number = 0;  // before the first #line
    }
  }
  EXPECT_EQ(found, 3U);
}

}  // namespace
}  // namespace graft::fuse
