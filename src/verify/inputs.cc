#include "verify/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <random>

#include "verify/sizes.h"

namespace graft::verify {
using runtime::DataType;
using runtime::Shape;
using runtime::Tensor;
using runtime::ValueDescription;

namespace {

/// Draws numbers that are the same on every machine: the standard fixes mt19937_64, but not its own
/// distributions.
class Draw {
 public:
  explicit Draw(uint64_t seed) : bits_(seed) {}

  /// Gives 0 <= number < 1.
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }

  bool coin() { return (bits_() & 1) != 0; }

  size_t below(size_t count) { return static_cast<size_t>(bits_() % count); }

  /// Gives a standard normal number (Box and Muller, 1958).
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

  double wide() {
    const double magnitude = std::pow(10.0, 8 * uniform() - 4);
    return coin() ? magnitude : -magnitude;
  }

 private:
  std::mt19937_64 bits_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Lists the values that arithmetic treats in a special way, for a floating type.
std::vector<double> special_values(DataType type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double largest = std::numeric_limits<float>::max(), smallest_normal = std::numeric_limits<float>::min(),
         smallest = std::numeric_limits<float>::denorm_min();
  if (type == DataType::float64) {
    largest = std::numeric_limits<double>::max();
    smallest_normal = std::numeric_limits<double>::min();
    smallest = std::numeric_limits<double>::denorm_min();
  } else if (type == DataType::float16) {
    largest = 65504;
    smallest_normal = 0x1p-14;
    smallest = 0x1p-24;
  } else if (type == DataType::bfloat16) {
    largest = 0x1.fep127;
    smallest_normal = 0x1p-126;
    smallest = 0x1p-133;
  }
  return {std::numeric_limits<double>::quiet_NaN(),
          infinity,
          -infinity,
          0.0,
          -0.0,
          largest,
          -largest,
          smallest_normal,
          -smallest_normal,
          smallest,
          -smallest,
          1.0,
          -1.0};
}

/// Fills floating elements. Of special inputs every fourth is special, in turn, so that small tensors get all
/// of them.
void fill_floating(Tensor& tensor, Distribution distribution, Draw& draw) {
  const std::vector<double> specials = special_values(tensor.type);
  const size_t count = tensor.count();
  const size_t start = draw.below(specials.size());
  for (size_t i = 0; i < count; ++i) {
    double value = distribution == Distribution::wide ? draw.wide() : draw.normal();
    if (distribution == Distribution::special && i % 4 == 0)
      value = specials[(start + i / 4) % specials.size()];
    set_element(tensor, i, value);
  }
}

/// Tells where images lie in a shape: channels first or last, or not at all.
enum class Layout { none, channels_first, channels_last };

Layout image_layout(const Shape& shape) {
  const auto are_channels = [](int64_t size) { return size == 1 || size == 3 || size == 4; };
  if (shape.size() != 4) return Layout::none;
  if (are_channels(shape[1]) && shape[2] >= 16 && shape[3] >= 16) return Layout::channels_first;
  if (are_channels(shape[3]) && shape[1] >= 16 && shape[2] >= 16) return Layout::channels_last;
  return Layout::none;
}

/// Draws strokes of 2 by 4 to 13 pixels, -1 on 1, one to a thousand pixels: about as much as a page of text
/// holds.
std::vector<double> draw_strokes(Draw& draw, int64_t height, int64_t width) {
  std::vector<double> page(static_cast<size_t>(height * width), 1);
  for (int64_t stroke = 0; stroke <= height * width / 1000; ++stroke) {
    const auto top = static_cast<int64_t>(draw.below(static_cast<size_t>(height)));
    const auto left = static_cast<int64_t>(draw.below(static_cast<size_t>(width)));
    const auto length = static_cast<int64_t>(4 + draw.below(10));
    const bool lies = draw.coin();
    const int64_t bottom = std::min(height, top + (lies ? 2 : length)),
                  right = std::min(width, left + (lies ? length : 2));
    for (int64_t y = top; y < bottom; ++y) {
      for (int64_t x = left; x < right; ++x) page[static_cast<size_t>(y * width + x)] = -1;
    }
  }
  return page;
}

void fill_images(Tensor& tensor, Layout layout, Draw& draw) {
  const Shape& shape = tensor.shape;
  const bool first = layout == Layout::channels_first;
  const int64_t channels = first ? shape[1] : shape[3], height = first ? shape[2] : shape[1],
                width = first ? shape[3] : shape[2];
  const int64_t pixels = height * width;
  for (int64_t n = 0; n < shape[0]; ++n) {
    const std::vector<double> page = draw_strokes(draw, height, width);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < pixels; ++i) {
        const int64_t at = n * channels * pixels + (first ? c * pixels + i : i * channels + c);
        set_element(tensor, static_cast<size_t>(at), page[static_cast<size_t>(i)]);
      }
    }
  }
}

