#include "check/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>

namespace graft::check {
using runtime::DataType;
using runtime::Shape;
using runtime::Tensor;

namespace {

/// Is large enough for ORT to be given several blocks of work, and no multiple of any vector.
constexpr int64_t large = 100003;
constexpr int64_t sweep_size = 65536;

using Shapes = std::vector<Shape>;

/// Draws numbers that are the same on every machine (std::normal_distribution is not).
class Draw {
 public:
  explicit Draw(uint64_t seed) : bits_(seed) {}
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }
  double wide() {
    const double magnitude = std::pow(10.0, 8 * uniform() - 4);
    return uniform() < 0.5 ? magnitude : -magnitude;
  }

 private:
  std::mt19937_64 bits_;
};

/// Gives integers that no type of 8 bits and no sum of a few overflows, and all of bool.
double integer_for(DataType type, double normal) {
  if (type == DataType::boolean) return normal > 0 ? 1 : 0;
  const double value = std::trunc(std::clamp(normal * 8, -30.0, 30.0));
  const bool is_unsigned = type == DataType::uint8 || type == DataType::uint16 || type == DataType::uint32 ||
                           type == DataType::uint64 || type == DataType::uint4;
  return is_unsigned ? std::abs(value) : value;
}

Tensor drawn(DataType type, const Shape& shape, Values values, uint64_t seed) {
  Draw draw(seed);
  Tensor tensor = Tensor::zeros(type, shape);
  for (size_t i = 0; i < tensor.count(); ++i) {
    const double value = values == Values::wide ? draw.wide() : draw.normal();
    if (type == DataType::string) {
      tensor.strings[i] = value < -0.5 ? "" : fmt::format("{:.2f}", value);
    } else {
      runtime::set_element(tensor, i, is_floating(type) ? value : integer_for(type, value));
    }
  }
  return tensor;
}

/// Walks through the bit patterns of a type, each one where there are no more than the tensor has elements.
Tensor swept(DataType type, uint64_t start) {
  const size_t size = runtime::element_size(type);
  const int64_t count = size == 1 ? 256 : sweep_size;
  Tensor tensor = Tensor::zeros(type, {count});
  const uint64_t step = size == 8 ? uint64_t{1} << 48 : size == 4 ? uint64_t{1} << 16 : 1;
  for (int64_t i = 0; i < count; ++i) {
    // The start's low bits lie between two steps, so that mantissas are not all round.
    const uint64_t bits = static_cast<uint64_t>(i) * step + (step > 1 && i % 2 ? start % step : 0);
    std::memcpy(tensor.bytes.data() + static_cast<size_t>(i) * size, &bits, size);
  }
  return tensor;
}

/// Makes tensors in which each special value of one input meets each of the next.
std::vector<Tensor> crossed(const std::vector<DataType>& types) {
  size_t most = 1;
  for (const DataType type : types) most = std::max(most, edge_values(type).size());
  const bool pairs = types.size() > 1;
  const size_t count = pairs ? most * most : most;
  std::vector<Tensor> tensors;
  for (size_t input = 0; input < types.size(); ++input) {
    const std::vector<double> values = edge_values(types[input]);
    Tensor& tensor = tensors.emplace_back(Tensor::zeros(types[input], {static_cast<int64_t>(count)}));
    for (size_t i = 0; i < count; ++i) {
      const size_t at = input == 0 ? i : input == 1 ? i / most : i / most * input + i;
      if (types[input] == DataType::string) {
        tensor.strings[i] = at % 3 == 0 ? std::string("\0\xff", 2) : at % 3 == 1 ? "" : std::string(300, 'x');
      } else {
        runtime::set_element(tensor, i, values[at % values.size()]);
      }
    }
  }
  return tensors;
}

/// Lists the shapes that are tried when all inputs have one shape.
std::vector<Shape> common_shapes() {
  return {{},      {0},    {1},    {7},       {8},          {1023},  {2, 3},
          {5, 16}, {0, 3}, {3, 0}, {2, 3, 5}, {1, 3, 8, 9}, {large}, {251, 403}};
}

/// Lists the shapes of two inputs; further inputs are like the second, or like the first.
std::vector<std::pair<Shape, Shape>> broadcast_shapes() {
  return {{{3, 1, 5}, {4, 1}}, {{2, 3, 5}, {}}, {{}, {2, 3}},  {{1}, {7}},       {{5, 1}, {1, 7}},
          {{0}, {1}},          {{1023}, {1}},   {{3, 8}, {8}}, {{8, 3}, {8, 1}}, {{251, 403}, {403}}};
}

/// Lists pairs of shapes that products and rows take.
std::vector<std::pair<Shape, Shape>> row_shapes() {
  return {{{4, 7}, {7}}, {{4, 7}, {7, 5}}, {{2, 3, 8}, {8}}, {{4, 7}, {1}}, {{4, 7}, {}}};
}

/// Lists, for each input tensor, the shapes to try.
std::vector<Shapes> shapes_of(const Subject& subject, size_t tensors) {
  std::vector<Shapes> all;
  for (const Shape& shape : common_shapes()) all.emplace_back(tensors, shape);
  if (tensors < 2) return all;
  const bool broadcasts = subject.op.shape == runtime::ShapeRule::broadcast;
  for (const auto& [first, second] : broadcasts ? broadcast_shapes() : row_shapes()) {
    Shapes shapes(tensors, second);
    shapes[0] = first;
    all.push_back(shapes);
    if (tensors > 2 && broadcasts) {
      shapes[2] = first;
      all.push_back(shapes);
    }
  }
  return all;
}

uint64_t seed_of(size_t number, size_t input) { return 1000 * number + input + 1; }

Case drawn_case(const std::vector<DataType>& types, const Shapes& shapes, Values values, size_t number) {
  Case made;
  made.values = values;
  for (size_t i = 0; i < types.size(); ++i)
    made.inputs.push_back(drawn(types[i], shapes[i], values, seed_of(number, i)));
  return made;
}

}  // namespace

