#include "check/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "runtime/files.h"

namespace graft::check {
using runtime::DataType;
using runtime::Session;
using runtime::Tensor;

namespace {

/// Runs what there is; nothing when it refuses the inputs.
template <class Runner>
std::optional<std::vector<Tensor>> try_run(std::optional<Runner>& runner, const std::vector<Tensor>& inputs) {
  if (!runner) return {};
  try {
    return runner->run(inputs);
  } catch (const InputError&) {
    return {};
  }
}

/// Takes in how far an evaluation that was shaken lies from the exact one.
void widen_doubt(Truth& truth, const Tensor& shaken) {
  if (truth.exact->type != DataType::float64 || shaken.shape != truth.exact->shape) return;
  if (!truth.doubt) truth.doubt = Tensor::zeros(DataType::float64, shaken.shape);
  const std::span<const double> exact = std::as_const(*truth.exact).values<double>(),
                                other = shaken.values<double>();
  const std::span<double> doubt = truth.doubt->values<double>();
  for (size_t i = 0; i < doubt.size(); ++i) {
    const double distance = std::abs(other[i] - exact[i]);
    if (std::isfinite(distance)) doubt[i] = std::max(doubt[i], distance);
  }
}

}  // namespace

Reference::Reference(std::shared_ptr<runtime::Runtime> runtime, std::filesystem::path folder,
                     const Subject& subject, AttributeSet attributes, int64_t opset)
    : runtime_(std::move(runtime)),
      folder_(std::move(folder)),
      subject_(subject),
      attributes_(std::move(attributes)),
      opset_(opset) {
  if (subject_.op.definitions.empty()) why_not_ = "it has no definition";
}

Reference::Sessions& Reference::sessions_for(const Case& one) {
  std::vector<bool> there;
  for (const Tensor& tensor : one.inputs) there.push_back(tensor.type != DataType::undefined);
  const auto [at, is_new] = sessions_.try_emplace(there);
  Sessions& sessions = at->second;
  if (!is_new) return sessions;
  const auto attempt = [&](auto open) {
    try {
      open();
    } catch (const std::exception& error) {
      if (why_not_.empty()) why_not_ = error.what();
    }
  };
  attempt([&] {
    const onnx::ModelProto model = definition_model(subject_, one, attributes_, opset_);
    for (const onnx::NodeProto& node : model.graph().node())
      sessions.keeps_zeros = sessions.keeps_zeros && node.op_type() != "Where";
    const std::filesystem::path file = folder_ / "definition.onnx";
    runtime::write_file(file, model.SerializeAsString());
    attempt([&] {
      sessions.chain.emplace(Session(runtime_, file, {.optimisation = runtime::Optimisation::none}));
    });
    attempt([&] { sessions.exact.emplace(runtime_, file); });
    if (sessions.exact && sessions.exact->has_halves()) {
      attempt([&] {
        sessions.rounded.emplace(runtime_, file, std::vector<std::filesystem::path>{}, 1,
                                 verify::Halves::rounded);
      });
    }
    attempt([&] {
      for (const uint64_t pattern : {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f})
        sessions.shaken.emplace_back(runtime_, file, pattern);
    });
    if (sessions.chain || sessions.exact) why_not_.clear();
  });
  return sessions;
}

std::optional<std::vector<Truth>> Reference::run(const Case& one) {
  if (subject_.op.definitions.empty()) return {};
  Sessions& sessions = sessions_for(one);
  const std::vector<Tensor> inputs = fed(subject_, one, true);
  auto chain = try_run(sessions.chain, inputs), exact = try_run(sessions.exact, inputs),
       rounded = try_run(sessions.rounded, inputs);
  if (!chain && !exact) return {};
  std::vector<Truth> truths(outputs_of(subject_).size());
  for (size_t i = 0; i < truths.size(); ++i) {
    truths[i].keeps_zeros = sessions.keeps_zeros;
    if (chain) truths[i].chain = std::move((*chain)[i]);
    if (rounded)
      truths[i].rounded = runtime::is_floating(subject_.outputs[std::min(i, subject_.outputs.size() - 1)])
                              ? runtime::convert((*rounded)[i], outputs_of(subject_)[i])
                              : (*rounded)[i];
    if (exact) truths[i].exact = std::move((*exact)[i]);
  }
  for (ShakenEvaluation& shaken : sessions.shaken) {
    if (!exact) break;
    try {
      const std::vector<Tensor> outputs = shaken.run(inputs);
      for (size_t i = 0; i < truths.size(); ++i) widen_doubt(truths[i], outputs[i]);
    } catch (const InputError&) {
      break;  // then there is no doubt to add
    }
  }
  return truths;
}

}  // namespace graft::check
