#include "rewrite/match.h"

#include <gtest/gtest.h>

#include "rewrite/exact.h"
#include "small_model.h"

namespace graft::rewrite {
namespace {

/// Holds a model and what a matcher needs of it.
struct Place {
  explicit Place(onnx::ModelProto given)
      : model(std::move(given)),
        index(model),
        constants(index),
        spellings(index),
        normal(index, constants, spellings),
        types(index, constants),
        matcher(normal, types) {}
  ValueId root() const { return index.scope(0).outputs[0]; }

  onnx::ModelProto model;
  graph::Index index;
  graph::Constants constants;
  Spellings spellings;
  NormalForm normal;
  graph::Types types;
  Matcher matcher;
};

const std::map<std::string, std::string> definitions = {
    {"HardSwish", "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)"},
    {"HardSigmoid", "y = Clip(Add(Mul(@alpha, x), @beta), 0, 1)"},
    {"Silu", "y = Mul(x, Sigmoid(x))"},
    {"Gelu", "y = Mul(Mul(0.5, x), Add(1, Erf(Div(x, 1.4142135623730951))))"},
    {"GeluTanh",
     "y = Mul(Mul(0.5, x), Add(1, Tanh(Mul(0.7978845608028654, Add(x, Mul(Mul(Mul(0.044715, x), x), x))))))"},
    {"Mish", "y = Mul(x, Tanh(Softplus(x)))"},
    {"Softplus", "y = Softplus(x)"},
    {"Leaky", "y = Where(Greater(x, 0), x, Mul(@alpha, x))"},
    {"Cube", "y = Mul(x, Mul(x, x))"},
    {"Norm",
     "d = Sub(x, ReduceMean<axes=[-1]>(x)); y = Div(d, Sqrt(Add(ReduceMean<axes=[-1]>(Mul(d, d)), @alpha)))"},
    {"Difference", "y = Sub(Abs(x), Exp(x))"},
};

Definition definition_of(const std::string& name) {
  return parse_definition(definitions.at(name), 17,
                          {"my.ops",
                           name,
                           {"x"},
                           {"y"},
                           {"alpha", "beta"},
                           {onnx::AttributeProto::FLOAT, onnx::AttributeProto::FLOAT}});
}

enum Outcome { equal, rounding, refused };

struct Spelled {
  const char* op;
  const char* text;
  Outcome outcome;
  Reason reason = Reason::not_the_pattern;
};
void PrintTo(const Spelled& spelled, std::ostream* stream) { *stream << spelled.op << ": " << spelled.text; }

class Match_ : public testing::TestWithParam<Spelled> {};

TEST_P(Match_, Spelling) {
  const Spelled& spelled = GetParam();
  Place place(small_model(spelled.text, {.shape = {2, 3, 4}, .opset = 20}));
  const Pattern pattern(definition_of(spelled.op));
  const auto match = place.matcher.match(pattern, place.root());
  if (spelled.outcome == refused) {
    EXPECT_FALSE(match);
    const auto miss = place.matcher.nearest_miss(pattern, place.root());
    if (miss) {
      EXPECT_EQ(code(miss->reason), code(spelled.reason)) << miss->detail;
    } else {
      EXPECT_EQ(spelled.reason, Reason::not_the_pattern);
    }
    return;
  }
  ASSERT_TRUE(match);
  EXPECT_EQ(place.index.value(match->inputs[0]).name, "x");
  EXPECT_EQ(is_exact(place.normal, pattern, place.root(), *match, DataType::float32),
            spelled.outcome == equal);
}

const Reason constant = Reason::constant_differs;
INSTANTIATE_TEST_SUITE_P(
    HardSwish, Match_,
    testing::Values(
        Spelled{"HardSwish", "y = Div(Mul(Clip(Add(3, x), 0, 6), x), 6)", equal},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Sub(x, -3), 0, 6)), 6)", equal},
        Spelled{"HardSwish", "y = Div(Mul(x, Min(Max(Add(x, 3), 0), 6)), 6)", equal},
        Spelled{"HardSwish", "y = Div(Mul(x, Max(0, Min(6, Add(x, 3)))), 6)", equal},
        Spelled{"HardSwish", "y = Div(Mul(x, Min(Relu(Add(x, 3)), 6)), 6)", equal},
        Spelled{"HardSwish", "y = Div(Mul(x, Relu(Min(Add(x, 3), 6))), 6)", equal},
        Spelled{"HardSwish", "y = Div(Mul(x, Identity(Clip(Identity(Add(x, 3)), 0, 6))), 6)", equal},
        Spelled{"HardSwish", "y = Mul(x, Div(Clip(Add(x, 3), 0, 6), 6))", rounding},
        Spelled{"HardSwish", "y = Mul(0.16666666666666666, Mul(x, Clip(Add(x, 3), 0, 6)))", rounding},
        Spelled{"HardSwish", "y = Div(Div(Mul(x, Clip(Add(x, 3), 0, 6)), 2), 3)", rounding},
        Spelled{"HardSwish", "y = HardSwish(x)", rounding},
        Spelled{"HardSwish", "y = Mul(x, HardSigmoid<alpha=0.16666667, beta=0.5>(x))", rounding},
        Spelled{"HardSwish", "y = Mul(x, Clip(Add(Mul(x, 0.16666666666666666), 0.5), 0, 1))", rounding},
        Spelled{"HardSwish", "y = Mul(x, Clip(Add(Div(x, 6), 0.5), 0, 1))", rounding},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Sub(3, Neg(x)), 0, 6)), 6)", equal},
        Spelled{"HardSwish", "y = Neg(Div(Mul(x, Clip(Add(x, 3), 0, 6)), -6))", rounding}));
