// One operator for each kind of parameter that a tensor function may take.
#include <graft/graft.h>

#include <cmath>
#include <numeric>
#include <string>
using namespace graft;

namespace {

// ---- numbers and spans
void scale(In<float> x, float factor, Out<float> y) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = factor * x[i];
}
void add_spans(std::span<const float> a, std::span<const float> b, std::span<float> y) {
  for (size_t i = 0; i < y.size(); ++i) y[i] = a[i] + b[i];
}

// ---- optional and variadic outputs
void split_sign(In<float> x, Out<float> positive, std::optional<Out<float>> negative, std::optional<Out<int64_t>> count) {
  for (int64_t i = 0; i < x.size(); ++i) positive[i] = std::max(x[i], 0.f);
  if (negative) {
    for (int64_t i = 0; i < x.size(); ++i) (*negative)[i] = std::min(x[i], 0.f);
  }
  if (count) (*count)[0] = std::count_if(x.begin(), x.end(), [](float v) { return v > 0; });
}
std::array<Shape, 3> split_sign_shapes(const Shape& x) { return {x, x, Shape{1}}; }

void halves(In<float> x, VariadicOut<float> parts) {
  const int64_t n = int64_t(parts.size()), length = x.size() / n;
  for (int64_t i = 0; i < n; ++i) std::copy_n(&x[i * length], length, parts[size_t(i)].allocate({length}).begin());
}

// ---- in place
void increment(InOut<float> x) {
  for (float& v : x) v += 1;
}
void accumulate(In<float> x, InOut<float> sum) {
  for (int64_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
}

// ---- services
void row_sums(In<float> x, Out<float> y, Pool pool) {
  const int64_t n = x.dim(-1);
  pool.parallel_for(y.size(), 16, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) y[r] = std::accumulate(x.data() + r * n, x.data() + (r + 1) * n, 0.f);
  });
}
Shape without_last(Shape x) {
  x.resize(x.rank() - 1);
  return x;
}
void throws_in_a_thread(In<float> x, Out<float> y, Pool pool) {
  pool.parallel_for(x.size(), 1, [&](int64_t begin, int64_t) {
    if (begin > 0) fail("the block that begins at ", begin, " is bad");
    std::copy(x.begin(), x.end(), y.begin());
  });
}
int64_t twice_the_size(const Shape& x) { return (x[0] * 2).size(); }
void reverse_twice(In<float> x, Out<float> y, Scratch<float, twice_the_size> buffer, Scratch<double> more) {
  std::span<double> again = more.allocate(x.size()), third = more.allocate(x.size());
  std::reverse_copy(x.begin(), x.end(), buffer.data() + x.size());
  std::copy_n(buffer.data() + x.size(), x.size(), again.begin());
  std::copy(again.begin(), again.end(), third.begin());
  std::copy(third.begin(), third.end(), y.begin());
}
void name_length(In<float>, Out<int64_t> y, Node node) { y.allocate({})[0] = int64_t(node.name().size()); }

// What a node says by name: attributes that are not parameters, and options of the session.
void blend(In<float> x, Out<float> y, Node node) {
  const float weight = node.attribute<float>("weight").value_or(2.f);
  const auto offsets = node.attribute<std::vector<int64_t>>("offsets").value_or(std::vector<int64_t>{0});
  const auto table = node.attribute<TensorOf<float>>("table");
  for (int64_t i = 0; i < x.size(); ++i) {
    y[i] = weight * x[i] + float(offsets[size_t(i) % offsets.size()]) + (table ? (*table)[i % table->size()] : 0.f);
  }
}
void option_text(In<float>, Out<std::string> y, Node node, std::string_view key) {
  y.allocate({})[0] = node.option(std::string(key)).value_or("(none)");
}
struct Greeting {  // reads the node once
  std::string text;
  void prepare(Const<In<std::string>> names, Node node) {
    text = node.attribute<std::string>("word").value_or("hello");
    for (const std::string& name : names) text += " " + name;
    text += " from " + std::string(node.name());
  }
  void operator()(In<float>, Const<In<std::string>>, Out<std::string> y) const { y.allocate({})[0] = text; }
};

// ---- any number of tensors, each of its own type
/// Sums the elements of each input; of strings, their lengths.
void sums(Variadic<Any> xs, Out<double> y) {
  const auto out = y.allocate({int64_t(xs.size())});
  for (size_t i = 0; i < xs.size(); ++i) {
    out[i] = xs.visit(i, [](auto x) {
      double sum = 0;
      for (int64_t k = 0; k < x.size(); ++k) {
        if constexpr (requires { x[k].size(); }) sum += double(x[k].size());
        else if constexpr (requires { to_float(x[k]); }) sum += double(to_float(x[k]));
        else sum += double(x[k]);
      }
      return sum;
    });
  }
}
/// Adds each of the others, floats or 64-bit integers, to the first.
void add_all(In<float> x, Variadic<AnyOf<float, int64_t>> more, Out<float> y) {
  std::copy(x.begin(), x.end(), y.begin());
  for (size_t i = 0; i < more.size(); ++i) {
    more.visit(i, [&](auto values) {
      for (int64_t k = 0; k < x.size(); ++k) y[k] += float(values[k % values.size()]);
    });
  }
}