Tensor make_input(const ValueDescription& value, const Shape& shape, Distribution distribution,
                  IntegerRange range, uint64_t seed) {
  Draw draw(seed);
  Tensor tensor = Tensor::zeros(value.type, shape);
  const size_t count = tensor.count();
  if (value.type == DataType::string) {
    for (std::string& text : tensor.strings) text.assign(1, draw.coin() ? '1' : '0');
    return tensor;
  }
  const Layout layout = image_layout(shape);
  if (is_floating(value.type) && distribution == Distribution::strokes && layout != Layout::none) {
    fill_images(tensor, layout, draw);
  } else if (is_floating(value.type)) {
    fill_floating(tensor, distribution, draw);
  } else {
    const auto choices = static_cast<size_t>(range.most - range.least + 1);
    for (size_t i = 0; i < count; ++i) {
      set_element(tensor, i, static_cast<double>(range.least + static_cast<int64_t>(draw.below(choices))));
    }
  }
  return tensor;
}

bool can_be_made(DataType type) {
  switch (type) {
    case DataType::undefined:
    case DataType::complex64:
    case DataType::complex128:
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::uint4:
    case DataType::int4:
      return false;
    default:
      return true;
  }
}

/// Checks what was given against the model's inputs, and gives the shapes of the given tensors.
std::map<std::string, Shape> shapes_of_values(const runtime::Session& session, const InputPlan& plan) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : plan.values) {
    const ValueDescription* value = nullptr;
    std::vector<std::string> names;
    for (const ValueDescription& input : session.inputs()) {
      names.push_back(input.name);
      if (input.name == name) value = &input;
    }
    if (!value)
      throw InputError(
          fmt::format("{}: has no input {} (inputs: {})", session.name(), name, fmt::join(names, ", ")));
    if (value->kind == "tensor" && tensor.type != value->type) {
      throw InputError(fmt::format("{}: input {} takes {}, and {} was given", session.name(), name,
                                   type_name(value->type), type_name(tensor.type)));
    }
    if (plan.shapes.contains(name) && plan.shapes.at(name) != tensor.shape) {
      throw InputError(fmt::format("input {} was given with shape {} and a --shape of {}", name,
                                   runtime::to_string(tensor.shape),
                                   runtime::to_string(plan.shapes.at(name))));
    }
    shapes[name] = tensor.shape;
  }
  return shapes;
}

void require_makeable(const runtime::Session& session, const InputPlan& plan) {
  for (const ValueDescription& input : session.inputs()) {
    if (input.kind != "tensor") {
      throw InputError(fmt::format("{}: input {} is a {}; only tensors can be given", session.name(),
                                   input.name, input.kind));
    }
    if (!plan.values.contains(input.name) && !can_be_made(input.type)) {
      throw InputError(
          fmt::format("{}: no values can be made for input {} of type {}; give a file with --input {}=FILE",
                      session.name(), input.name, type_name(input.type), input.name));
    }
  }
}

/// Refuses sizes that would only exhaust the memory.
void require_sensible(const runtime::Session& session, const std::map<std::string, Shape>& shapes) {
  for (const auto& [name, shape] : shapes) {
    double elements = 1;
    for (const int64_t size : shape) elements *= static_cast<double>(size);
    if (elements > 0x1p31) {
      throw InputError(fmt::format("{}: input {} of shape {} has more than 2^31 elements", session.name(),
                                   name, runtime::to_string(shape)));
    }
  }
}

/// Gives what ORT said, without the model's name.
std::string said_by_ort(const runtime::Session& session, const runtime::OrtError& error) {
  std::string said = error.what();
  if (said.starts_with(session.name() + ": ")) said.erase(0, session.name().size() + 2);
  return said;
}

/// Runs once, so that a refusal names the shapes that the user gave.
void try_given(runtime::Session& session, const InputPlan& plan) {
  try {
    session.run(make_inputs(session, plan));
  } catch (const runtime::OrtError& error) {
    std::string shapes;
    for (const auto& [name, shape] : plan.shapes)
      shapes += fmt::format(" {}{}", name, runtime::to_string(shape));
    throw InputError(fmt::format("{}: does not run with{}; ORT said: {}", session.name(), shapes,
                                 said_by_ort(session, error)));
  }
}