INSTANTIATE_TEST_SUITE_P(
    NoHardSwish, Match_,
    testing::Values(
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Add(x, 3), 0, 6.0001)), 6)", refused, constant},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Add(x, 3.00001), 0, 6)), 6)", refused, constant},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Add(x, 3), -0.001, 6)), 6)", refused, constant},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6.000001)", refused, constant},
        Spelled{"HardSwish", "y = Mul(Mul(x, Clip(Add(x, 3), 0, 6)), 0.16667)", refused, constant},
        Spelled{"HardSwish", "y = Mul(x, Clip(Add(x, 3), 0, 6))", refused, constant},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Sub(x, 3), 0, 6)), 6)", refused, constant},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Sub(3, x), 0, 6)), 6)", refused},
        Spelled{"HardSwish", "y = Div(Mul(Abs(x), Clip(Add(x, 3), 0, 6)), 6)", refused},
        Spelled{"HardSwish", "y = Div(6, Mul(x, Clip(Add(x, 3), 0, 6)))", refused},
        Spelled{"HardSwish", "y = Div(Mul(x, Max(Min(Add(x, 3), -1), 6)), 6)", refused},
        Spelled{"HardSwish", "y = Div(Mul(x, Relu(Add(x, 3))), 6)", refused},
        Spelled{"HardSwish", "y = Mul(x, HardSigmoid(x))", refused, constant},
        Spelled{"HardSwish", "y = Mul(x, HardSigmoid<alpha=0.16666667, beta=0.499>(x))", refused, constant},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Add(x, [3, 3, 3, 3]), 0, 6)), 6)", refused,
                Reason::constant_not_scalar},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Add(x, [3, 3, 3, 4]), 0, 6)), 6)", refused, constant},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), ReduceMax<keepdims=0>(x))", refused,
                Reason::constant_unknown},
        Spelled{"HardSwish", "y = Div(Mul(x, Clip(Add(x, ReduceMax<keepdims=0>(x)), 0, 6)), 6)", refused,
                Reason::constant_unknown}));
