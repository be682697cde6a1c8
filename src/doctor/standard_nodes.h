#pragma once
/// Lets you ask the runtime about each of a model's standard nodes alone.
///
///   count_refused_nodes(patient, 17);  // 0: all of them are valid at opset 17
#include <cstddef>
#include <cstdint>

namespace graft::doctor {

struct Patient;

/// Counts the kinds of nodes that the runtime refuses at an opset.
size_t count_refused_nodes(const Patient& patient, int64_t opset);

}  // namespace graft::doctor
