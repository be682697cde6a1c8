#include "runtime/runtime.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <cstdio>

#include "runtime/shared_object.h"

namespace graft::runtime {
namespace {

constexpr int oldest_minor = 15;

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// Reads the N of "1.N.P"; 0 when the text is none.
int minor_version(const std::string& version) {
  int major = 0, minor = 0;
  return std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2 && major == 1 ? minor : 0;
}

}  // namespace

OrtError::OrtError(const std::string& who, int error_code, std::string error_text)
    : InputError(fmt::format("{}: {}", who, in_one_line(error_text))),
      code(error_code),
      text(std::move(error_text)) {}

std::shared_ptr<Runtime> Runtime::load(const std::filesystem::path& library) {
  const std::string name = library.string();
  const std::filesystem::path absolute =
      std::filesystem::absolute(library);  // dlopen searches for a bare name elsewhere
  void* handle = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* said = dlerror();
    throw InputError(explain_load_failure(absolute, said ? said : ""));
  }
  using GetApiBase = const OrtApiBase* (*)();
  const auto get_base = reinterpret_cast<GetApiBase>(dlsym(handle, "OrtGetApiBase"));
  if (!get_base) {
    dlclose(handle);
    throw InputError(fmt::format("{}: not an ONNX Runtime library (it exports no OrtGetApiBase)", name));
  }
  const OrtApiBase* base = get_base();
  std::shared_ptr<Runtime> runtime(new Runtime);
  runtime->file_ = library;
  runtime->base_ = base;
  runtime->version_ = base->GetVersionString();
  const int minor = minor_version(runtime->version_);
  if (minor < oldest_minor) {
    throw InputError(
        fmt::format("{}: ONNX Runtime {} is not supported; 1.{} or newer is (`pip install -U onnxruntime`)",
                    name, runtime->version_, oldest_minor));
  }
  runtime->api_version_ = std::min(minor, ORT_API_VERSION);
  runtime->api_ = base->GetApi(static_cast<uint32_t>(runtime->api_version_));
  if (!runtime->api_) {
    throw InputError(fmt::format("{}: ONNX Runtime {} does not offer its API version {}", name,
                                 runtime->version_, runtime->api_version_));
  }
  runtime->check(runtime->api_->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "graft", &runtime->environment_), name);
  return runtime;
}

Runtime::~Runtime() {
  if (environment_) api_->ReleaseEnv(environment_);
}

std::vector<std::string> Runtime::providers() const {
  char** names = nullptr;
  int count = 0;
  check(api_->GetAvailableProviders(&names, &count), file_.string());
  std::vector<std::string> all(names, names + count);
  check(api_->ReleaseAvailableProviders(names, count), file_.string());
  return all;
}

void Runtime::check(OrtStatus* status, const std::string& who) const {
  if (!status) return;
  const int code = api_->GetErrorCode(status);
  std::string text = api_->GetErrorMessage(status);
  api_->ReleaseStatus(status);
  throw OrtError(who, code, std::move(text));
}

}  // namespace graft::runtime
