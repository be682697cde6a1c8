// One operator of each kind that the SDK knows.
#include <graft/graft.h>

#include <array>
#include <numeric>
using namespace graft;

namespace {

// ---- generic functors: elementwise, traced
struct Axpby {  // several inputs, attributes with and without a default
  constexpr auto operator()(auto x, auto y, auto a, auto b) const { return a * x + b * y; }
};
struct Lerp {  // three inputs
  constexpr auto operator()(auto x, auto y, auto t) const { return x + t * (y - x); }
};
struct Sum4 {  // more inputs than there are loops for
  constexpr auto operator()(auto a, auto b, auto c, auto d) const { return a + 2 * b + 3 * c + 4 * d; }
};
struct Reuse {  // a part that is used twice
  constexpr auto operator()(auto x) const {
    auto t = tanh(x);
    return t * t + t;
  }
};
struct Between {  // conditions
  constexpr auto operator()(auto x) const { return where(x > -1 && !(x >= 2), x, 0); }
};

// ---- ordinary functions: elementwise
constexpr float squash(float x, float limit) { return limit * graft::tanh(x / limit); }
constexpr int64_t add_integers(int64_t a, int64_t b) { return a + b; }
constexpr bool is_larger(float a, float b) { return a > b; }

// ---- tensor functions
template <class T>
void roll(In<T> x, Out<T> y, int64_t shift) {
  const int64_t n = x.size();
  for (int64_t i = 0; i < n; ++i) y[((i + shift) % n + n) % n] = x[i];
}
void weighted_sum(In<float> first, std::optional<In<float>> bias, Variadic<float> rest, Out<float> y, float scale) {
  for (int64_t i = 0; i < y.size(); ++i) {
    float sum = first[i] + (bias ? (*bias)[i] : 0.f);
    for (In<float> tensor : rest) sum += tensor[i];
    y[i] = scale * sum;
  }
}
void two_outputs(In<float> x, Out<float> sum, Out<int64_t> count) {
  sum.allocate({})[0] = std::accumulate(x.begin(), x.end(), 0.f);
  count.allocate({1})[0] = x.size();
}
void forgets_to_allocate(In<float>, Out<float>) {}
void wants_a_matrix(In<float> x, Out<float> y) {
  if (x.rank() != 2) fail("expected a matrix for x, got shape ", x.shape());
  std::copy(x.begin(), x.end(), y.begin());
}
void all_attributes(In<float> x, Out<float> y, float f, int64_t i, std::string_view s, std::span<const float> fs,
                    const std::vector<int64_t>& is) {
  const float sum = std::accumulate(fs.begin(), fs.end(), 0.f) + float(std::accumulate(is.begin(), is.end(), int64_t(0)));
  for (int64_t k = 0; k < x.size(); ++k) y[k] = x[k] * f + float(i) + float(s.size()) + sum;
}

// ---- state
Shape windowed_shape(Shape x, int64_t n) {
  x[-1] = (x[-1] - n) / 1 + 1;
  return x;
}
struct MovingSum {
  int64_t n = 3;
  std::vector<float> window;
  void prepare() {
    if (n < 1) fail("n must be at least 1, got ", n);
    window.assign(size_t(n), 1.f);
  }
  void operator()(In<float> x, Out<float> y) const {
    const int64_t rows = x.dim(-1) ? x.size() / x.dim(-1) : 0, in = x.dim(-1), out = y.dim(-1);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < out; ++i) {
        float sum = 0;
        for (int64_t k = 0; k < n; ++k) sum += window[size_t(k)] * x[r * in + i + k];
        y[r * out + i] = sum;
      }
    }
  }
};

}  // namespace

GRAFT_OPS(m) {
  m.def<Axpby>("Axpby", inputs("x", "y"), outputs("z"), "a"_attr, "b"_attr = 1.f, doc("a * x + b * y"));
  m.def<Lerp>("Lerp", inputs("x", "y", "t"));
  m.def<Sum4>("Sum4", types<float, float16>);
  m.def<Reuse>("Reuse", types<float>);
  m.def<Between>("Between", types<float, double>);
  m.def<squash>("Squash", inputs("x"), "limit"_attr = 6.f, definition(7, "y = Mul(@limit, Tanh(Div(x, @limit)))"));
  m.def<add_integers>("AddIntegers");
  m.def<is_larger>("IsLarger");
  m.def<roll<float>, roll<double>, roll<int64_t>>("Roll", "shift"_attr = 1, shape<same>);
  m.def<weighted_sum>("WeightedSum", inputs("first", "bias", "rest"), "scale"_attr = 1.f, shape<same>);
  m.def<two_outputs>("TwoOutputs", outputs("sum", "count"));
  m.def<forgets_to_allocate>("ForgetsToAllocate");
  m.def<wants_a_matrix>("WantsAMatrix", shape<same>);
  m.def<all_attributes>("AllAttributes", "f"_attr = 1.f, "i"_attr = 2, "s"_attr = "abc",
                        "fs"_attr = std::vector<float>{0.5f}, "is"_attr = std::vector<int64_t>{4, 5}, shape<same>);
  m.def<MovingSum>("MovingSum", attribute("n", &MovingSum::n), shape<windowed_shape>);
}
