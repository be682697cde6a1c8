#include "check/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "check/difference.h"
#include "verify/compare.h"

namespace graft::check {
using runtime::DataType;
using runtime::element_as_double;
using runtime::Shape;
using runtime::Tensor;
using verify::ulp_at;

namespace {

/// Holds the bits of a mantissa, and the power of two of the smallest number.
struct Format {
  int digits, least;
};

Format format_of(DataType type) {
  switch (type) {
    case DataType::float64:
      return {53, -1074};
    case DataType::float16:
      return {11, -24};
    case DataType::bfloat16:
      return {8, -133};
    default:
      return {24, -149};
  }
}

double smallest_normal(DataType type) {
  const Format format = format_of(type);
  return std::ldexp(1.0, format.least + format.digits - 1);
}

double largest_number(DataType type) {
  switch (type) {
    case DataType::float64:
      return 0x1.fffffffffffffp1023;
    case DataType::float16:
      return 65504;
    case DataType::bfloat16:
      return 0x1.fep127;
    default:
      return 0x1.fffffep127;
  }
}

int binade_of(double value) { return value == 0 ? -2000 : std::ilogb(value); }

/// Tells whether a number is the same, NaN is NaN, and a zero has the same sign.
bool is_same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

/// Writes a number so that it can be told from its neighbours.
std::string text_of(double value) {
  if (value == 0 && std::signbit(value)) return "-0";
  return fmt::format("{}", value);
}

std::string element_text(const Tensor& tensor, size_t element) {
  if (tensor.type == DataType::string) return fmt::format("\"{}\"", tensor.strings[element]);
  if (tensor.type == DataType::float32) {
    const float value = tensor.values<float>()[element];
    return value == 0 && std::signbit(value) ? "-0" : fmt::format("{}", value);
  }
  return text_of(element_as_double(tensor, element));
}

/// Finds the element of a broadcast input that an element of the output was made of; nothing when it is not
/// known.
std::optional<size_t> source_of(const Shape& input, const Shape& output, size_t element) {
  if (input.size() > output.size()) return {};
  size_t at = 0, step = 1, rest = element;
  for (size_t back = 1; back <= output.size(); ++back) {
    const auto size = static_cast<size_t>(output[output.size() - back]);
    const size_t index = rest % size;
    rest /= size;
    if (back > input.size()) continue;
    const auto own = static_cast<size_t>(input[input.size() - back]);
    if (own != size && own != 1) return {};
    if (own == size) at += index * step;
    step *= own;
  }
  return at;
}

/// Says which inputs an element was made of, "x=-0, t=inf"; of other than elementwise operators, where it
/// lies.
std::string inputs_text(const Subject& subject, const Case& one, const Shape& shape, size_t element) {
  std::vector<std::string> all;
  for (size_t i = 0; subject.elementwise() && i < one.inputs.size(); ++i) {
    if (one.inputs[i].type == DataType::undefined) continue;
    if (const auto source = source_of(one.inputs[i].shape, shape, element))
      all.push_back(fmt::format("{}={}", subject.op.inputs[port_of(subject, i)].name,
                                element_text(one.inputs[i], *source)));
  }
  all.push_back(fmt::format("element {} of {}", element, runtime::to_string(shape)));
  return fmt::format("{}", fmt::join(all, ", "));
}

/// Tells whether an element was made of a special value: NaN, infinite, zero, denormal, or next to the
/// largest. Of other than elementwise operators it is not known of what; there the case decides.
bool is_made_of_edges(const Subject& subject, const Case& one, const Tensor& got, size_t element) {
  if (!subject.elementwise() || one.inputs.empty()) return one.values == Values::edge;
  return std::any_of(one.inputs.begin(), one.inputs.end(), [&](const Tensor& tensor) {
    if (tensor.type == DataType::undefined) return false;
    if (!is_floating(tensor.type)) return one.values == Values::edge;
    const auto source = source_of(tensor.shape, got.shape, element);
    const double value = source ? element_as_double(tensor, *source) : 0;
    return !std::isfinite(value) || std::abs(value) < smallest_normal(tensor.type) ||
           std::abs(value) >= largest_number(tensor.type) / 2;
  });
}

/// Tells whether nothing says what an element should be: a zero whose sign was lost in an underflow, which a
/// fused multiplication and addition does elsewhere than a chain of two; or, where an intermediate value is
/// too large for the type, an infinity or what is made of one: the two do not overflow at the same place. Of
/// double no wider type tells whether that is so, only that an input is large.
bool is_beyond_judgement(const Subject& subject, const Case& one, const Tensor& got, const Truth& truth,
                         size_t element) {
  if (!subject.elementwise()) return false;
  bool is_large = false, underflows = false;
  for (const Tensor& tensor : one.inputs) {
    if (tensor.type == DataType::undefined || !is_floating(tensor.type)) continue;
    const auto source = source_of(tensor.shape, got.shape, element);
    if (!source) return false;
    const double value = element_as_double(tensor, *source);
    is_large = is_large || (std::isfinite(value) && std::abs(value) > 0x1p300);
    underflows = underflows || (value != 0 && std::abs(value) < smallest_normal(tensor.type));
  }
  const Tensor& expected = truth.chain ? *truth.chain : *truth.exact;
  const double right = element_as_double(expected, element), found = element_as_double(got, element);
  if (underflows && right == 0 && found == 0) return true;
  if (std::isfinite(right)) return false;
  if (got.type == DataType::float64) return is_large;
  const bool overflows = truth.exact && std::isfinite(element_as_double(*truth.exact, element));
  return overflows && !std::isfinite(found);
}

/// Judges floating elements one by one.
class FloatingJudge {
 public:
  FloatingJudge(const Tensor& got, const Truth& truth, const ErrorTable& errors)
      : got_(got), truth_(truth), errors_(errors) {
    if (truth.exact) exact_in_type_ = runtime::convert(*truth.exact, got.type);
  }

