#include "rewrite/reason.h"

namespace graft::rewrite {
namespace {

struct Entry {
  Reason reason;
  std::string_view code;
  std::string_view sentence;
};

constexpr Entry entries[] = {
    {Reason::constant_differs, "constant_differs",
     "a constant is not the nearest value in its type to the one of the definition"},
    {Reason::constant_overridable, "constant_overridable",
     "a constant is also an input of the model, so a caller may replace it"},
    {Reason::constant_unknown, "constant_unknown",
     "the definition has a constant where the model has a value that is not known before the run"},
    {Reason::constant_not_scalar, "constant_not_scalar", "a constant is a tensor of several elements"},
    {Reason::output_shape_changes, "output_shape_changes",
     "a constant's shape gives the result more dimensions than the operator would"},
    {Reason::rank_unknown, "rank_unknown",
     "it is not known whether a constant's shape gives the result more dimensions"},
    {Reason::dtype_unknown, "dtype_unknown", "the element type is not known"},
    {Reason::dtype_not_supported, "dtype_not_supported", "the library has no kernel for the element type"},
    {Reason::inner_value_read, "inner_value_read", "a value inside is read elsewhere"},
    {Reason::crosses_scopes, "crosses_scopes", "it lies in more than one graph"},
    {Reason::name_taken, "name_taken", "the model has another function of the operator's name"},
    {Reason::already_injected, "already_injected", "the operator is there already"},
    {Reason::not_the_pattern, "not_the_pattern", "it computes something else"},
    {Reason::opset_unsupported, "opset_unsupported", "the model's opset has no words for the definition"},
    {Reason::only_within_rounding, "only_within_rounding",
     "it is the same within rounding only, and --exact was given"},
    {Reason::one_node_already, "one_node_already",
     "it is one node of ONNX's own; name the operator with --op to replace it"},
    {Reason::declined, "declined", "it was declined by --only, --skip or the plan"},
};

const Entry& find(Reason reason) {
  for (const Entry& entry : entries) {
    if (entry.reason == reason) return entry;
  }
  return entries[0];
}

}  // namespace

std::string_view code(Reason reason) { return find(reason).code; }
std::string_view sentence(Reason reason) { return find(reason).sentence; }

}  // namespace graft::rewrite