INSTANTIATE_TEST_SUITE_P(
    Others, Match_,
    testing::Values(
        Spelled{"Silu", "y = Mul(Sigmoid(x), x)", equal},
        Spelled{"Silu", "y = Mul(x, Sigmoid(Mul(1, x)))", equal},
        Spelled{"Silu", "y = Div(x, Add(1, Exp(Neg(x))))", rounding},
        Spelled{"Silu", "y = Mul(x, Reciprocal(Add(Exp(Neg(x)), 1)))", rounding},
        Spelled{"Silu", "y = Mul(x, Div(1, Add(1, Exp(Mul(x, -1)))))", rounding},
        Spelled{"Silu", "y = Mul(x, Sigmoid(Neg(x)))", refused},
        Spelled{"Silu", "y = Div(x, Add(1, Exp(x)))", refused},
        Spelled{"Silu", "y = Mul(x, Sigmoid(Mul(1.702, x)))", refused},
        Spelled{"Silu", "y = Div(x, Sigmoid(x))", refused},
        Spelled{"Silu", "y = Mul(2, Mul(x, Sigmoid(x)))", refused, constant},
        Spelled{"Gelu", "y = Gelu(x)", equal},
        Spelled{"Gelu", "y = Mul(0.5, Mul(x, Add(Erf(Mul(x, 0.7071067811865476)), 1)))", rounding},
        Spelled{"Gelu", "y = Mul(x, Add(0.5, Mul(0.5, Erf(Div(x, 1.4142135623730951)))))", refused},
        Spelled{"Gelu", "y = Mul(Mul(0.5, x), Sub(1, Erf(Div(x, 1.4142135623730951))))", refused},
        Spelled{"Gelu", "y = Mul(Mul(0.5, x), Sub(1, Erf(Div(Neg(x), 1.4142135623730951))))", refused},
        Spelled{"Gelu", "y = Mul(Mul(0.5, x), Add(1, Erf(Div(x, 1.4142))))", refused, constant},
        Spelled{"GeluTanh", "y = Gelu<approximate='tanh'>(x)", rounding},
        Spelled{
            "GeluTanh",
            "y = Mul(Mul(0.5, x), Add(1, Tanh(Mul(0.7978845608028654, Add(x, Mul(0.044715, Pow(x, 3)))))))",
            rounding},
        Spelled{"GeluTanh", "y = Gelu(x)", refused}, Spelled{"Mish", "y = Mish(x)", equal},
        Spelled{"Mish", "y = Mul(Tanh(Log(Add(1, Exp(x)))), x)", rounding},
        Spelled{"Mish", "y = Mul(x, Tanh(Softplus(Neg(x))))", refused},
        Spelled{"Softplus", "y = Softplus(x)", equal},
        Spelled{"Softplus", "y = Log(Add(1, Exp(x)))", refused},
        Spelled{"Leaky", "y = Where(Less(0, x), x, Mul(x, 0.25))", equal},
        Spelled{"Leaky", "y = Where(Not(Greater(x, 0)), Mul(0.25, x), x)", equal},
        Spelled{"Leaky", "y = Where(Greater(x, 0), x, Div(x, 4))", equal},
        Spelled{"Leaky", "y = Where(Greater(x, 0), Mul(0.25, x), x)", refused},
        Spelled{"Leaky", "y = Where(GreaterOrEqual(x, 0), x, Mul(0.25, x))", refused},
        Spelled{"Leaky", "y = Where(Greater(x, 1), x, Mul(0.25, x))", refused, constant},
        Spelled{"Cube", "y = Pow(x, 3)", rounding}, Spelled{"Cube", "y = Mul(Mul(x, x), x)", equal},
        Spelled{"Cube", "y = Mul(x, Pow(x, 2))", equal}, Spelled{"Cube", "y = Pow(x, 2)", refused},
        Spelled{"HardSigmoid", "y = Clip(Add(Mul(x, 0.2), 0.5), 0, 1)", equal},
        Spelled{"HardSigmoid", "y = HardSigmoid(x)", equal},
        Spelled{"HardSigmoid", "y = Clip(Add(Mul(x, 0.2), 0.5), 0, 2)", refused, constant},
        Spelled{"Norm",
                "m = ReduceMean(x, [-1]); d = Sub(x, m); y = Div(d, Sqrt(Add(ReduceMean(Pow(d, 2), [2]), "
                "0.001)))",
                equal},
        Spelled{
            "Norm",
            "m = ReduceMean(x, [1]); d = Sub(x, m); y = Div(d, Sqrt(Add(ReduceMean(Pow(d, 2), [2]), 0.001)))",
            refused},
        Spelled{"Norm",
                "m = ReduceMean<keepdims=0>(x, [-1]); d = Sub(x, m); y = Div(d, Sqrt(Add(ReduceMean(Pow(d, "
                "2), [2]), 0.001)))",
                refused},
        Spelled{"Difference", "y = Add(Neg(Exp(x)), Abs(x))", equal},
        Spelled{"Difference", "y = Sub(Exp(x), Abs(x))", refused},
        Spelled{"Difference", "y = Add(Exp(x), Abs(x))", refused}));

