#pragma once
/// Lets every part of the command say who is at fault; main() turns either error into one line and an exit
/// code.
///
///   throw InputError("model.onnx: the file is empty");
#include <stdexcept>
#include <string>

namespace graft {

/// Says that the call or an input file is wrong: exit code 2. The text is one line that names the file and
/// the cause.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Says that the answer is bad (drift, no match, a model that does not load): exit code 1.
struct AnswerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace graft
