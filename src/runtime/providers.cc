#include "runtime/providers.h"

#include <fmt/format.h>
#include <onnxruntime_c_api.h>

#include <algorithm>

#include "runtime/handle.h"
#include "runtime/runtime.h"

namespace graft::runtime {
namespace {

constexpr std::string_view ending = "ExecutionProvider";

std::string missing_provider(const Runtime& runtime, const std::string& name,
                             const std::vector<std::string>& available) {
  std::string all;
  for (const std::string& each : available) all += (all.empty() ? "" : ", ") + short_provider_name(each);
  return fmt::format("--provider {}: ONNX Runtime {} ({}) has no such provider; it has {}", name, runtime.version(),
                     runtime.file().string(), all);
}

/// Asks for CUDA, which ORT takes through functions of its own.
void append_cuda(const Runtime& runtime, OrtSessionOptions* options, const std::string& who) {
  const OrtApi& api = runtime.api();
  OrtCUDAProviderOptionsV2* raw = nullptr;
  runtime.check(api.CreateCUDAProviderOptions(&raw), who);
  const auto cuda = take(raw, api.ReleaseCUDAProviderOptions);
  runtime.check(api.SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda.get()), who);
}

}  // namespace

std::string full_provider_name(std::string_view name) {
  return std::string(name) + std::string(name.ends_with(ending) ? "" : ending);
}

std::string short_provider_name(std::string_view name) {
  if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return std::string(name);
}

std::vector<std::string> available_providers(const Runtime& runtime) {
  const OrtApi& api = runtime.api();
  char** names = nullptr;
  int count = 0;
  runtime.check(api.GetAvailableProviders(&names, &count), "execution providers");
  std::vector<std::string> providers(names, names + count);
  runtime.check(api.ReleaseAvailableProviders(names, count), "execution providers");
  return providers;
}

void append_providers(const Runtime& runtime, OrtSessionOptions* options, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const std::vector<std::string> available = available_providers(runtime);
  for (const std::string& name : names) {
    const std::string full = full_provider_name(name), brief = short_provider_name(name);
    if (std::find(available.begin(), available.end(), full) == available.end())
      throw InputError(missing_provider(runtime, name, available));
    const std::string who = "--provider " + name;
    if (brief == "CPU") continue;
    if (brief == "CUDA") {
      append_cuda(runtime, options, who);
      continue;
    }
    // ORT knows these by names in capitals ("AZURE"); as they are spelled in its list it knows the newer ones.
    OrtStatus* as_spelled =
        runtime.api().SessionOptionsAppendExecutionProvider(options, brief.c_str(), nullptr, nullptr, 0);
    if (!as_spelled) continue;
    runtime.api().ReleaseStatus(as_spelled);
    std::string capitals = brief;
    std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    runtime.check(
        runtime.api().SessionOptionsAppendExecutionProvider(options, capitals.c_str(), nullptr, nullptr, 0), who);
  }
}

}  // namespace graft::runtime