std::string_view to_string(Values values) {
  switch (values) {
    case Values::normal:
      return "normal values";
    case Values::wide:
      return "values from 1e-4 to 1e4";
    case Values::edge:
      return "edge values";
    case Values::sweep:
      return "values of the whole range";
  }
  return "";
}

size_t port_of(const Subject& subject, size_t input) { return std::min(input, subject.inputs.size() - 1); }

std::string shapes_text(const Subject& subject, const Case& one) {
  std::vector<std::string> all;
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    const std::string& name = subject.op.inputs[port_of(subject, i)].name;
    all.push_back(name + (one.inputs[i].type == DataType::undefined
                              ? " left out"
                              : runtime::to_string(one.inputs[i].shape)));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

bool can_make(DataType type) {
  switch (type) {
    case DataType::undefined:
    case DataType::complex64:
    case DataType::complex128:
      return false;
    default:
      return true;
  }
}

std::vector<double> edge_values(DataType type) {
  if (type == DataType::string || type == DataType::boolean) return {0, 1};
  if (!is_floating(type)) {
    const auto ends = [](auto zero) -> std::vector<double> {
      using Limits = std::numeric_limits<decltype(zero)>;
      return {0,
              1,
              2,
              7,
              static_cast<double>(Limits::max()) > 9e15 ? 9e15 : static_cast<double>(Limits::max()),
              Limits::is_signed ? -1.0 : 3.0,
              static_cast<double>(Limits::min()) < -9e15 ? -9e15 : static_cast<double>(Limits::min())};
    };
    switch (type) {
      case DataType::int4:
        return {0, 1, 2, 7, -1, -8};
      case DataType::uint4:
        return {0, 1, 2, 7, 8, 15};
      case DataType::int8:
        return ends(int8_t{});
      case DataType::uint8:
        return ends(uint8_t{});
      case DataType::int16:
        return ends(int16_t{});
      case DataType::uint16:
        return ends(uint16_t{});
      case DataType::int32:
        return ends(int32_t{});
      case DataType::uint32:
        return ends(uint32_t{});
      case DataType::uint64:
        return ends(uint64_t{});
      default:
        return ends(int64_t{});
    }
  }
  double largest = std::numeric_limits<float>::max(), normal = std::numeric_limits<float>::min(),
         least = std::numeric_limits<float>::denorm_min();
  if (type == DataType::float64) {
    largest = std::numeric_limits<double>::max();
    normal = std::numeric_limits<double>::min();
    least = std::numeric_limits<double>::denorm_min();
  } else if (type == DataType::float16) {
    largest = 65504, normal = 0x1p-14, least = 0x1p-24;
  } else if (type == DataType::bfloat16) {
    largest = 0x1.fep127, normal = 0x1p-126, least = 0x1p-133;
  } else if (runtime::element_size(type) == 1) {  // 8-bit floats: what is too large becomes the largest
    largest = 57344, normal = 0x1p-6, least = 0x1p-9;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values{std::numeric_limits<double>::quiet_NaN()};
  // Powers and halves of them are where functions change their way; 88 and 709 are where exp overflows.
  for (const double value :
       {0.0, infinity, largest, largest / 2, normal, normal / 2, least, 1.0,   0.5, 2.0,  3.0, 4.0,
        6.0, 10.0,     17.0,    88.0,        89.0,   104.0,      709.0, 746.0, 0.1, 1e-4, 1e4}) {
    values.push_back(value);
    values.push_back(-value);
  }
  return values;
}

std::vector<Case> cases_of(const Subject& subject, const std::map<std::string, Shape>& given) {
  const auto& ports = subject.op.inputs;
  std::vector<DataType> types = subject.inputs;
  if (!ports.empty() && ports.back().arity == runtime::Arity::variadic) types.push_back(types.back());
  const size_t tensors = types.size();
  std::vector<Case> cases;
  std::vector<Shapes> shapes = shapes_of(subject, tensors);
  if (!given.empty()) {
    Shapes fixed(tensors, given.begin()->second);
    for (size_t i = 0; i < tensors; ++i) {
      if (const auto found = given.find(ports[port_of(subject, i)].name); found != given.end())
        fixed[i] = found->second;
    }
    shapes.assign(1, fixed);
  }
  for (const Shapes& one : shapes) cases.push_back(drawn_case(types, one, Values::normal, cases.size()));
  const Shapes row = given.empty() ? Shapes(tensors, {1023}) : shapes[0];
  const Shapes matrix = given.empty() ? Shapes(tensors, {5, 16}) : shapes[0];
  cases.push_back(drawn_case(types, row, Values::wide, cases.size()));
  cases.push_back(drawn_case(types, matrix, Values::wide, cases.size()));
  if (tensors > 0) {
    Case edge{crossed(types), Values::edge};
    Case sweep{{}, Values::sweep};
    const bool sweeps = std::none_of(types.begin(), types.end(), [](DataType type) {
      return type == DataType::string || type == DataType::boolean;
    });
    if (given.empty()) {
      cases.push_back(edge);
      if (subject.elementwise() && sweeps) {
        // One input walks through its range; the others are normal.
        for (size_t i = 0; i < tensors; ++i) {
          Tensor walk = i == 0 ? swept(types[0], 0x5a5b5c5d5e5f)
                               : drawn(types[i], sweep.inputs[0].shape, Values::normal, i);
          sweep.inputs.push_back(std::move(walk));
        }
        cases.push_back(std::move(sweep));
      }
    } else {
      for (size_t i = 0; i < tensors; ++i) {  // special values in the shapes that were asked for
        Tensor shaped = Tensor::zeros(types[i], row[i]);
        for (size_t k = 0; k < shaped.count() && edge.inputs[i].count() > 0; ++k) {
          const size_t from = k % edge.inputs[i].count();
          if (types[i] == DataType::string)
            shaped.strings[k] = edge.inputs[i].strings[from];
          else
            runtime::set_element(shaped, k, runtime::element_as_double(edge.inputs[i], from));
        }
        edge.inputs[i] = std::move(shaped);
      }
      cases.push_back(std::move(edge));
    }
  }
  for (size_t left = 0; left < ports.size(); ++left) {
    if (ports[left].arity != runtime::Arity::optional) continue;
    Case without = drawn_case(types, row, Values::normal, cases.size());
    without.inputs[left] = {};
    cases.push_back(std::move(without));
  }
  return cases;
}

Case redrawn(const Case& one, uint64_t seed) {
  Case made = one;
  made.values = Values::normal;
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    Tensor& tensor = made.inputs[i];
    if (tensor.type != DataType::undefined)
      tensor = drawn(tensor.type, tensor.shape, Values::normal, seed_of(seed, i));
  }
  return made;
}

}  // namespace graft::check
