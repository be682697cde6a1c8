#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/runtime.h"

extern char** environ;

namespace graft::runtime {
namespace fs = std::filesystem;
namespace {

constexpr const char* cure =
    "run `pip install onnxruntime`, or name the library or the folder that holds it with --runtime or "
    "ORT_LIBRARY";

/// Keeps what the search met, for the message when it finds nothing.
struct Search {
  std::string
      met_without_library;  // an onnxruntime package so old that its library is inside the Python module
};

bool is_library_name(const std::string& name) {
  return name.starts_with("libonnxruntime.so") ||
         (name.starts_with("libonnxruntime.") && name.ends_with(".dylib"));
}

std::optional<fs::path> library_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (is_library_name(entry.path().filename().string())) found.push_back(entry.path());
  }
  if (found.empty()) return {};
  return *std::min_element(found.begin(), found.end());
}

/// Looks into a folder of Python packages.
std::optional<fs::path> library_in_packages(const fs::path& packages, Search& search) {
  const fs::path capi = packages / "onnxruntime" / "capi";
  if (auto library = library_in(capi)) return library;
  std::error_code error;
  if (search.met_without_library.empty() && fs::exists(capi / "_pybind_state.py", error)) {
    search.met_without_library = (packages / "onnxruntime").string();
  }
  return {};
}

/// Looks into lib/python3.*/site-packages and its relatives below an installation prefix or a virtual
/// environment. `version`, such as "python3.11", keeps to one Python; empty takes any.
std::optional<fs::path> library_in_prefix(const fs::path& prefix, const std::string& version,
                                          Search& search) {
  std::error_code error;
  for (const fs::path& lib : {prefix / "lib", prefix / "lib64", prefix / "local" / "lib"}) {
    std::vector<fs::path> pythons;
    for (const auto& entry : fs::directory_iterator(lib, error)) {
      const std::string name = entry.path().filename().string();
      const bool fits =
          version.empty() ? name.starts_with("python3") : (name == version || name == "python3");
      if (fits) pythons.push_back(entry.path());
    }
    std::sort(pythons.rbegin(), pythons.rend());
    for (const fs::path& python : pythons) {
      for (const char* packages : {"site-packages", "dist-packages"}) {
        if (auto library = library_in_packages(python / packages, search)) return library;
      }
    }
  }
  return {};
}

std::optional<fs::path> library_in_folder(const fs::path& folder, Search& search) {
  for (const fs::path& place : {folder, folder / "capi", folder / "lib"}) {
    if (auto library = library_in(place)) return library;
  }
  if (auto library = library_in_packages(folder, search)) return library;
  return library_in_prefix(folder, "", search);
}

/// Resolves a path that the user gave, by --runtime or in ORT_LIBRARY.
fs::path library_given(const std::string& given, const std::string& source) {
  std::error_code error;
  if (!fs::exists(given, error)) throw InputError(fmt::format("{}: {} does not exist", source, given));
  if (!fs::is_directory(given, error)) return given;
  Search search;
  if (auto library = library_in_folder(given, search)) return *library;
  if (!search.met_without_library.empty()) {
    throw InputError(
        fmt::format("{}: {} is an onnxruntime package without libonnxruntime.so (its library is part of the "
                    "Python module); give one of version 1.19 or newer",
                    source, search.met_without_library));
  }
  throw InputError(fmt::format(
      "{}: no libonnxruntime.so* in {}, nor in its onnxruntime/capi or lib/python3.*/site-packages "
      "(`pip install --target FOLDER onnxruntime` fills a folder)",
      source, given));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

bool is_executable(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

std::optional<fs::path> first_on_path(const char* name) {
  for (const std::string& folder : split(variable("PATH"), ':')) {
    if (is_executable(fs::path(folder) / name)) return fs::path(folder) / name;
  }
  return {};
}

bool is_script(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  char start[2] = {};
  return stream.read(start, 2) && start[0] == '#' && start[1] == '!';
}

/// Asks a `python` that is a script, as pyenv and conda-exec put on PATH, which interpreter it stands for.
std::optional<fs::path> interpreter_behind(const fs::path& script) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string path = script.string();
  std::string arguments[] = {path, "-S", "-E", "-c", "import sys; print(sys.executable)"};
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t child = 0;
  const bool started = posix_spawn(&child, path.c_str(), &actions, nullptr, words.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string answer;
  if (started) {
    pollfd waiting{ends[0], POLLIN, 0};
    char buffer[512];
    while (poll(&waiting, 1, 2000) > 0) {
      const ssize_t size = read(ends[0], buffer, sizeof buffer);
      if (size <= 0) break;
      answer.append(buffer, static_cast<size_t>(size));
    }
  }
  close(ends[0]);
  if (started) {
    kill(child, SIGKILL);  // it has answered, or it hangs
    waitpid(child, nullptr, 0);
  }
  while (!answer.empty() && answer.back() == '\n') answer.pop_back();
  if (!is_executable(answer) || is_script(answer)) return {};
  return answer;
}

bool uses_system_packages(const fs::path& configuration) {
  std::ifstream stream(configuration);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("include-system-site-packages")) return line.find("true") != std::string::npos;
  }
  return false;
}

