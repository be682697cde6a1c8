#pragma once
/// Lets you read an error of ONNX Runtime, of any age: what it means, and what to do.
///
///   if (recognise("Missing model IR version.", findings)) ...
#include <string>

#include "doctor/finding.h"

namespace graft::doctor {

/// Adds a finding for every cause that the text speaks of; false when it knows none.
bool recognise(const std::string& text, Findings& findings);

}  // namespace graft::doctor
