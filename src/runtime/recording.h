#pragma once
/// Lets you list the operators of a library that does not describe itself: ORT's lite header, or the C API by
/// hand.
///
///   std::string json = record_operators(dlsym(handle, "RegisterCustomOps"));   // in a child process
#include <string>

namespace graft::runtime {

/// Calls RegisterCustomOps with an OrtApi that only notes what is added, and writes that as a description of
/// ABI 1, with what the interface of ORT tells: names, types, and how many inputs and outputs; neither
/// attributes nor definitions, and ports without names of their own (x, x1, ...; y, y1, ...).
/// std::runtime_error keeps the words of a registration that failed.
std::string record_operators(void* register_custom_ops);

}  // namespace graft::runtime
