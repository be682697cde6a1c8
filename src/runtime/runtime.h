#pragma once
/// Lets you find ONNX Runtime (ORT) on this machine and load it; nothing links it.
///
///   auto runtime = Runtime::load(find_runtime(""));
///   fmt::print("ORT {}\n", runtime->version());
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "error.h"

struct OrtApi;
struct OrtApiBase;
struct OrtEnv;
struct OrtStatus;

namespace graft::runtime {

/// Carries what ORT said. `text` is ORT's own text as it came; what() is one line that also says who asked.
struct OrtError : InputError {
  OrtError(const std::string& who, int code, std::string text);
  int code;
  std::string text;
};

/// Finds the ORT library: `given` (a library file, or a folder such as a virtual environment or a
/// site-packages tree), else ORT_LIBRARY (the same), else the Python in use (PYTHONPATH, VIRTUAL_ENV, then
/// python3 and python on PATH; located on disk, onnxruntime is not imported), else a `.venv` beside an
/// ancestor of the executable. InputError says what to do when there is none.
std::filesystem::path find_runtime(const std::string& given);

/// Holds a loaded ORT and its environment; stays loaded until the process ends, for ORT's threads outlive a
/// dlclose.
class Runtime {
 public:
  /// Loads the library; InputError names the file and the cause.
  static std::shared_ptr<Runtime> load(const std::filesystem::path& library);

  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const std::filesystem::path& file() const { return file_; }

  /// Gives ORT's own version, "1.32.0".
  const std::string& version() const { return version_; }

  /// Gives the number of the API in use: the smaller of the runtime's and the headers' of the build.
  int api_version() const { return api_version_; }

  /// Lists the execution providers that it was built with, "CPUExecutionProvider" among them.
  std::vector<std::string> providers() const;

  const OrtApi& api() const { return *api_; }
  const OrtApiBase& base() const { return *base_; }
  OrtEnv* environment() const { return environment_; }

  /// Throws OrtError when ORT reported one, and frees it; `who` opens the message.
  void check(OrtStatus* status, const std::string& who) const;

 private:
  Runtime() = default;
  std::filesystem::path file_;
  std::string version_;
  int api_version_ = 0;
  const OrtApiBase* base_ = nullptr;
  const OrtApi* api_ = nullptr;
  OrtEnv* environment_ = nullptr;
};

}  // namespace graft::runtime