  bool is_right(size_t i) {
    if (truth_.chain && has_same_bits(got_, *truth_.chain, i)) return true;
    const double got = element_as_double(got_, i);
    const auto agrees = [&](const std::optional<Tensor>& tensor) {
      return tensor && is_same(got, element_as_double(*tensor, i));
    };
    if (agrees(truth_.chain) || agrees(truth_.rounded) || agrees(exact_in_type_)) return true;
    if (std::isnan(got)) return false;
    if (got == 0 && !has_sign(got, i)) return false;
    return is_near(got, truth_.chain, i) || is_near(got, truth_.rounded, i) ||
           is_near(got, truth_.exact, i) || is_within_errors(got, i);
  }

  /// Gives how far an element is from the definition in float64, in units of the last place, where that is a
  /// normal number.
  double ulp(size_t i) const {
    if (!truth_.exact || got_.type == DataType::float64) return 0;
    const double exact = element_as_double(*truth_.exact, i), got = element_as_double(got_, i);
    if (!std::isfinite(exact) || !std::isfinite(got)) return 0;
    return std::abs(got - exact) / ulp_at(got_.type, exact);
  }

  std::string expected(size_t i) const {
    if (truth_.chain) return element_text(*truth_.chain, i);
    return element_text(truth_.rounded ? *truth_.rounded : *exact_in_type_, i);
  }

  bool is_special(size_t i) const {
    const double got = element_as_double(got_, i);
    const double expected = element_as_double(truth_.chain ? *truth_.chain : *exact_in_type_, i);
    return !std::isfinite(got) || !std::isfinite(expected) || (got == 0 && expected == 0);
  }

 private:
  /// Tells whether a zero has the sign of what the definition gives, by one of its evaluations. Where none of
  /// them gives a zero, rounding made one, and how near it is decides.
  bool has_sign(double got, size_t i) const {
    if (!truth_.keeps_zeros) return true;
    bool has_zero = false;
    for (const auto* tensor : {&truth_.chain, &truth_.rounded, &truth_.exact}) {
      if (!*tensor) continue;
      const double value = element_as_double(**tensor, i);
      if (!std::isnan(value) && std::signbit(value) == std::signbit(got)) return true;
      has_zero = has_zero || value == 0;
    }
    return !has_zero;
  }

  bool is_near(double got, const std::optional<Tensor>& tensor, size_t i) const {
    if (!tensor) return false;
    const double value = element_as_double(*tensor, i);
    if (!std::isfinite(value)) return false;
    const double unit = ulp_at(got_.type, value);
    if (!std::isfinite(got)) {  // an infinity is what lies one step beyond the largest number
      return std::signbit(got) == std::signbit(value) &&
             std::abs(value) >= largest_number(got_.type) - allowed_ulp * unit;
    }
    return std::abs(got - value) <= allowed_ulp * unit;
  }

