// Operators for the tests of lifetime. Two libraries are made of it, with the same names in two domains.
#include <graft/graft.h>

#include <string>
#include <vector>
using namespace graft;

namespace {

struct Scale {
  constexpr auto operator()(auto x) const { return FACTOR * x; }
};

// State that holds memory of its own, a constant input, a scratch buffer, and errors at both times.
struct Window {
  int64_t n = 1;
  std::vector<float> ones;
  void prepare() {
    if (n < 1) fail("n must be at least 1, got ", n);
    ones.assign(size_t(n) * 1000, 1.f);
  }
  void operator()(In<float> x, Out<float> y) const {
    if (x.size() && x[0] < 0) fail("x begins with a negative number");
    for (int64_t i = 0; i < y.size(); ++i) y[i] = x[i] * ones[size_t(i) % ones.size()];
  }
};

void words(In<std::string> x, Out<std::string> y, const std::string& end) {
  for (int64_t i = 0; i < y.size(); ++i) y[i] = x[i] + end;
}

}  // namespace

GRAFT_OPS(m) {
  m.def<Scale>("Scale");
  m.def<Window>("Window", attribute("n", &Window::n), shape<same>);
  m.def<words>("Words", "end"_attr = "a text that is longer than a short string's own memory", shape<same>);
}
