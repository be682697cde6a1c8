#include "verify/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace graft::verify {
using runtime::DataType;
using runtime::Shape;
using runtime::Tensor;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Numbers floats in order, so that neighbours differ by one; -0 and 0 share a number.
template <class Signed, class Unsigned> Signed position_of(Unsigned bits) {
  constexpr Unsigned sign = Unsigned{1} << (8 * sizeof(Unsigned) - 1);
  return bits & sign ? -static_cast<Signed>(bits & ~sign) : static_cast<Signed>(bits);
}

struct ElementDifference {
  bool differs = false;
  double absolute = 0;
  double relative = 0;
  double ulp = 0;
  double reference = 0;
};

constexpr ElementDifference incomparable{true, infinity, infinity, infinity, 0};

template <class Unsigned, class Signed> ElementDifference between_floats(double reference, double candidate,
                                                                         Unsigned reference_bits,
                                                                         Unsigned candidate_bits) {
  if (reference == candidate || (std::isnan(reference) && std::isnan(candidate))) return {};
  if (!std::isfinite(reference) || !std::isfinite(candidate)) return incomparable;
  ElementDifference difference{true, std::abs(candidate - reference), 0, 0, reference};
  if (reference != 0) difference.relative = difference.absolute / std::abs(reference);
  const Signed a = position_of<Signed>(reference_bits), b = position_of<Signed>(candidate_bits);
  difference.ulp = std::abs(static_cast<double>(b) - static_cast<double>(a));
  if (std::abs(difference.ulp) < 0x1p52)
    difference.ulp = std::abs(static_cast<double>(static_cast<Signed>(b - a)));
  return difference;
}

template <class T> ElementDifference between_numbers(T reference, T candidate) {
  if constexpr (std::is_same_v<T, float>) {
    return between_floats<uint32_t, int64_t>(reference, candidate, std::bit_cast<uint32_t>(reference),
                                             std::bit_cast<uint32_t>(candidate));
  } else if constexpr (std::is_same_v<T, double>) {
    return between_floats<uint64_t, int64_t>(reference, candidate, std::bit_cast<uint64_t>(reference),
                                             std::bit_cast<uint64_t>(candidate));
  } else {
    if (reference == candidate) return {};
    const auto larger = static_cast<uint64_t>(std::max(reference, candidate));
    const auto smaller = static_cast<uint64_t>(std::min(reference, candidate));
    ElementDifference difference{true, static_cast<double>(larger - smaller), 0, 0,
                                 static_cast<double>(reference)};
    difference.ulp = difference.absolute;
    if (reference != 0) difference.relative = difference.absolute / std::abs(difference.reference);
    return difference;
  }
}

/// Compares element i of two tensors of one type; a complex element has two parts, which count as elements.
ElementDifference between_elements(const Tensor& a, const Tensor& b, size_t i) {
  const auto of = [&](auto zero) {
    using T = decltype(zero);
    return between_numbers<T>(a.values<T>()[i], b.values<T>()[i]);
  };
  const auto of_half = [&](float (*to_float)(uint16_t)) {
    const uint16_t x = a.values<uint16_t>()[i], y = b.values<uint16_t>()[i];
    return between_floats<uint16_t, int32_t>(to_float(x), to_float(y), x, y);
  };
  switch (a.type) {
    case DataType::float32:
    case DataType::complex64:
      return of(float{});
    case DataType::float64:
    case DataType::complex128:
      return of(double{});
    case DataType::float16:
      return of_half(runtime::float16_to_float);
    case DataType::bfloat16:
      return of_half(runtime::bfloat16_to_float);
    case DataType::int8:
      return of(int8_t{});
    case DataType::int16:
      return of(int16_t{});
    case DataType::int32:
      return of(int32_t{});
    case DataType::int64:
      return of(int64_t{});
    case DataType::uint8:
    case DataType::boolean:
      return of(uint8_t{});
    case DataType::uint16:
      return of(uint16_t{});
    case DataType::uint32:
      return of(uint32_t{});
    case DataType::uint64:
      return of(uint64_t{});
    case DataType::string:
      return a.strings[i] == b.strings[i] ? ElementDifference{} : incomparable;
    default:
      return a.bytes[i] == b.bytes[i] ? ElementDifference{}
                                      : incomparable;  // 8-bit floats, packed 4-bit integers
  }
}

size_t compared_elements(const Tensor& tensor) {
  switch (tensor.type) {
    case DataType::complex64:
    case DataType::complex128:
      return tensor.count() * 2;
    case DataType::uint4:
    case DataType::int4:
      return tensor.bytes.size();
    default:
      return tensor.count();
  }
}

std::string number_text(auto value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);  // the sign of a NaN says nothing
}