TEST(Matching, BindsAttributesConsistently) {
  const Pattern pattern(definition_of("HardSigmoid"));
  Place place(small_model("y = Clip(Add(Mul(x, 0.25), 0.5), 0, 1)"));
  const auto match = place.matcher.match(pattern, place.root());
  ASSERT_TRUE(match);
  EXPECT_EQ(match->attributes.at("alpha"), 0.25);
  EXPECT_EQ(match->attributes.at("beta"), 0.5);
  const Definition twice = parse_definition("y = Add(Mul(@alpha, x), Mul(@alpha, Exp(x)))", 17,
                                            {"my.ops", "Twice", {"x"}, {"y"}, {"alpha"}, {1}});
  const Pattern twice_pattern(twice);
  Place same(small_model("y = Add(Mul(0.5, x), Mul(0.5, Exp(x)))")),
      different(small_model("y = Add(Mul(0.5, x), Mul(0.25, Exp(x)))"));
  EXPECT_TRUE(same.matcher.match(twice_pattern, same.root()));
  EXPECT_FALSE(different.matcher.match(twice_pattern, different.root()));
}

TEST(Matching, ADoubleThatIsNoFloatDoesNotBecomeAnAttribute) {
  const Pattern pattern(definition_of("Leaky"));
  Place exact(small_model("y = Where(Greater(x, 0), x, Mul(x, 0.25))", {.type = DataType::float64}));
  EXPECT_TRUE(exact.matcher.match(pattern, exact.root()));
  Place inexact(small_model("y = Where(Greater(x, 0), x, Mul(x, 0.01))", {.type = DataType::float64}));
  EXPECT_FALSE(inexact.matcher.match(pattern, inexact.root()));
  EXPECT_EQ(inexact.matcher.nearest_miss(pattern, inexact.root())->reason, Reason::constant_differs);
}

TEST(Matching, ConstantsAreRoundedToTheirType) {
  const Pattern pattern(definition_of("Gelu"));
  for (const DataType type : {DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16}) {
    for (const char* text : {"y = Mul(Mul(0.5, x), Add(1, Erf(Div(x, 1.4142135623730951))))",
                             "y = Mul(Mul(0.5, x), Add(1, Erf(Mul(x, 0.7071067811865476))))"}) {
      Place place(small_model(text, {.type = type}));
      EXPECT_TRUE(place.matcher.match(pattern, place.root())) << text << runtime::type_name(type);
    }
    // The constant of float is not the nearest one in double.
    Place place(small_model("y = Mul(Mul(0.5, x), Add(1, Erf(Div(x, 1.4142135381698608))))", {.type = type}));
    EXPECT_EQ(place.matcher.match(pattern, place.root()).has_value(), type != DataType::float64);
  }
}

