#include "runtime/runtime.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <optional>

#include "expect_error.h"
#include "loaded_runtime.h"
#include "runtime/files.h"
#include "temporary_folder.h"

namespace graft::runtime {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using testing::TemporaryFolder;

/// Sets an environment variable for the life of the object; nothing unsets it.
class Variable {
 public:
  Variable(const char* name, std::optional<std::string> value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~Variable() { set(old_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      setenv(name_, value->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> old_;
};

/// Hides whatever Python and ORT the machine has.
struct NothingInstalled {
  Variable library{"ORT_LIBRARY", std::nullopt}, environment{"VIRTUAL_ENV", std::nullopt},
      packages{"PYTHONPATH", std::nullopt}, path{"PATH", "/nowhere"}, home{"HOME", "/nowhere"};
};

fs::path touch(const fs::path& file) {
  fs::create_directories(file.parent_path());
  write_file(file, "not a real library");
  return file;
}

void make_executable(const fs::path& file, const std::string& content) {
  fs::create_directories(file.parent_path());
  write_file(file, content);
  fs::permissions(file, fs::perms::owner_all);
}

constexpr const char* in_packages = "onnxruntime/capi/libonnxruntime.so.1.99.0";

TEST(FindRuntime, TakesAFileOrAFolderAsGiven) {
  TemporaryFolder folder;
  const fs::path file = touch(folder / "target" / in_packages);
  EXPECT_EQ(find_runtime(file.string()), file);
  EXPECT_EQ(find_runtime((folder / "target").string()), file);  // pip install --target
  EXPECT_EQ(find_runtime((folder / "target/onnxruntime/capi").string()), file);
  EXPECT_EQ(find_runtime((folder / "target/onnxruntime").string()), file);
  const fs::path environment = touch(folder / "venv/lib/python3.12/site-packages" / in_packages);
  EXPECT_EQ(find_runtime((folder / "venv").string()), environment);
  const fs::path release = touch(folder / "release/lib/libonnxruntime.so");
  EXPECT_EQ(find_runtime((folder / "release").string()), release);
}

TEST(FindRuntime, SaysWhatIsWrongWithWhatWasGiven) {
  TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { find_runtime((folder / "none").string()); }),
            "--runtime: " + (folder / "none").string() + " does not exist");
  EXPECT_TRUE(error_of([&] {
                find_runtime(folder.path().string());
              }).starts_with("--runtime: no libonnxruntime.so* in "));
  touch(folder / "old/onnxruntime/capi/_pybind_state.py");
  EXPECT_NE(error_of([&] {
              find_runtime((folder / "old").string());
            }).find("onnxruntime package without libonnxruntime.so"),
            std::string::npos);
  Variable library("ORT_LIBRARY", (folder / "none").string());
  EXPECT_EQ(error_of([] { find_runtime(""); }),
            "ORT_LIBRARY: " + (folder / "none").string() + " does not exist");
}

TEST(FindRuntime, GoesFromTheVariableToThePythonInUse) {
  TemporaryFolder folder;
  const NothingInstalled nothing;
  const fs::path on_path = touch(folder / "usr/lib/python3.11/site-packages" / in_packages);
  touch(folder / "usr/lib/python3.9/site-packages" / in_packages);  // of another Python
  make_executable(folder / "usr/bin/python3.11",
                  "\x7f"
                  "ELF");
  fs::create_symlink("python3.11", folder / "usr/bin/python3");
  const Variable path("PATH", (folder / "empty").string() + ":" + (folder / "usr/bin").string());
  EXPECT_EQ(find_runtime(""), on_path);

  const fs::path active = touch(folder / "venv/lib/python3.12/site-packages" / in_packages);
  const Variable environment("VIRTUAL_ENV", (folder / "venv").string());
  EXPECT_EQ(find_runtime(""), active);

  const fs::path target = touch(folder / "target" / in_packages);
  const Variable packages("PYTHONPATH", (folder / "target").string());
  EXPECT_EQ(find_runtime(""), target);

  const fs::path named = touch(folder / "named/libonnxruntime.so");
  const Variable library("ORT_LIBRARY", named.string());
  EXPECT_EQ(find_runtime(""), named);
  EXPECT_EQ(find_runtime((folder / "target").string()), target);
}

TEST(FindRuntime, KnowsDebiansFoldersAndVirtualEnvironmentsOnPath) {
  TemporaryFolder folder;
  const NothingInstalled nothing;
  make_executable(folder / "usr/bin/python3.11",
                  "\x7f"
                  "ELF");
  fs::create_symlink("python3.11", folder / "usr/bin/python3");
  const fs::path debian = touch(folder / "usr/lib/python3/dist-packages" / in_packages);
  {
    const Variable path("PATH", (folder / "usr/bin").string());
    EXPECT_EQ(find_runtime(""), debian);
  }
  fs::create_directories(folder / "venv/bin");
  write_file(folder / "venv/pyvenv.cfg", "home = somewhere\ninclude-system-site-packages = false\n");
  fs::create_symlink(folder / "usr/bin/python3", folder / "venv/bin/python3");
  const Variable path("PATH", (folder / "venv/bin").string() + ":" + (folder / "usr/bin").string());
  // The environment in use has none, and hides the system's; what is found then is a `.venv` above the build folder or nothing.
  try {
    EXPECT_NE(find_runtime(""), debian);
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("pip install onnxruntime"), std::string::npos);
  }
  const fs::path own = touch(folder / "venv/lib/python3.11/site-packages" / in_packages);
  EXPECT_EQ(find_runtime(""), own);
}

TEST(FindRuntime, AsksAPythonThatIsAScript) {
  TemporaryFolder folder;
  const NothingInstalled nothing;
  make_executable(folder / "real/bin/python3.11",
                  "\x7f"
                  "ELF");
  const fs::path library = touch(folder / "real/lib/python3.11/site-packages" / in_packages);
  make_executable(folder / "shims/python3",
                  "#!/bin/sh\necho " + (folder / "real/bin/python3.11").string() + "\n");
  const Variable path("PATH", (folder / "shims").string());
  EXPECT_EQ(find_runtime(""), library);
}

TEST(FindRuntime, SaysWhatToDoWhenThereIsNone) {
  const NothingInstalled nothing;
  const std::string text = error_of([] { find_runtime(""); });
  // The build folder may lie below a folder with a `.venv`, which is the last place that is looked at.
  if (text != "no error") {
    EXPECT_NE(text.find("pip install onnxruntime"), std::string::npos) << text;
    EXPECT_NE(text.find("--runtime"), std::string::npos) << text;
    EXPECT_NE(text.find("ORT_LIBRARY"), std::string::npos) << text;
  } else {
    EXPECT_NE(find_runtime("").string().find("/.venv/"), std::string::npos);
  }
}

TEST(Runtime, LoadsAndTellsItsVersion) {
  const auto runtime = testing::loaded_runtime();
  EXPECT_TRUE(runtime->version().starts_with("1."));
  EXPECT_GE(runtime->api_version(), 15);
  EXPECT_NE(runtime->environment(), nullptr);
}

TEST(Runtime, SaysWhatIsWrongWithALibrary) {
  TemporaryFolder folder;
  touch(folder / "libonnxruntime.so");
  EXPECT_EQ(error_of([&] { Runtime::load(folder / "libonnxruntime.so"); }),
            (folder / "libonnxruntime.so").string() + ": is not a shared library");
  const fs::path other = fs::path(GRAFT_TEST_LIBRARIES) / "described.so";
  EXPECT_EQ(error_of([&] { Runtime::load(other); }),
            other.string() + ": not an ONNX Runtime library (it exports no OrtGetApiBase)");
}

}  // namespace
}  // namespace graft::runtime
