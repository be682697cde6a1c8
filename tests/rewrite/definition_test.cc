#include "rewrite/definition.h"

#include <gtest/gtest.h>

namespace graft::rewrite {
namespace {

const Signature signature{"my.ops", "Op", {"x", "w"}, {"y"}, {"alpha"}, {onnx::AttributeProto::FLOAT}};

TEST(Definition, ReadsTheWholeLanguage) {
  const Definition definition = parse_definition(
      "# a comment\n"
      "a, b = Split<axis=-1, num_outputs=2>(x)   # two values\n"
      "c = Clip(a, , 6); d = Pad<mode=\"constant\">(c, [0, 1], -1.5e-3)\n"
      "\n"
      "y = my.domain::Gate<scale=@alpha, axes=[1, 2], ratio=0.5>(Add(d, b),\n"
      "      w, @alpha)\n",
      18, signature);
  EXPECT_EQ(definition.opset, 18);
  ASSERT_EQ(definition.outputs.size(), 1u);
  const Expression& gate = definition.expressions[static_cast<size_t>(definition.outputs[0].expression)];
  EXPECT_EQ(gate.name, "Gate");
  EXPECT_EQ(gate.domain, "my.domain");
  EXPECT_EQ(gate.operands.size(), 3u);
  EXPECT_EQ(gate.attributes.size(), 3u);
}

struct Wrong {
  const char* text;
  const char* place;
  const char* cause;
};
void PrintTo(const Wrong& wrong, std::ostream* stream) { *stream << wrong.text; }

class WrongDefinition : public testing::TestWithParam<Wrong> {};

TEST_P(WrongDefinition, SaysWhereAndWhat) {
  try {
    parse_definition(GetParam().text, 17, signature);
    FAIL() << "no error";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("my.ops::Op"), std::string::npos) << text;
    EXPECT_NE(text.find(GetParam().place), std::string::npos) << text;
    EXPECT_NE(text.find(GetParam().cause), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongDefinition,
    testing::Values(Wrong{"", "line 1, column 1", "an assignment"}, Wrong{"y", "column 2", "`=`"},
                    Wrong{"y = ", "column 5", "an expression"},
                    Wrong{"y = Add(x, 3", "column 13", "the text ends"},
                    Wrong{"y = Add(x, q)", "column 12", "`q` is neither"},
                    Wrong{"z = Neg(x)", "column 11", "output `y` is never assigned"},
                    Wrong{"x = Neg(x); y = x", "column 1", "`x` is an input"},
                    Wrong{"y = Add(x,\n  @beta)", "line 2, column 4", "no attribute `beta` (it has alpha)"},
                    Wrong{"y = Neg(x) z = x", "column 12", "`;`"},
                    Wrong{"y = Clip<min=0, min=1>(x)", "column 17", "given twice"},
                    Wrong{"y, z = x", "column 4", "only a call"},
                    Wrong{"y = Add(x, 1.2.3)", "column 15", "cannot follow a number"},
                    Wrong{"y = Add(x, 3é)", "column 13", "got `é`"},
                    Wrong{"y = Add(x, [1, x])", "column 16", "a number is expected"},
                    Wrong{"y = Pad<mode='a>(x)", "column 14", "does not end"},
                    Wrong{"y = Add(x, 1e999)", "column 12", "too large"},
                    Wrong{"y = 3x", "column 6", "cannot follow"},
                    Wrong{"é = x", "column 1", "a name is expected, got `é`"}));

TEST(Definition, NestingIsBounded) {
  std::string text = "y = ";
  for (int depth = 0; depth < 100000; ++depth) text += "Neg(";
  EXPECT_THROW(parse_definition(text, 17, signature), InputError);
}

}  // namespace
}  // namespace graft::rewrite
