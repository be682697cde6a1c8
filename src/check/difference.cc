#include "check/difference.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace graft::check {
using runtime::DataType;
using runtime::Tensor;

namespace {

std::string text_of(const Tensor& tensor, size_t element) {
  if (tensor.type == DataType::string) return fmt::format("\"{}\"", tensor.strings[element]);
  const double value = runtime::element_as_double(tensor, element);
  if (tensor.type == DataType::float32) return fmt::format("{}", static_cast<float>(value));
  return fmt::format("{}", value);
}

bool is_nan(const Tensor& tensor, size_t element) {
  return is_floating(tensor.type) && std::isnan(runtime::element_as_double(tensor, element));
}

}  // namespace

bool has_same_bits(const Tensor& a, const Tensor& b, size_t element) {
  if (a.type == DataType::string) return a.strings[element] == b.strings[element];
  const size_t size = runtime::element_size(a.type);
  if (size == 0) return element_as_double(a, element) == element_as_double(b, element);  // two in a byte
  return std::memcmp(a.bytes.data() + element * size, b.bytes.data() + element * size, size) == 0;
}

std::optional<BitDifference> first_difference(const std::vector<Tensor>& expected,
                                              const std::vector<Tensor>& got) {
  for (size_t i = 0; i < expected.size() && i < got.size(); ++i) {
    const Tensor &a = expected[i], &b = got[i];
    if (a.type != b.type || a.shape != b.shape)
      return BitDifference{fmt::format("output {}", i),
                           fmt::format("{}{}", type_name(a.type), runtime::to_string(a.shape)),
                           fmt::format("{}{}", type_name(b.type), runtime::to_string(b.shape))};
    if (a.bytes == b.bytes && a.strings == b.strings) continue;
    for (size_t k = 0; k < a.count(); ++k) {
      if (!has_same_bits(a, b, k) && !(is_nan(a, k) && is_nan(b, k)))
        return BitDifference{fmt::format("output {}, element {}", i, k), text_of(a, k), text_of(b, k)};
    }
  }
  return {};
}

}  // namespace graft::check
