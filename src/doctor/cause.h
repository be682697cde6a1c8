#pragma once
/// Lets a diagnosis say why: each cause has a code, which is public, and a sentence that a newcomer
/// understands.
///
///   fmt::print("{}: {}\n", code(Cause::cycle), sentence(Cause::cycle));
#include <string_view>

namespace graft::doctor {

enum class Cause {
  not_a_model,
  ir_version_missing,
  ir_version_too_new,
  opset_too_new,
  import_missing,
  import_version,
  library_not_registered,
  op_not_in_library,
  op_in_default_domain,
  op_newer_than_import,
  op_removed,
  op_unknown,
  dtype_not_supported,
  no_kernel_for_dtype,
  types_disagree,
  attribute_missing,
  attribute_type,
  attribute_unknown,
  input_count,
  output_count,
  dangling_input,
  duplicate_value,
  duplicate_node_name,
  output_not_produced,
  cycle,
  node_order,
  function_recursion,
  function_shadowed,
  stale_value_info,
  initializer_size,
  external_data_missing,
  external_data_short,
  external_data_pointer,
  external_data_outside,
  library_missing,
  library_unfit,
  dependency_missing,
  links_onnxruntime,
  symbol_undefined,
  entry_point_missing,
  library_crashes,
  runtime_too_old,
  library_refused,
  domain_twice,
  provider_missing,
  provider_fails,
  two_runtimes,
  model_missing,
  unexplained,
};

/// Gives the public code, "import_missing".
std::string_view code(Cause cause);

/// Says in a sentence what the code means.
std::string_view sentence(Cause cause);

}  // namespace graft::doctor