/// Knows the types of its inputs and the number of its outputs before the first call; one operator under two names.
struct Tally {
  std::string unit;
  int64_t tally = 0;
  void prepare(Node node) {
    for (const DType type : node.input_types()) tally = 100 * tally + int64_t(type);
    tally = unit == "outputs" ? int64_t(node.output_count()) : tally;
  }
  void operator()(Variadic<AnyOf<float, int64_t, bool>>, VariadicOut<int64_t> ys) const {
    for (size_t i = 0; i < ys.size(); ++i) std::ranges::fill(ys[i].span(), tally + int64_t(i));
  }
};

// ---- constants
struct Dense {  // y = x W; the columns of W are made contiguous once
  std::vector<float> columns;
  int64_t rows = 0, cols = 0;
  void prepare(Const<In<float>> w) {
    if (w.rank() != 2) fail("expected a matrix for w, got shape ", w.shape());
    rows = w.dim(0), cols = w.dim(1);
    columns.resize(size_t(rows * cols));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) columns[size_t(c * rows + r)] = w[r * cols + c];
    }
  }
  void operator()(In<float> x, Const<In<float>>, Out<float> y) const {
    if (x.dim(-1) != rows) fail("expected ", rows, " columns in x, got shape ", x.shape());
    for (int64_t i = 0; i < x.size() / rows; ++i) {
      for (int64_t c = 0; c < cols; ++c) {
        y[i * cols + c] = std::inner_product(&x[i * rows], &x[i * rows] + rows, &columns[size_t(c * rows)], 0.f);
      }
    }
  }
};
Shape dense_shape(Shape x, const Shape& w) {
  x[-1] = w[-1];
  return x;
}

// ---- strings
void join(In<std::string> words, Out<std::string> text, std::string_view separator) {
  std::string all;
  for (int64_t i = 0; i < words.size(); ++i) all += (i ? std::string(separator) : "") + words[i];
  text.allocate({})[0] = all;
}
void lengths(In<std::string> words, Out<int64_t> y) {
  for (int64_t i = 0; i < words.size(); ++i) y[i] = int64_t(words[i].size());
}
void make_strings(In<int64_t> lengths, Out<std::string> y) {
  for (int64_t i = 0; i < lengths.size(); ++i) y[i] = std::string(size_t(lengths[i]), '\0') + "é";
}

// ---- attributes
void add_table(In<float> x, Out<float> y, const TensorOf<float>& table) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + table[i % table.size()];
}
void name_of(In<int64_t> i, Out<std::string> y, const TensorOf<std::string>& names) {
  for (int64_t k = 0; k < i.size(); ++k) y[k] = names[i[k]];
}
void pick(In<float> x, Out<float> y, std::string_view mode, int64_t axis, double power) {
  const float sign = mode == "negate" ? -1.f : 1.f;
  for (int64_t i = 0; i < x.size(); ++i) y[i] = sign * float(std::pow(x[i], power)) + float(axis);
}

}  // namespace

GRAFT_OPS(m, "sdk.params") {
  for (const char* name : {"Tally_0", "Tally_1"}) {
    m.def<Tally>(name, attribute("unit", &Tally::unit).required("types"), shape<broadcast>, pooled("Tally"));
  }
  m.def<scale>("Scale", inputs("x", "factor"), shape<same>);
  m.def<add_spans>("AddSpans", shape<same>);
  m.def<split_sign>("SplitSign", outputs("positive", "negative", "count"), shape<split_sign_shapes>);
  m.def<halves>("Halves");
  m.def<increment>("Increment");
  m.def<accumulate>("Accumulate", inputs("x", "sum"));
  m.def<row_sums>("RowSums", shape<without_last>);
  m.def<throws_in_a_thread>("ThrowsInAThread", shape<same>);
  m.def<reverse_twice>("ReverseTwice", shape<same>);
  m.def<name_length>("NameLength");
  m.def<blend>("Blend", shape<same>);
  m.def<option_text>("OptionText", "key"_attr);
  m.def<Greeting>("Greeting", inputs("x", "names"));
  m.def<sums>("Sums", inputs("xs"));
  m.def<add_all>("AddAll", inputs("x", "more"), shape<same>);
  m.def<Dense>("Dense", inputs("x", "w"), shape<dense_shape>);
  m.def<join>("Join", "separator"_attr = " ");
  m.def<lengths>("Lengths", shape<same>);
  m.def<make_strings>("MakeStrings", shape<same>);
  m.def<add_table>("AddTable", "table"_attr, shape<same>);
  m.def<name_of>("NameOf", "names"_attr, shape<same>);
  m.def<pick>("Pick", "mode"_attr.one_of("keep", "negate") = "keep", "axis"_attr.between(-4, 3) = 0,
              "power"_attr.at_least(0) = 1.0, shape<same>);
}
