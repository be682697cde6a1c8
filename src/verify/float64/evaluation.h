#pragma once
/// Lets you evaluate a model in float64: what its outputs would be without float32's rounding.
///
///   Float64Evaluation exact(runtime, "model.onnx");
///   std::vector<Tensor> outputs = exact.run(inputs);  // floating ones as float64
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace graft::verify {

/// Says what is done with values that the model computes in float16 or bfloat16: they are kept exact, or rounded by
/// every node, as the standard says (ORT's CPU provider computes chains of them in float32).
enum class Halves { exact, rounded };

class Float64Evaluation {
 public:
  /// Widens the model and loads it without optimisation. InputError says why a model cannot be evaluated so.
  Float64Evaluation(std::shared_ptr<runtime::Runtime> runtime, const std::filesystem::path& model,
                    const std::vector<std::filesystem::path>& libraries = {}, int threads = 1,
                    Halves halves = Halves::exact);

  /// Runs on the model's own inputs; floating ones are widened.
  std::vector<runtime::Tensor> run(const std::vector<runtime::Tensor>& inputs);

  /// Lists the types of operators that are computed in float32 all the same, for want of a float64 kernel.
  const std::vector<std::string>& rounded() const { return rounded_; }

  /// Tells whether nodes of the main graph compute values of 16 bits.
  bool has_halves() const { return has_halves_; }

 private:
  std::vector<std::string> rounded_;
  bool has_halves_ = false;
  runtime::Session session_;
};

}  // namespace graft::verify
