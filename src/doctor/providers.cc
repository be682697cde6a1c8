#include "doctor/providers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "doctor/probe.h"
#include "graph/nearest.h"

namespace graft::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view suffix = "ExecutionProvider";

/// Drops the ending that all names have.
std::string stem(const std::string& name) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// Writes a provider's name as ONNX Runtime does: "cuda" is CUDAExecutionProvider.
std::string full_name(const std::string& asked, const std::vector<std::string>& here) {
  for (const std::string& name : here) {
    if (upper(stem(name)) == upper(stem(asked))) return name;
  }
  if (asked.find("Execution") != std::string::npos) return asked;
  return (upper(asked) == "CUDA" ? "CUDA" : asked) + std::string(suffix);
}

/// Finds the provider that may be meant; empty when none is near.
std::string near_provider(const std::string& name, const std::vector<std::string>& here) {
  for (const std::string& other : here) {
    if (stem(name).size() > 2 && graph::distance(upper(name), upper(other)) <= 1) return other;
  }
  return "";
}

/// Adds a finding for a provider that the runtime has and cannot start: the libraries that it needs are not
/// there, or the device is not.
void check_start(const std::shared_ptr<runtime::Runtime>& runtime, const std::string& name,
                 Findings& findings) {
  const Attempt attempt = Prober(runtime, {}).start_provider(name);
  if (attempt.loaded) return;
  Finding& found = findings.add(Cause::provider_fails, name);
  found.evidence.push_back(
      fmt::format("a session on {} fails: {}", name, attempt.text.substr(0, attempt.text.find('\n'))));
  found.cure = start_cure(name);
}

}  // namespace

std::vector<std::string> start_cure(const std::string& provider) {
  const bool nvidia = provider.starts_with("CUDA") || provider.starts_with("Tensorrt");
  return {
      nvidia
          ? "see that `nvidia-smi` lists a GPU, and install the CUDA and cuDNN that this ONNX Runtime was "
            "built with: https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"
          : fmt::format("install what {} needs (https://onnxruntime.ai/docs/execution-providers)", provider),
      "or run on the CPU: ask for CPUExecutionProvider"};
}

std::vector<std::string> provider_cure(const std::string& provider) {
  if (provider.starts_with("CUDA") || provider.starts_with("Tensorrt")) {
    return {"install the package that has it: pip uninstall -y onnxruntime && pip install onnxruntime-gpu",
            "or run on the CPU: ask for CPUExecutionProvider"};
  }
  return {
      fmt::format(
          "install an ONNX Runtime that was built with {} (https://onnxruntime.ai/docs/execution-providers)",
          provider),
      "or run on the CPU: ask for CPUExecutionProvider"};
}

void check_providers(const std::shared_ptr<runtime::Runtime>& runtime, const std::vector<std::string>& asked,
                     Findings& findings) {
  const std::vector<std::string> here = runtime->providers();
  for (const std::string& provider : asked) {
    const std::string name = full_name(provider, here);
    if (std::find(here.begin(), here.end(), name) != here.end()) {
      check_start(runtime, name, findings);
      continue;
    }
    Finding& found = findings.add(Cause::provider_missing, name);
    const std::string near = near_provider(name, here);
    found.evidence.push_back(fmt::format("{} is asked for; ONNX Runtime {} ({}) has {}{}", name,
                                         runtime->version(), runtime->file().string(), fmt::join(here, ", "),
                                         near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    found.cure = provider_cure(name);
  }
}

void check_packages(const runtime::Runtime& runtime, Findings& findings) {
  const fs::path capi = fs::absolute(runtime.file()).parent_path();
  if (capi.filename() != "capi") return;
  const fs::path packages = capi.parent_path().parent_path();
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(packages, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".dist-info") || !name.starts_with("onnxruntime")) continue;
    const std::string package = name.substr(0, name.find('-'));
    if (package == "onnxruntime" ||
        (package.starts_with("onnxruntime_") && package != "onnxruntime_extensions" &&
         package != "onnxruntime_genai" && package != "onnxruntime_tools"))
      found.push_back(name.substr(0, name.size() - std::string_view(".dist-info").size()));
  }
  if (found.size() < 2) return;
  std::sort(found.begin(), found.end());
  Finding& finding = findings.add(Cause::two_runtimes, packages.string());
  finding.severity = Severity::warning;
  finding.evidence.push_back(
      fmt::format("{} holds {}; the one installed last has overwritten the files of the other",
                  packages.string(), fmt::join(found, " and ")));
  std::vector<std::string> names;
  for (const std::string& name : found) {
    names.push_back(name.substr(0, name.find('-')));
    std::replace(names.back().begin(), names.back().end(), '_', '-');
  }
  finding.cure.push_back(
      fmt::format("remove all, then install the one that you want: pip uninstall -y {} && pip install {}",
                  fmt::join(names, " "), names.back()));
}

}  // namespace graft::doctor