std::string element_text(const Tensor& tensor, size_t i) {
  switch (tensor.type) {
    case DataType::float32:
    case DataType::complex64:
      return number_text(tensor.values<float>()[i]);
    case DataType::float64:
    case DataType::complex128:
      return number_text(tensor.values<double>()[i]);
    case DataType::float16:
      return number_text(runtime::float16_to_float(tensor.values<uint16_t>()[i]));
    case DataType::bfloat16:
      return number_text(runtime::bfloat16_to_float(tensor.values<uint16_t>()[i]));
    case DataType::int64:
      return fmt::format("{}", tensor.values<int64_t>()[i]);
    case DataType::uint64:
      return fmt::format("{}", tensor.values<uint64_t>()[i]);
    case DataType::string:
      return fmt::format("\"{}\"", tensor.strings[i]);
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::uint4:
    case DataType::int4:
      return fmt::format("bits {:#04x}", static_cast<unsigned>(tensor.bytes[i]));
    default:
      return fmt::format("{}", element_as_double(tensor, i));
  }
}

Shape index_of(const Tensor& tensor, size_t i) {
  const size_t parts =
      tensor.count() == 0 ? 1 : std::max<size_t>(compared_elements(tensor) / tensor.count(), 1);
  size_t rest = tensor.type == DataType::uint4 || tensor.type == DataType::int4 ? i * 2 : i / parts;
  Shape index(tensor.shape.size());
  for (size_t axis = index.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(tensor.shape[axis]);
    index[axis] = static_cast<int64_t>(rest % size);
    rest /= size;
  }
  return index;
}

double excess_of(const ElementDifference& difference, const Tolerance& tolerance) {
  const double allowed = tolerance.absolute + tolerance.relative * std::abs(difference.reference);
  if (difference.absolute == 0) return 0;
  return allowed > 0 ? difference.absolute / allowed : infinity;
}

/// Gives the figure below which `part` of all elements lie; the equal ones are not in `figures`.
double percentile(std::vector<double>& figures, size_t elements, double part) {
  const auto rank =
      static_cast<size_t>(std::ceil(part * static_cast<double>(elements)));  // nearest rank, from 1
  const size_t equal = elements - figures.size();
  if (rank <= equal || figures.empty()) return 0;
  const auto at = figures.begin() + static_cast<std::ptrdiff_t>(rank - equal - 1);
  std::nth_element(figures.begin(), at, figures.end());
  return *at;
}

template <class Figure> double largest_of(const std::vector<Difference>& outputs, Figure figure) {
  double largest = 0;
  for (const Difference& output : outputs)
    largest = std::max(largest, output.mismatch.empty() ? output.*figure : infinity);
  return largest;
}

void require_same_inputs(const runtime::Session& reference, const runtime::Session& candidate) {
  const std::string difference = interface_difference(reference, candidate);
  if (!difference.empty()) throw InputError(difference);
}

/// Says how two lists of inputs or outputs differ.
std::string list_difference(const std::vector<runtime::ValueDescription>& reference,
                            const std::vector<runtime::ValueDescription>& candidate, const char* what,
                            const std::string& first, const std::string& second) {
  const auto missing_in = [](const auto& from, const auto& in) -> std::string {
    for (const auto& value : from) {
      if (std::none_of(in.begin(), in.end(), [&](const auto& other) { return other.name == value.name; }))
        return value.name;
    }
    return "";
  };
  if (const std::string name = missing_in(reference, candidate); !name.empty()) {
    return fmt::format("{}: has no {} {}, which {} has", second, what, name, first);
  }
  if (const std::string name = missing_in(candidate, reference); !name.empty()) {
    return fmt::format("{}: has {} {}, which {} has not", second, what, name, first);
  }
  for (size_t i = 0; i < reference.size(); ++i) {
    const auto& a = reference[i];
    const auto& b = candidate[i];
    if (a.name != b.name) {
      return fmt::format("{}: {} {} is {}, and {} in {} (the order differs)", second, what, i + 1, b.name,
                         a.name, first);
    }
    if (a.kind != b.kind || a.type != b.type) {
      return fmt::format("{}: {} {} is {}, and {} in {}", second, what, a.name, to_string(b), to_string(a),
                         first);
    }
  }
  return "";
}

}  // namespace

Tolerance default_tolerance(DataType type) {
  switch (type) {
    case DataType::float32:
    case DataType::complex64:
      return {1e-6, 1e-5};
    case DataType::float64:
    case DataType::complex128:
      return {1e-13, 1e-12};
    case DataType::float16:
      return {2e-3, 4e-3};
    case DataType::bfloat16:
      return {1.6e-2, 3.2e-2};
    default:
      return {0, 0};
  }
}

double ulp_at(DataType type, double value) {
  // The bits of a mantissa, and the power of two of the smallest number.
  const bool is_double = type == DataType::float64 || type == DataType::complex128;
  const auto [digits, least] = is_double                    ? std::pair(53, -1074)
                               : type == DataType::float16  ? std::pair(11, -24)
                               : type == DataType::bfloat16 ? std::pair(8, -133)
                                                            : std::pair(24, -149);
  if (value == 0 || !std::isfinite(value)) return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(std::ilogb(value) - digits + 1, least));
}

