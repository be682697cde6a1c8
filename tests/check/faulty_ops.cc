// Operators with one fault each, which `graft check` must find and name.
#include <graft/graft.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
using namespace graft;

namespace {

// ---- wrong shape function: of an odd number of elements it forgets the last
Shape half_shape(Shape x) {
  x[-1] = x[-1] / 2;  // right: (x[-1] + 1) / 2
  return x;
}
void every_second(In<float> x, Out<float> y) {
  const int64_t width = x.dim(-1), half = y.dim(-1);
  for (int64_t row = 0; half && row < y.size() / half; ++row) {
    for (int64_t i = 0; i < half; ++i) y[row * half + i] = x[row * width + 2 * i];
  }
}

// ---- race: calls share one buffer
void twice(In<float> x, Out<float> y) {
  static volatile float shared[256];
  const int64_t n = x.size();
  for (int64_t begin = 0; begin < n; begin += 256) {
    const int64_t length = std::min<int64_t>(256, n - begin);
    for (int64_t i = 0; i < length; ++i) shared[i] = x[begin + i];
    for (int64_t i = 0; i < length; ++i) y[begin + i] = 2 * shared[i];
  }
}

// ---- race: blocks of one call share one buffer, each call has its own
void twice_in_blocks(In<float> x, Out<float> y, Pool pool) {
  volatile float shared[256];
  pool.parallel_for(x.size(), 4096, [&](int64_t first, int64_t last) {
    for (int64_t begin = first; begin < last; begin += 256) {
      const int64_t length = std::min<int64_t>(256, last - begin);
      for (int64_t i = 0; i < length; ++i) shared[i] = x[begin + i];
      for (int again = 0; again < 8; ++again) {  // as long as work that is worth a thread
        for (int64_t i = 0; i < length; ++i) y[begin + i] = 2 * shared[i];
      }
    }
  });
}

// ---- wrong edge values
constexpr float relu_of_nan(float x) { return x > 0 ? x : 0; }                // right: NaN stays NaN
constexpr float absolute_zero(float x) { return x < 0 ? -x : x; }             // right: of -0 it is 0
constexpr float flushed(float x) { return std::abs(x) < 0x1p-126f ? 0 : x; }  // right: denormals stay

// ---- a wrong value within an ordinary range: a constant that is a little off
constexpr float off(float x) { return x / 6.00001f; }

// ---- it is something else the second time
void counting(In<float> x, Out<float> y) {
  static std::atomic<int> calls{0};
  const int add = calls++;
  for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + float(add);
}

// ---- it writes into its input
void writes_its_input(In<float> x, Out<float> y) {
  float* input = const_cast<float*>(x.begin());
  for (int64_t i = 0; i < x.size(); ++i) {
    input[i] = -x[i];
    y[i] = -input[i] + 0 * x[i];
  }
}

// ---- wrong at the end of an attribute's limits only
void shifted(In<float> x, Out<float> y, int64_t by) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + float(by == 4 ? 3 : by);
}

// ---- it kills the process when there is nothing to do
void dies_of_nothing(In<float> x, Out<float> y) {
  if (x.size() == 0) abort();
  std::memcpy(y.begin(), x.begin(), size_t(x.size()) * sizeof(float));
}

// ---- it refuses an attribute within its limits
void picky(In<float> x, Out<float> y, int64_t by) {
  if (by == 0) fail("by must not be 0");
  for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + float(by);
}

// ---- right in ORT, where an output begins at a multiple of 64 bytes; elsewhere the first elements are
// forgotten
void aligned_only(In<float> x, Out<float> y) {
  const auto past = reinterpret_cast<uintptr_t>(y.begin()) % 64 / sizeof(float);
  const int64_t first = std::min<int64_t>(past == 0 ? 0 : int64_t(16 - past), x.size());
  for (int64_t i = 0; i < first; ++i) y[i] = 0;
  for (int64_t i = first; i < x.size(); ++i) y[i] = x[i];
}

// ---- something else the second time, once it has the table that it requires
void look_up(In<float> x, Out<float> y, const TensorOf<float>& table) {
  if (table.size() != 7) fail("expected a table of 7 elements, got ", table.size());
  static std::atomic<int> calls{0};
  const float add = table[1] * float(calls++);
  for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + add;
}

// ---- two integers share a byte: of the second one it forgets the sign
void unsigned_nibbles(In<int4> x, Out<float> y) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = float(i % 2 && x[i] < 0 ? x[i] + 16 : x[i]);
}

}  // namespace

GRAFT_OPS(m) {
  m.def<every_second>("EverySecond", shape<half_shape>,
                      definition(13, "y = Slice(x, [0], [1000000000], [-1], [2])"));
  m.def<twice>("Twice", shape<same>, definition(13, "y = Add(x, x)"));
  m.def<twice_in_blocks>("TwiceInBlocks", shape<same>, definition(13, "y = Add(x, x)"));
  m.def<relu_of_nan>("ReluOfNan", definition(13, "y = Max(x, 0)"));
  m.def<absolute_zero>("AbsoluteZero", definition(13, "y = Abs(x)"));
  m.def<flushed>("Flushed", definition(13, "y = Mul(x, 1)"));
  m.def<off>("Off", definition(13, "y = Div(x, 6)"));
  m.def<counting>("Counting", shape<same>);
  m.def<writes_its_input>("WritesItsInput", shape<same>);
  m.def<shifted>("Shifted", "by"_attr.between(0, 4) = 1, shape<same>,
                 definition(13, "y = Add(x, Cast<to=1>(@by))"));
  m.def<dies_of_nothing>("DiesOfNothing", shape<same>, definition(13, "y = Mul(x, 1)"));
  m.def<picky>("Picky", "by"_attr.between(0, 4) = 1, shape<same>,
               definition(13, "y = Add(x, Cast<to=1>(@by))"));
  m.def<aligned_only>("AlignedOnly", shape<same>, definition(13, "y = Mul(x, 1)"));
  m.def<unsigned_nibbles>("UnsignedNibbles", shape<same>, definition(21, "y = Cast<to=1>(x)"));
  m.def<look_up>("LookUp", "table"_attr, shape<same>);
}
