#include "verify/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace graft::verify {
using runtime::Dimension;
using runtime::Shape;
using runtime::ValueDescription;

namespace {

// Height and width: most vision models want multiples of 32; text recognisers and classifiers want a height
// of 48 or 32.
constexpr std::pair<int64_t, int64_t> image_sizes[] = {
    {320, 320}, {48, 320}, {48, 192}, {32, 320},  {224, 224}, {256, 256}, {640, 640}, {32, 100},
    {64, 64},   {32, 32},  {28, 28},  {112, 112}, {299, 299}, {128, 128}, {512, 512}};
constexpr int64_t channel_counts[] = {3, 1, 4, 2, 16, 64};
const std::vector<int64_t> usual_lengths = {32, 128, 16, 8, 1, 64, 2, 4, 3, 5, 10, 80, 256, 512, 2048, 4096};
constexpr int64_t second_of_audio = 16000;  // samples, at the rate of most speech models
// Shapes for an input of which ORT tells no dimensions: a scalar, or anything.
const Shape shapes_of_any_rank[] = {{}, {1}, {8}, {1, 8}, {1, 3, 32, 32}, {1, 8, 8}};

std::string dimensions(const ValueDescription& value) {
  std::string text = to_string(value);
  const size_t open = text.find('[');
  return text.substr(open);
}

bool is_audio(const ValueDescription& value) {
  const auto names = [&](const char* part) { return value.name.find(part) != std::string::npos; };
  return is_floating(value.type) && (names("wav") || names("audio") || names("speech") || names("signal"));
}

bool is_image_channels(const Dimension& dimension) {
  return dimension.size == 1 || dimension.size == 3 || dimension.size == 4;
}

}  // namespace

SizeChoices::SizeChoices(const std::vector<ValueDescription>& inputs,
                         const std::map<std::string, Shape>& given)
    : lengths_(usual_lengths) {
  if (std::any_of(inputs.begin(), inputs.end(), is_audio)) lengths_.insert(lengths_.begin(), second_of_audio);
  for (const ValueDescription& value : inputs) {
    Input input{value, std::vector<Place>(value.shape.size()), false, value.shape.empty()};
    for (size_t i = 0; i < value.shape.size(); ++i) input.places[i].size = value.shape[i].size;
    inputs_.push_back(std::move(input));
  }
  bind_given(given);
  for (Input& input : inputs_) {
    if (!input.given) assign_roles(input);
  }
}

void SizeChoices::bind_given(const std::map<std::string, Shape>& given) {
  for (const auto& entry : given) {
    const std::string& name = entry.first;
    const Shape& shape = entry.second;
    const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                    [&](const Input& candidate) { return candidate.value.name == name; });
    if (input != inputs_.end()) {
      take_shape(*input, shape);
      continue;
    }
    std::vector<std::string> names;
    bool is_symbol = false;
    for (const Input& known : inputs_) {
      names.push_back(known.value.name);
      for (const Dimension& dimension : known.value.shape)
        is_symbol |= dimension.size < 0 && dimension.symbol == name;
    }
    if (!is_symbol) {
      throw InputError(fmt::format(
          "--shape {}: the model has no input and no symbolic dimension of that name (inputs: {})", name,
          fmt::join(names, ", ")));
    }
    if (shape.size() != 1)
      throw InputError(fmt::format("--shape {}: a symbolic dimension takes one size", name));
    bind_symbol(name, shape[0], name);
  }
}

namespace {

/// Says whether a symbol names a dimension; some exporters write one and the same sign for all unknown ones.
bool is_name(const std::string& symbol) {
  return !symbol.empty() && symbol != "?" && symbol != "*" && symbol != "-1" && symbol != "None";
}

}  // namespace

void SizeChoices::take_shape(Input& input, const Shape& shape) {
  const ValueDescription& value = input.value;
  if (!input.any_rank && shape.size() != value.shape.size()) {
    throw InputError(fmt::format("input {} has {} dimensions, {}, and {} was given", value.name,
                                 value.shape.size(), dimensions(value), runtime::to_string(shape)));
  }
  input.given = true;
  input.places.assign(shape.size(), {});
  for (size_t i = 0; i < shape.size(); ++i) {
    input.places[i].size = shape[i];
    if (input.any_rank) continue;
    const Dimension& dimension = value.shape[i];
    if (dimension.size >= 0 && dimension.size != shape[i]) {
      throw InputError(fmt::format("input {} is {}, and {} was given (dimension {} must be {})", value.name,
                                   dimensions(value), runtime::to_string(shape), i, dimension.size));
    }
    if (dimension.size < 0 && is_name(dimension.symbol)) bind_symbol(dimension.symbol, shape[i], value.name);
  }
}

