#include <graft/graft.h>
#include <gtest/gtest.h>

namespace graft {
namespace {

template <class F>
Definition trace(F f) {
  Tracer tracer;
  return tracer.definition({"y"}, f(tracer.input("x"), tracer.attribute("a")));
}

TEST(Trace, WritesTheExpression) {
  const Definition d = trace([](auto x, auto) { return x * clamp(x + 3, 0, 6) / 6; });
  EXPECT_EQ(d.text, "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)");
  EXPECT_EQ(d.opset, 11);
  EXPECT_TRUE(d.traced);
}

TEST(Trace, NamesAPartThatIsUsedTwice) {
  const Definition d = trace([](auto x, auto) {
    auto t = tanh(x);
    return t * t + t;
  });
  EXPECT_EQ(d.text, "t0 = Tanh(x); y = Add(Mul(t0, t0), t0)");
}

TEST(Trace, FindsEqualPartsAndSharesThem) {
  const Definition d = trace([](auto x, auto) { return exp(x) / (exp(x) + 1); });
  EXPECT_EQ(d.text, "t0 = Exp(x); y = Div(t0, Add(t0, 1))");
}

TEST(Trace, KeepsTheDoubleOfALiteral) {
  EXPECT_EQ(trace([](auto x, auto) { return x * 0.1; }).text, "y = Mul(x, 0.1)");
  EXPECT_EQ(trace([](auto x, auto) { return 1.0 / 3 - x; }).text, "y = Sub(0.3333333333333333, x)");
}

TEST(Trace, WritesAttributesAndConditions) {
  const Definition d = trace([](auto x, auto a) { return where(x > 0 && !(x == a), x, a * x); });
  EXPECT_EQ(d.text, "y = Where(And(Greater(x, 0), Not(Equal(x, @a))), x, Mul(@a, x))");
  EXPECT_EQ(d.opset, 11);  // Equal on floats
}

TEST(Trace, AnOutputThatIsAnInputGetsANode) {
  EXPECT_EQ(trace([](auto x, auto) { return x; }).text, "y = Identity(x)");
}

}  // namespace
}  // namespace graft