bool is_integer(DataType type) {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::int16:
    case DataType::uint16:
    case DataType::int32:
    case DataType::uint32:
    case DataType::int64:
    case DataType::uint64:
      return true;
    default:
      return false;
  }
}

/// Proposes a range for an integer input, by its size and its name.
std::optional<IntegerRange> likely_range(const runtime::Session& session, const InputPlan& plan,
                                         const ValueDescription& input) {
  const size_t count = runtime::element_count(plan.shapes.at(input.name));
  if (count >= 64) return IntegerRange{0, input.type == DataType::int8 ? 127 : 255};
  if (input.name.find("len") == std::string::npos) return {};
  for (const ValueDescription& other : session.inputs()) {
    const Shape& shape = plan.shapes.at(other.name);
    if (is_floating(other.type) && shape.size() >= 2) {
      const int64_t length = *std::max_element(shape.begin() + 1, shape.end());
      return IntegerRange{length, length};
    }
  }
  return {};
}

/// Takes the likely ranges that the session accepts.
void settle_integers(runtime::Session& session, InputPlan& plan) {
  for (const ValueDescription& input : session.inputs()) {
    if (!is_integer(input.type) || plan.values.contains(input.name) || plan.integers.contains(input.name))
      continue;
    const std::optional<IntegerRange> range = likely_range(session, plan, input);
    if (!range) continue;
    plan.integers[input.name] = *range;
    try {
      session.run(make_inputs(session, plan));
    } catch (const runtime::OrtError&) {
      plan.integers.erase(input.name);
    }
  }
}

}  // namespace

std::string_view to_string(Distribution distribution) {
  switch (distribution) {
    case Distribution::normal:
      return "normal";
    case Distribution::wide:
      return "wide";
    case Distribution::strokes:
      return "strokes";
    case Distribution::special:
      return "special";
  }
  return "";
}

InputPlan settle(runtime::Session& session, InputPlan plan) {
  require_makeable(session, plan);
  std::map<std::string, Shape> given = plan.shapes;
  given.merge(shapes_of_values(session, plan));
  for (const auto& [name, shape] : given) {
    for (const int64_t size : shape) {
      if (size < 0)
        throw InputError(fmt::format("--shape {}: {} has a negative size", name, runtime::to_string(shape)));
    }
  }
  SizeChoices choices(session.inputs(), given);
  plan.shapes = choices.shapes();
  require_sensible(session, plan.shapes);
  if (!choices.open()) {
    if (!given.empty()) try_given(session, plan);
    settle_integers(session, plan);
    return plan;
  }

  constexpr auto patience = std::chrono::seconds(30);
  const auto start = std::chrono::steady_clock::now();
  std::string said;
  int tried = 0;
  do {
    plan.shapes = choices.shapes();
    try {
      session.run(make_inputs(session, plan));
      settle_integers(session, plan);
      return plan;
    } catch (const runtime::OrtError& error) {
      if (said.empty()) said = said_by_ort(session, error);
      ++tried;
    }
  } while (choices.next() && std::chrono::steady_clock::now() - start < patience);
  throw InputError(fmt::format(
      "{}: no input sizes found that it runs with ({} tried); give them with {}; for the first sizes ORT "
      "said: {}",
      session.name(), tried, choices.wanted(), said));
}

bool takes_images(const runtime::Session& session, const InputPlan& plan) {
  return std::any_of(session.inputs().begin(), session.inputs().end(), [&](const ValueDescription& input) {
    const auto shape = plan.shapes.find(input.name);
    return is_floating(input.type) && !plan.values.contains(input.name) && shape != plan.shapes.end() &&
           image_layout(shape->second) != Layout::none;
  });
}

std::vector<Tensor> make_inputs(const runtime::Session& session, const InputPlan& plan) {
  std::vector<Tensor> tensors;
  uint64_t position = 0;
  for (const ValueDescription& input : session.inputs()) {
    ++position;
    const auto given = plan.values.find(input.name);
    if (given != plan.values.end()) {
      tensors.push_back(given->second);
      continue;
    }
    const auto shape = plan.shapes.find(input.name);
    if (shape == plan.shapes.end())
      throw InputError(fmt::format("{}: the shape of input {} is not settled", session.name(), input.name));
    const auto range = plan.integers.find(input.name);
    tensors.push_back(make_input(input, shape->second, plan.distribution,
                                 range == plan.integers.end() ? IntegerRange{} : range->second,
                                 plan.seed * 1'000'003 + position));
  }
  return tensors;
}

}  // namespace graft::verify
