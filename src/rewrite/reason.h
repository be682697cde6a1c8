#pragma once
/// Lets a refusal say why: each reason has a code, which is public, and a sentence.
///
///   fmt::print("{}: {}\n", code(Reason::constant_differs), sentence(Reason::constant_differs));
#include <string_view>

namespace graft::rewrite {

enum class Reason {
  constant_differs,
  constant_overridable,
  constant_unknown,
  constant_not_scalar,
  output_shape_changes,
  rank_unknown,
  dtype_unknown,
  dtype_not_supported,
  inner_value_read,
  crosses_scopes,
  name_taken,
  already_injected,
  not_the_pattern,
  opset_unsupported,
  only_within_rounding,
  one_node_already,
  declined,
};

/// Gives the public code, "constant_differs".
std::string_view code(Reason reason);

/// Says in a sentence what the code means.
std::string_view sentence(Reason reason);

}  // namespace graft::rewrite