  bool is_within_errors(double got, size_t i) const {
    if (!std::isfinite(got)) return false;
    if (got_.type == DataType::float64) {
      // The float64 evaluation is the chain itself: there is nothing better to measure either by.
      const Tensor& chain = truth_.chain ? *truth_.chain : *truth_.exact;
      const double value = element_as_double(chain, i);
      return std::isfinite(value) && std::abs(got - value) <= 1e-13 + 1e-12 * std::abs(value) + doubt(i);
    }
    if (!truth_.exact) {  // a tolerance for want of a measure, as verify takes it
      const double value = truth_.chain ? element_as_double(*truth_.chain, i) : 0;
      return std::isfinite(value) && std::abs(got - value) <= 1e-6 + 1e-5 * std::abs(value);
    }
    const double exact = element_as_double(*truth_.exact, i);
    if (!std::isfinite(exact)) return false;
    return std::abs(got - exact) <=
           allowed_times * errors_.at(exact) + allowed_ulp * ulp_at(got_.type, exact) + doubt(i);
  }

  /// Gives what the roundings of the float64 evaluation itself can make of an element.
  double doubt(size_t i) const {
    return truth_.doubt ? allowed_times * truth_.doubt->values<double>()[i] : 0;
  }

  const Tensor& got_;
  const Truth& truth_;
  const ErrorTable& errors_;
  std::optional<Tensor> exact_in_type_;
};

}  // namespace

void ErrorTable::learn(const Truth& truth) {
  if (!truth.exact || truth.exact->type != DataType::float64) return;
  for (const auto* chain : {&truth.chain, &truth.rounded}) {
    if (!*chain || (*chain)->shape != truth.exact->shape) continue;
    for (size_t i = 0; i < truth.exact->count(); ++i) {
      const double exact = truth.exact->values<double>()[i], value = element_as_double(**chain, i);
      if (!std::isfinite(exact) || !std::isfinite(value)) continue;
      double& largest = largest_[binade_of(exact)];
      largest = std::max(largest, std::abs(value - exact));
    }
  }
}

double ErrorTable::at(double exact) const {
  double largest = 0;
  for (int binade = binade_of(exact) - 1; binade <= binade_of(exact) + 1; ++binade) {
    if (const auto found = largest_.find(binade); found != largest_.end())
      largest = std::max(largest, found->second);
  }
  return largest;
}

void judge(const Subject& subject, const Case& one, const std::string& attributes, size_t output,
           const Tensor& got, const Truth& truth, const ErrorTable& errors, Report& report) {
  const auto complain = [&](const char* code, size_t element, const std::string& expected) {
    // Where ordinary values are wrong already, special ones say nothing new.
    if (report.has(codes::wrong_value)) code = codes::wrong_value;
    report.add({code,
                fmt::format("output {} on {}",
                            subject.op.outputs[std::min(output, subject.op.outputs.size() - 1)].name,
                            to_string(one.values)),
                shapes_text(subject, one), inputs_text(subject, one, got.shape, element), expected,
                element_text(got, element), attributes});
  };
  if (!runtime::is_floating(got.type)) {
    const Tensor& expected = truth.chain ? *truth.chain : *truth.exact;
    if (expected.type != got.type) return;
    const auto is_as_in = [&](const std::optional<Tensor>& tensor, size_t i) {
      if (!tensor || tensor->type != got.type) return false;
      return has_same_bits(got, *tensor, i);
    };
    for (size_t i = 0; i < got.count(); ++i) {
      // A comparison of numbers that were rounded may be right either way: each evaluation counts.
      if (!is_as_in(truth.chain, i) && !is_as_in(truth.rounded, i) && !is_as_in(truth.exact, i))
        return complain(is_made_of_edges(subject, one, got, i) ? codes::edge_value : codes::wrong_value, i,
                        element_text(expected, i));
    }
    return;
  }
  FloatingJudge floating(got, truth, errors);
  for (size_t i = 0; i < got.count(); ++i) {
    if (!floating.is_right(i) && !is_beyond_judgement(subject, one, got, truth, i)) {
      const bool edge = is_made_of_edges(subject, one, got, i) || floating.is_special(i);
      return complain(edge ? codes::edge_value : codes::wrong_value, i, floating.expected(i));
    }
    report.largest_ulp = std::max(report.largest_ulp, one.values == Values::normal ? floating.ulp(i) : 0);
  }
}

}  // namespace graft::check