Difference compare_tensors(const std::string& output, const Tensor& reference, const Tensor& candidate,
                           std::optional<Tolerance> tolerance) {
  Difference difference;
  difference.output = output;
  difference.type = reference.type;
  difference.shape = reference.shape;
  if (reference.type != candidate.type) {
    difference.mismatch =
        fmt::format("type {} became {}", type_name(reference.type), type_name(candidate.type));
  } else if (reference.shape != candidate.shape) {
    difference.mismatch = fmt::format("shape {} became {}", runtime::to_string(reference.shape),
                                      runtime::to_string(candidate.shape));
  }
  if (!difference.mismatch.empty()) {
    difference.largest_excess = infinity;
    return difference;
  }
  // A tolerance of the user's is meant for rounding: integers, bools and strings stay exact.
  const Tolerance own = default_tolerance(reference.type);
  const Tolerance allowed = tolerance && (own.absolute > 0) ? *tolerance : own;
  const size_t elements = compared_elements(reference);
  difference.elements = elements;
  std::vector<double> ulps;
  std::optional<size_t> first, worst, furthest;
  for (size_t i = 0; i < elements; ++i) {
    const ElementDifference element = between_elements(reference, candidate, i);
    if (!element.differs) continue;
    if (!first) first = i;
    ++difference.differing;
    ulps.push_back(element.ulp);
    difference.largest_absolute = std::max(difference.largest_absolute, element.absolute);
    difference.largest_relative = std::max(difference.largest_relative, element.relative);
    difference.largest_ulp = std::max(difference.largest_ulp, element.ulp);
    const double excess = excess_of(element, allowed);
    if (!worst || excess > difference.largest_excess) {
      worst = i;
      difference.largest_excess = excess;
    }
    if (own.absolute == 0) continue;
    const double beyond = element.absolute - ulp_at(reference.type, element.reference);
    if (beyond > difference.largest_beyond) {
      furthest = i;
      difference.largest_beyond = beyond;
    }
  }
  const auto place = [&](size_t i) {
    return Difference::Place{index_of(reference, i), element_text(reference, i), element_text(candidate, i)};
  };
  if (first) difference.first = place(*first);
  if (worst) difference.worst = place(*worst);
  if (furthest) difference.furthest = place(*furthest);
  difference.ulp_median = percentile(ulps, elements, 0.5);
  difference.ulp_90 = percentile(ulps, elements, 0.9);
  difference.ulp_99 = percentile(ulps, elements, 0.99);
  return difference;
}

bool Comparison::equal() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const Difference& output) { return output.equal(); });
}
double Comparison::largest_absolute() const { return largest_of(outputs, &Difference::largest_absolute); }
double Comparison::largest_relative() const { return largest_of(outputs, &Difference::largest_relative); }
double Comparison::largest_ulp() const { return largest_of(outputs, &Difference::largest_ulp); }
double Comparison::largest_excess() const { return largest_of(outputs, &Difference::largest_excess); }

void Comparison::merge(const Comparison& other) {
  if (outputs.empty())
    outputs = other.outputs;
  else
    for (size_t i = 0; i < outputs.size() && i < other.outputs.size(); ++i)
      outputs[i].merge(other.outputs[i]);
}

void Difference::merge(const Difference& other) {
  if (mismatch.empty()) mismatch = other.mismatch;
  if (!first) first = other.first;
  if (other.largest_excess > largest_excess || !worst) worst = other.worst;
  if (other.largest_beyond > largest_beyond) furthest = other.furthest;
  elements += other.elements;
  differing += other.differing;
  for (double Difference::*figure :
       {&Difference::largest_absolute, &Difference::largest_relative, &Difference::largest_ulp,
        &Difference::ulp_median, &Difference::ulp_90, &Difference::ulp_99, &Difference::largest_excess,
        &Difference::largest_beyond}) {
    this->*figure = std::max(this->*figure, other.*figure);
  }
}

Comparison compare_outputs(const runtime::Session& session, const std::vector<Tensor>& reference,
                           const std::vector<Tensor>& candidate, std::optional<Tolerance> tolerance) {
  Comparison comparison;
  for (size_t i = 0; i < reference.size(); ++i) {
    comparison.outputs.push_back(
        compare_tensors(session.outputs()[i].name, reference[i], candidate[i], tolerance));
  }
  return comparison;
}

Comparison compare(runtime::Session& reference, runtime::Session& candidate,
                   const std::vector<Tensor>& inputs, std::optional<Tolerance> tolerance) {
  require_same_inputs(reference, candidate);
  const std::vector<Tensor> expected = reference.run(inputs);
  const std::vector<Tensor> found = candidate.run(inputs);
  return compare_outputs(reference, expected, found, tolerance);
}

std::string interface_difference(const runtime::Session& reference, const runtime::Session& candidate) {
  const std::string inputs =
      list_difference(reference.inputs(), candidate.inputs(), "input", reference.name(), candidate.name());
  if (!inputs.empty()) return inputs;
  return list_difference(reference.outputs(), candidate.outputs(), "output", reference.name(),
                         candidate.name());
}

}  // namespace graft::verify
