#pragma once
/// Lets you say where two runs of one operator differ in a bit.
///
///   if (const auto difference = first_difference(before, again)) fmt::print("{}\n", difference->got);
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace graft::check {

struct BitDifference {
  std::string place;  ///< "output 0, element 17"
  std::string expected;
  std::string got;
};

/// Tells whether an element of two tensors of one type has the same bits.
bool has_same_bits(const runtime::Tensor& a, const runtime::Tensor& b, size_t element);

/// Finds the first output and element that are not the same bytes; any NaN is a NaN.
std::optional<BitDifference> first_difference(const std::vector<runtime::Tensor>& expected,
                                              const std::vector<runtime::Tensor>& got);

}  // namespace graft::check