void SizeChoices::bind_symbol(const std::string& symbol, int64_t size, const std::string& source) {
  const auto [found, is_new] = symbols_.insert({symbol, {Role::fixed, size}});
  if (!is_new && found->second.size != size) {
    throw InputError(fmt::format("dimension {} is given as {} and, by {}, as {}", symbol, found->second.size,
                                 source, size));
  }
}

void SizeChoices::assign_roles(Input& input) {
  const std::vector<Dimension>& shape = input.value.shape;
  const size_t rank = shape.size();
  const bool channels_last = rank == 4 && !is_image_channels(shape[1]) && is_image_channels(shape[3]);
  const bool channels_first =
      rank == 4 && !channels_last && (shape[1].size < 0 || is_image_channels(shape[1]));
  for (size_t i = 0; i < rank; ++i) {
    if (shape[i].size >= 0) continue;
    Role role = Role::length;
    if (i == 0) {
      role = Role::batch;
    } else if (channels_first) {
      role = i == 1 ? Role::channel : i == 2 ? Role::height : Role::width;
    } else if (channels_last) {
      role = i == 1 ? Role::height : i == 2 ? Role::width : Role::channel;
    }
    Place place{role, 0};
    if (is_name(shape[i].symbol)) place = symbols_.insert({shape[i].symbol, place}).first->second;
    input.places[i] = place;
  }
}

bool SizeChoices::has(Role role) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const Input& input) {
    return std::any_of(input.places.begin(), input.places.end(),
                       [&](const Place& place) { return place.role == role; });
  });
}

bool SizeChoices::open() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const Input& input) {
    const auto is_open = [](const Place& place) { return place.role != Role::fixed; };
    return !input.given && (input.any_rank || std::any_of(input.places.begin(), input.places.end(), is_open));
  });
}

int64_t SizeChoices::size_of(const Place& place) const {
  switch (place.role) {
    case Role::fixed:
      return place.size;
    case Role::batch:
      return 1;
    case Role::channel:
      return channel_counts[channel_];
    case Role::height:
      return image_sizes[image_].first;
    case Role::width:
      return image_sizes[image_].second;
    case Role::length:
      return lengths_[length_];
  }
  return 1;
}

std::map<std::string, Shape> SizeChoices::shapes() const {
  std::map<std::string, Shape> shapes;
  for (const Input& input : inputs_) {
    Shape shape;
    for (const Place& place : input.places) shape.push_back(size_of(place));
    if (input.any_rank && !input.given) shape = shapes_of_any_rank[rank_];
    shapes[input.value.name] = std::move(shape);
  }
  return shapes;
}

bool SizeChoices::next() {
  const bool any_rank = std::any_of(inputs_.begin(), inputs_.end(),
                                    [](const Input& input) { return input.any_rank && !input.given; });
  const auto advance = [](size_t& index, size_t count, bool used) {
    if (used && ++index < count) return true;
    index = 0;
    return false;
  };
  return advance(image_, std::size(image_sizes), has(Role::height) || has(Role::width)) ||
         advance(length_, lengths_.size(), has(Role::length)) ||
         advance(channel_, std::size(channel_counts), has(Role::channel)) ||
         advance(rank_, std::size(shapes_of_any_rank), any_rank);
}

std::string SizeChoices::wanted() const {
  std::string text;
  for (const Input& input : inputs_) {
    const auto is_open = [](const Place& place) { return place.role != Role::fixed; };
    if (input.given || !(input.any_rank || std::any_of(input.places.begin(), input.places.end(), is_open)))
      continue;
    std::vector<std::string> names;
    for (const Dimension& dimension : input.value.shape) {
      names.push_back(dimension.size >= 0        ? std::to_string(dimension.size)
                      : dimension.symbol.empty() ? "?"
                                                 : dimension.symbol);
    }
    text += fmt::format("{}--shape {}={}", text.empty() ? "" : " ", input.value.name,
                        names.empty() ? "..." : fmt::format("{}", fmt::join(names, ",")));
  }
  return text;
}

}  // namespace graft::verify
