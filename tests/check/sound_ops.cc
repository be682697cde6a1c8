// Operators without faults, of kinds that a check could take for faulty.
#include <graft/graft.h>

#include <algorithm>
#include <numeric>
#include <string>
using namespace graft;

namespace {

Shape half_shape(Shape x) {
  x[-1] = (x[-1] + 1) / 2;
  return x;
}
void every_second(In<float> x, Out<float> y) {
  const int64_t width = x.dim(-1), half = y.dim(-1);
  for (int64_t row = 0; half && row < y.size() / half; ++row) {
    for (int64_t i = 0; i < half; ++i) y[row * half + i] = x[row * width + 2 * i];
  }
}

// A fused multiplication and addition cancels to other bits than the chain of two.
struct Lerp {
  constexpr auto operator()(auto x, auto y, auto t) const { return x + t * (y - x); }
};
// Comparisons give bool; `where` lets a NaN through as the chain does.
struct IsLarger {
  constexpr auto operator()(auto x, auto y) const { return x > y; }
};

// In place where ORT allows.
void negate(InOut<float> x) {
  for (int64_t i = 0; i < x.size(); ++i) x[i] = -x[i];
}

// Optional and variadic inputs.
void weighted(In<float> x, std::optional<In<float>> bias, Out<float> y) {
  if (bias && bias->size() != x.size()) fail("expected as many elements in bias as in x, got ", bias->size());
  for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + (bias ? (*bias)[i] : 0.f);
}
void sum(Variadic<float> xs, Out<float> y) {
  for (int64_t i = 0; i < y.size(); ++i) {
    y[i] = 0;
    for (In<float> x : xs) {
      if (x.size() != y.size()) fail("expected tensors of one size");
      y[i] += x[i];
    }
  }
}

// Sums of blocks are added in an order that depends on the number of threads: no race.
void total(In<float> x, Out<float> y, Pool pool) {
  std::vector<float> sums(size_t(std::max<int64_t>(pool.blocks(x.size(), 1024), 1)), 0.f);
  pool.parallel_for(x.size(), 1024, [&](int64_t begin, int64_t end, int64_t block) {
    sums[size_t(block)] = std::accumulate(x.begin() + begin, x.begin() + end, 0.f);
  });
  y.allocate({})[0] = std::accumulate(sums.begin(), sums.end(), 0.f);
}

void join(In<std::string> x, Out<std::string> y) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + "!";
}

// An initializer, prepared once.
struct Table {
  std::vector<float> scale;
  void prepare(Const<In<float>> table) { scale.assign(table.begin(), table.end()); }
  void operator()(In<float> x, Const<In<float>>, Out<float> y) const {
    for (int64_t i = 0; i < x.size(); ++i)
      y[i] = x[i] * (scale.empty() ? 1.f : scale[size_t(i) % scale.size()]);
  }
};

template <class T> void rotate(In<T> x, Out<T> y, int64_t shift, std::string_view mode) {
  const int64_t n = x.size();
  for (int64_t i = 0; i < n; ++i) y[((i + shift) % n + n) % n] = mode == "negate" ? T(-x[i]) : x[i];
}

// Types that are only stored.
template <class T> void widen(In<T> x, Out<float> y) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = to_float(x[i]);
}
template <class T> void unpack(In<T> x, Out<float> y) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = float(x[i]);
}
template <class T> void increment(In<T> x, Out<T> y) {
  for (int64_t i = 0; i < x.size(); ++i) y.set(i, int(x[i]) == 7 ? 0 : int(x[i]) + 1);
}

}  // namespace

GRAFT_OPS(m) {
  m.def<every_second>("EverySecond", shape<half_shape>,
                      definition(13, "y = Slice(x, [0], [1000000000], [-1], [2])"));
  m.def<Lerp>("Lerp", inputs("x", "y", "t"));
  m.def<IsLarger>("IsLarger", types<float, int32_t>);
  m.def<negate>("Negate", definition(13, "y = Neg(x)"));
  m.def<weighted>("Weighted", inputs("x", "bias"), shape<same>);
  m.def<sum>("Sum", shape<same>);
  m.def<total>("Total");
  m.def<join>("Join", shape<same>);
  m.def<Table>("Table", inputs("x", "table"), shape<same>);
  m.def<widen<float8e4m3fn>, widen<float8e5m2fnuz>>("Widen", shape<same>,
                                                    definition(19, "y = Cast<to=1>(x)"));
  m.def<unpack<int4>, unpack<uint4>>("Unpack", shape<same>, definition(21, "y = Cast<to=1>(x)"));
  m.def<increment<int4>>("Increment", shape<same>);
  m.def<rotate<float>, rotate<int64_t>>("Rotate", "shift"_attr.between(-3, 3) = 1,
                                        "mode"_attr.one_of("keep", "negate") = "keep", shape<same>);
}