/// Looks where the interpreter would: its virtual environment, its own installation, the user's packages.
std::optional<fs::path> library_of_interpreter(const fs::path& interpreter, Search& search) {
  std::error_code error;
  const fs::path environment = interpreter.parent_path().parent_path();
  const fs::path configuration = environment / "pyvenv.cfg";
  if (fs::exists(configuration, error)) {
    if (auto library = library_in_prefix(environment, "", search)) return library;
    if (!uses_system_packages(configuration)) return {};
  }
  const fs::path real = fs::canonical(interpreter, error);
  if (error) return {};
  const std::string version = real.filename().string();  // "python3.11"
  const std::string home = variable("HOME");
  if (!home.empty()) {
    if (auto library = library_in_prefix(fs::path(home) / ".local", version, search)) return library;
  }
  const fs::path prefix = real.parent_path().parent_path();
  if (auto library = library_in_prefix(prefix, version, search)) return library;
  return {};
}

std::optional<fs::path> library_of_python(Search& search) {
  for (const std::string& folder : split(variable("PYTHONPATH"), ':')) {
    if (auto library = library_in_packages(folder, search)) return library;
  }
  const std::string environment = variable("VIRTUAL_ENV");
  if (!environment.empty()) {
    if (auto library = library_in_prefix(environment, "", search)) return library;
  }
  fs::path asked;  // the folder of a script that was asked, which takes a tenth of a second
  for (const char* name : {"python3", "python"}) {
    const std::optional<fs::path> file = first_on_path(name);
    if (!file) continue;
    std::optional<fs::path> interpreter = file;
    if (is_script(*file)) {
      if (file->parent_path() == asked) continue;  // python beside python3 is the same one
      asked = file->parent_path();
      interpreter = interpreter_behind(*file);
    }
    if (!interpreter) continue;
    if (auto library = library_of_interpreter(*interpreter, search)) return library;
  }
  return {};
}

std::optional<fs::path> library_beside_executable(Search& search) {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error);
  while (!error && folder.has_relative_path()) {
    folder = folder.parent_path();
    if (auto library = library_in_prefix(folder / ".venv", "", search)) return library;
  }
  return {};
}

}  // namespace

fs::path find_runtime(const std::string& given) {
  if (!given.empty()) return library_given(given, "--runtime");
  const std::string named = variable("ORT_LIBRARY");
  if (!named.empty()) return library_given(named, "ORT_LIBRARY");
  Search search;
  if (auto library = library_of_python(search)) return *library;
  if (auto library = library_beside_executable(search)) return *library;
  if (!search.met_without_library.empty()) {
    throw InputError(fmt::format(
        "no ONNX Runtime library found: {} is too old to hold one (those of 1.19 and newer do); {}",
        search.met_without_library, cure));
  }
  throw InputError(fmt::format("no ONNX Runtime library found; {}", cure));
}

}  // namespace graft::runtime
