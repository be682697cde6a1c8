#include "doctor/cause.h"

namespace graft::doctor {
namespace {

struct Entry {
  Cause cause;
  std::string_view code;
  std::string_view sentence;
};

constexpr Entry entries[] = {
    {Cause::not_a_model, "not_a_model", "The file is not an ONNX model, or it is damaged."},
    {Cause::ir_version_missing, "ir_version_missing",
     "The model does not say its IR version (the version of the ONNX file format)."},
    {Cause::ir_version_too_new, "ir_version_too_new",
     "The model's IR version (the version of the ONNX file format) is newer than this ONNX Runtime reads."},
    {Cause::opset_too_new, "opset_too_new",
     "The model imports a newer opset (version of the standard operators) than this ONNX Runtime knows."},
    {Cause::import_missing, "import_missing",
     "An operator's domain (its family name) is used but not imported."},
    {Cause::import_version, "import_version",
     "The operator's domain is imported at a version at which the operator does not exist."},
    {Cause::library_not_registered, "library_not_registered",
     "The model needs a custom operator, and no library that has it was given."},
    {Cause::op_not_in_library, "op_not_in_library",
     "No library, and no function of the model, has an operator of that name; it may be spelled otherwise."},
    {Cause::op_in_default_domain, "op_in_default_domain",
     "A custom operator stands in the default domain, where only ONNX's own operators are."},
    {Cause::op_newer_than_import, "op_newer_than_import",
     "A standard operator is used that came with a later opset than the model imports."},
    {Cause::op_removed, "op_removed",
     "A standard operator is used that was removed before the opset that the model imports."},
    {Cause::op_unknown, "op_unknown", "An operator is used that neither ONNX nor this ONNX Runtime knows."},
    {Cause::dtype_not_supported, "dtype_not_supported",
     "The library has the operator, but not for this element type."},
    {Cause::no_kernel_for_dtype, "no_kernel_for_dtype",
     "This ONNX Runtime cannot run a standard operator on this element type."},
    {Cause::types_disagree, "types_disagree",
     "An operator's inputs must share one element type, and do not."},
    {Cause::attribute_missing, "attribute_missing", "An operator lacks an attribute that it requires."},
    {Cause::attribute_type, "attribute_type", "An attribute has another type than the operator wants."},
    {Cause::attribute_unknown, "attribute_unknown", "An attribute is given that the operator does not have."},
    {Cause::input_count, "input_count", "An operator is given too few or too many inputs."},
    {Cause::output_count, "output_count", "A node has too few or too many outputs for its operator."},
    {Cause::dangling_input, "dangling_input", "A node reads a value that nothing makes."},
    {Cause::duplicate_value, "duplicate_value", "Two places make a value of one name."},
    {Cause::duplicate_node_name, "duplicate_node_name", "Two nodes have the same name."},
    {Cause::output_not_produced, "output_not_produced",
     "A graph names an output that none of its nodes makes."},
    {Cause::cycle, "cycle", "Nodes wait for each other in a circle, so none of them can run first."},
    {Cause::node_order, "node_order", "A node stands before the one whose result it reads."},
    {Cause::function_recursion, "function_recursion", "A function of the model calls itself."},
    {Cause::function_shadowed, "function_shadowed",
     "The library's operator takes the place of the model's own function of that name, and computes "
     "something else."},
    {Cause::stale_value_info, "stale_value_info",
     "The model declares a value with another element type than its node makes."},
    {Cause::initializer_size, "initializer_size",
     "A constant does not hold as many bytes as its shape and type ask for."},
    {Cause::external_data_missing, "external_data_missing",
     "The model keeps weights in a file of their own, and that file is not where the model says."},
    {Cause::external_data_short, "external_data_short", "A file of weights is shorter than the model says."},
    {Cause::external_data_pointer, "external_data_pointer",
     "A file of weights is only a Git LFS pointer: the weights themselves were never downloaded."},
    {Cause::external_data_outside, "external_data_outside",
     "The model's weights lie outside its folder, where ONNX Runtime refuses to read."},
    {Cause::library_missing, "library_missing",
     "The operator library does not exist at the path that was given."},
    {Cause::library_unfit, "library_unfit", "The file is no shared library for this machine."},
    {Cause::dependency_missing, "dependency_missing",
     "The operator library needs another library, which is not found on this machine."},
    {Cause::links_onnxruntime, "links_onnxruntime",
     "The operator library links ONNX Runtime itself, which it must not."},
    {Cause::symbol_undefined, "symbol_undefined",
     "The operator library calls a function that nothing on this machine has."},
    {Cause::entry_point_missing, "entry_point_missing",
     "The library does not export RegisterCustomOps, the function through which ONNX Runtime asks for its "
     "operators."},
    {Cause::library_crashes, "library_crashes",
     "The library ends the whole process when it is loaded or registers its operators."},
    {Cause::runtime_too_old, "runtime_too_old",
     "The library was built for a newer ONNX Runtime than this one."},
    {Cause::library_refused, "library_refused", "ONNX Runtime does not accept the library's operators."},
    {Cause::domain_twice, "domain_twice", "Two libraries register operators in the same domain."},
    {Cause::provider_missing, "provider_missing",
     "This ONNX Runtime does not have the execution provider (the processor, such as CUDA) that is asked "
     "for."},
    {Cause::provider_fails, "provider_fails",
     "This ONNX Runtime has the execution provider (the processor, such as CUDA) that is asked for, and "
     "cannot start it."},
    {Cause::two_runtimes, "two_runtimes",
     "Several ONNX Runtime packages are installed in one place; they overwrite each other's files."},
    {Cause::model_missing, "model_missing", "The model file does not exist at the path that was given."},
    {Cause::unexplained, "unexplained", "ONNX Runtime refuses the model with words that are not known here."},
};

const Entry& find(Cause cause) {
  for (const Entry& entry : entries) {
    if (entry.cause == cause) return entry;
  }
  return entries[0];
}

}  // namespace

std::string_view code(Cause cause) { return find(cause).code; }
std::string_view sentence(Cause cause) { return find(cause).sentence; }

}  // namespace graft::doctor
