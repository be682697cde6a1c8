// The operators that cases.json describes under "library".
#include <graft/graft.h>

#include <cmath>
using namespace graft;

namespace {

struct HardSwish {
  constexpr auto operator()(auto x) const { return x * clamp(x + 3, 0, 6) / 6; }
};
struct Gelu {
  constexpr auto operator()(auto x) const { return 0.5 * x * (1 + erf(x / 1.4142135623730951)); }
};
struct GeluTanh {
  constexpr auto operator()(auto x) const {
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  }
};
struct Mish {
  constexpr auto operator()(auto x) const { return x * tanh(softplus(x)); }
};
struct Silu {
  constexpr auto operator()(auto x) const { return x * sigmoid(x); }
};
struct Leaky {
  constexpr auto operator()(auto x, auto alpha) const { return where(x > 0, x, alpha * x); }
};
struct Gate {
  constexpr auto operator()(auto x) const { return max(x, 0); }
};
constexpr float scale(float x, float alpha, int64_t n) { return alpha * x + float(n); }

void layer_norm(In<float> x, In<float> w, In<float> c, Out<float> y, float epsilon) {
  const int64_t width = x.rank() ? x.shape()[x.rank() - 1] : 1;
  for (int64_t row = 0; width && row < x.size() / width; ++row) {
    const float* from = x.begin() + row * width;
    float mean = 0, variance = 0;
    for (int64_t i = 0; i < width; ++i) mean += from[i];
    mean /= float(width);
    for (int64_t i = 0; i < width; ++i) variance += (from[i] - mean) * (from[i] - mean);
    const float deviation = std::sqrt(variance / float(width) + epsilon);
    for (int64_t i = 0; i < width; ++i)
      y[row * width + i] = (from[i] - mean) / deviation * w[w.size() == 1 ? 0 : i] + c[c.size() == 1 ? 0 : i];
  }
}

}  // namespace

GRAFT_OPS(m) {
  m.def<HardSwish>("HardSwish", inputs("X"), types<float, double, float16>);
  m.def<Gelu>("Gelu", inputs("X"), types<float>);
  m.def<GeluTanh>("GeluTanh", inputs("X"), types<float>);
  m.def<Mish>("Mish", inputs("X"), types<float>);
  m.def<Silu>("Silu", inputs("X"), types<float>);
  m.def<Leaky>("Leaky", inputs("X"), "alpha"_attr, types<float>);
  m.def<layer_norm>("LayerNorm", inputs("X", "W", "C"), "epsilon"_attr, shape<same>,
                    definition(13,
                               "d = Sub(X, ReduceMean<axes=[-1]>(X))\n"
                               "v = ReduceMean<axes=[-1]>(Mul(d, d))\n"
                               "y = Add(Mul(Div(d, Sqrt(Add(v, @epsilon))), W), C)"));
  m.def<Gate>("Gate", inputs("X"), types<float>);
  m.def<scale>("Scale", inputs("X"), "alpha"_attr, "n"_attr);
}
