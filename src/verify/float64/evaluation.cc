#include "verify/float64/evaluation.h"

#include <fmt/format.h>
#include <onnx-ml.pb.h>

#include <algorithm>

#include "runtime/files.h"
#include "verify/float64/operators.h"
#include "verify/float64/widen.h"

namespace graft::verify {
using runtime::DataType;
using runtime::OrtError;
using runtime::Session;
using runtime::Tensor;

namespace {

/// Finds the operator that ORT names as the one it has no float64 kernel for; empty when it complains of
/// something else.
std::string operator_without_kernel(const std::string& said) {
  const auto between = [&](const std::string& before, char after) -> std::string {
    const size_t start = said.find(before);
    if (start == std::string::npos) return "";
    const size_t from = start + before.size();
    return said.substr(from, said.find(after, from) - from);
  };
  const std::string missing = between("Could not find an implementation for ", '(');
  if (!missing.empty()) return missing;
  if (said.find("tensor(double)") == std::string::npos) return "";
  return between("of operator (", ')');
}

Session load_widened(const std::shared_ptr<runtime::Runtime>& runtime, const std::filesystem::path& file,
                     const std::vector<std::filesystem::path>& libraries, int threads, Halves halves,
                     std::vector<std::string>& rounded, bool& has_halves) {
  const std::string name = fmt::format("{} in float64", file.string());
  onnx::ModelProto model;
  if (!model.ParseFromString(runtime::read_file(file)))
    throw InputError(fmt::format("{}: not an ONNX model", name));
  const std::map<std::string, std::string> values = half_values(model);
  has_halves = !values.empty();
  try {
    widen(model, file.parent_path().empty() ? "." : file.parent_path(), float64_operators());
  } catch (const std::runtime_error& error) {
    throw InputError(fmt::format("{}: {}", name, error.what()));
  }
  if (halves == Halves::rounded) round_halves(model, values);
  const runtime::SessionOptions options{.threads = threads,
                                        .optimisation = runtime::Optimisation::none,
                                        .libraries = libraries,
                                        .operators = {register_float64_operators}};
  while (true) {
    if (model.ByteSizeLong() > 0x7fffffff) throw InputError(fmt::format("{}: larger than 2 GiB", name));
    try {
      return Session::from_bytes(runtime, model.SerializeAsString(), options, name);
    } catch (const OrtError& error) {
      const std::string missing = operator_without_kernel(error.text);
      if (missing.empty() || std::count(rounded.begin(), rounded.end(), missing) > 0 ||
          !round_around(model, missing))
        throw;
      rounded.push_back(missing);
    }
  }
}

}  // namespace

Float64Evaluation::Float64Evaluation(std::shared_ptr<runtime::Runtime> runtime,
                                     const std::filesystem::path& model,
                                     const std::vector<std::filesystem::path>& libraries, int threads,
                                     Halves halves)
    : session_(load_widened(runtime, model, libraries, threads, halves, rounded_, has_halves_)) {}

std::vector<Tensor> Float64Evaluation::run(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> widened;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool wants_double = i < session_.inputs().size() && session_.inputs()[i].type == DataType::float64;
    widened.push_back(wants_double ? convert(inputs[i], DataType::float64) : inputs[i]);
  }
  return session_.run(widened);
}

}  // namespace graft::verify
