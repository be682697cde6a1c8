#pragma once
/// Lets you know how far a float64 evaluation is to be believed: 1 + erf(x) gives 0 in float64 too where the
/// truth is 1e-20.
///
///   ShakenEvaluation shaken(runtime, "definition.onnx", 0x5555);
///   |shaken.run(inputs) - exact.run(inputs)| is what rounding of intermediate values can make of the result.
#include <filesystem>
#include <memory>
#include <vector>

#include "runtime/session.h"

namespace graft::check {

/// Evaluates a model in float64 with the result of every arithmetic node changed by one part in 2^52, up or
/// down as the bits of a pattern say. InputError when the model cannot be evaluated so.
class ShakenEvaluation {
 public:
  ShakenEvaluation(std::shared_ptr<runtime::Runtime> runtime, const std::filesystem::path& model,
                   uint64_t pattern);

  std::vector<runtime::Tensor> run(const std::vector<runtime::Tensor>& inputs);

 private:
  runtime::Session session_;
};

}  // namespace graft::check