TEST(Matching, AConstantThatAddsDimensionsIsRefusedWhereverItStands) {
  const std::pair<const char*, const char*> spelled[] = {
      {"HardSwish", "y = Div(Mul(x, Clip(Add(x, [[3]]), 0, 6)), 6)"},
      {"HardSwish", "y = Div(Mul(x, Min(Max(Add(x, 3), [[0]]), 6)), 6)"},
      {"HardSwish", "y = Div(Mul(x, Min(Max(Max(Add(x, 3), [[-1]]), 0), 6)), 6)"},
      {"HardSwish", "y = Mul(x, Clip(Add(Mul(x, [[0.16666666666666666]]), 0.5), 0, 1))"},
      {"HardSwish", "y = Mul([[0.16666666666666666]], Mul(x, Clip(Add(x, 3), 0, 6)))"},
      {"Silu", "y = Mul(x, Sigmoid(Mul(x, [[1]])))"},
      {"Silu", "y = Div(x, Add([[1]], Exp(Neg(x))))"},
      {"Mish", "y = Mul(x, Tanh(Log(Add(Exp(x), [[1]]))))"},
      {"Cube", "y = Pow(x, [[3]])"},
      {"Leaky", "y = Where(Greater(x, [[0]]), x, Mul(x, 0.25))"},
      {"Norm",
       "d = Sub(x, ReduceMean<axes=[-1]>(x)); y = Div(d, Pow(Add(ReduceMean<axes=[-1]>(Mul(d, d)), 0.5), "
       "[[0.5]]))"}};
  for (auto [op, text] : spelled) {
    std::string written = text;
    const Pattern pattern(definition_of(op));
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{4}, std::vector<int64_t>{3, 4}}) {
      // The reader of definitions has no nested lists: [[k]] stands for a constant of shape [1,1].
      std::string flat = written;
      for (size_t at; (at = flat.find("[[")) != std::string::npos;) flat.replace(at, 2, "[");
      for (size_t at; (at = flat.find("]]")) != std::string::npos;) flat.replace(at, 2, "]");
      onnx::ModelProto model = small_model(flat, {.shape = shape});
      for (auto& node : *model.mutable_graph()->mutable_node()) {
        if (node.op_type() == "Constant" && node.attribute(0).t().data_type() == 1 &&
            node.attribute(0).t().dims_size() == 1)
          node.mutable_attribute(0)->mutable_t()->add_dims(1);
      }
      Place place(std::move(model));
      EXPECT_EQ(place.matcher.match(pattern, place.root()).has_value(), shape.size() == 2)
          << text << shape.size();
    }
  }
}

TEST(Matching, TheInputMayBeAProductOrANegatedValueItself) {
  const Pattern pattern(definition_of("HardSwish"));
  for (const char* input : {"Mul(x, Abs(x))", "Mul(2, x)", "Neg(x)", "Div(x, Abs(x))", "Pow(x, 2)",
                            "Clip(x, 0, 6)", "Add(x, 3)", "Sub(x, 3)"}) {
    Place place(small_model("v = " + std::string(input) + "; y = Div(Mul(v, Clip(Add(v, 3), 0, 6)), 6)"));
    const auto match = place.matcher.match(pattern, place.root());
    ASSERT_TRUE(match) << input;
    EXPECT_NE(place.index.value(match->inputs[0]).name, "x") << input;
  }
}

TEST(Matching, LongProductsAndSumsEndQuickly) {
  for (const char* op : {"Mul", "Add", "Sub", "Div", "Max"}) {
    std::string text = "v0 = " + std::string(op) + "(x, x)\n";
    for (int at = 1; at < 400; ++at)
      text += "v" + std::to_string(at) + " = " + op + "(v" + std::to_string(at - 1) + ", v" +
              std::to_string(at - 1) + ")\n";
    Place place(small_model(text + "y = " + op + "(v399, v398)"));
    for (const auto& [name, definition] : definitions) {
      if (name == "Cube") continue;  // v398 * v398 * v398 is one
      const Pattern pattern(definition_of(name));
      EXPECT_FALSE(place.matcher.match(pattern, place.root())) << name << op;
      place.matcher.nearest_miss(pattern, place.root());
    }
  }
}

// Found by tests/fuzz/definition.cc.
TEST(Match, ADefinitionWithOperandsLeftOutMatchesNothing) {
  for (const char* text : {"y = Add(, x)", "y = Mul(x, Min(6, Add(, Add(x, , 3))))", "y = Sqrt()",
                           "y = Neg()", "y = Pow(, x)", "y = Where(, x, x)", "y = Add(Neg(), Abs(x))", "y = Mul(Clip(), 2)"}) {
    const Signature signature{"my.ops", "Op", {"x"}, {"y"}, {}, {}};
    const Pattern pattern(parse_definition(text, 17, signature));
    onnx::FunctionProto function = write_function(pattern.definition(), {});
    graph::Index index(function);
    const graph::Constants constants(index);
    const Spellings spellings(index);
    const NormalForm normal(index, constants, spellings);
    const graph::Types types(index, constants);
    EXPECT_FALSE(Matcher(normal, types).match(pattern, index.find(0, "y"))) << text;
  }
}

}  // namespace
}  // namespace graft::rewrite
