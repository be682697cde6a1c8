#include "runtime/providers.h"

#include <fmt/format.h>
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <cctype>

#include "runtime/handle.h"
#include "runtime/runtime.h"

namespace graft::runtime {
namespace {

constexpr std::string_view ending = "ExecutionProvider";

std::string capitals(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
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

std::string short_provider_name(std::string_view name) {
  if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return std::string(name);
}

std::string find_provider(const Runtime& runtime, const std::string& name) {
  std::string all;
  for (const std::string& each : runtime.providers()) {
    const std::string brief = short_provider_name(each);
    if (capitals(brief) == capitals(short_provider_name(name))) return each;
    all += (all.empty() ? "" : ", ") + brief;
  }
  throw InputError(fmt::format("--provider {}: ONNX Runtime {} ({}) has no such provider; it has {}", name,
                               runtime.version(), runtime.file().string(), all));
}

void append_providers(const Runtime& runtime, OrtSessionOptions* options,
                      const std::vector<std::string>& names) {
  const OrtApi& api = runtime.api();
  for (const std::string& name : names) {
    const std::string who = "--provider " + name;
    const std::string brief = short_provider_name(find_provider(runtime, name));
    if (brief == "CPU") continue;
    if (brief == "CUDA") {
      append_cuda(runtime, options, who);
      continue;
    }
    // ORT knows the older ones by names in capitals ("AZURE"), the newer ones as its list spells them.
    OrtStatus* status =
        api.SessionOptionsAppendExecutionProvider(options, brief.c_str(), nullptr, nullptr, 0);
    if (!status) continue;
    api.ReleaseStatus(status);
    runtime.check(
        api.SessionOptionsAppendExecutionProvider(options, capitals(brief).c_str(), nullptr, nullptr, 0),
        who);
  }
}

}  // namespace graft::runtime
