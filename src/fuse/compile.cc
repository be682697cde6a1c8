#include "fuse/compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <thread>

#include "fuse/cache.h"
#include "fuse/process.h"
#include "runtime/files.h"
#include "runtime/scratch_folder.h"

namespace graft::fuse {
namespace fs = std::filesystem;
namespace {

constexpr const char* kInstall =
    "install one (Debian, Ubuntu: `apt install g++`; Fedora: `dnf install gcc-c++`), or name it with "
    "--compiler or $CXX";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Says what is wrong with a compiler; empty: nothing.
std::string examine(const std::string& program, Compiler& compiler) {
  // The macros say more than --version, which anybody may word as he likes.
  const ProcessResult macros = run_process({program, "-std=c++20", "-dM", "-E", "-x", "c++", "/dev/null"});
  if (macros.exit_code == 127) return "is not there";
  const auto number = [&](const std::string& name) {
    const size_t at = macros.output.find("#define " + name + " ");
    return at == std::string::npos ? 0L : std::atol(macros.output.c_str() + at + name.size() + 9);
  };
  if (macros.exit_code != 0) {
    const bool old = macros.output.find("c++20") != std::string::npos;
    return old ? "does not know C++20: g++ 11 or clang++ 14 is the least" : "does not work as a C++ compiler";
  }
  compiler.program = program;
  compiler.clang = number("__clang__") != 0;
  const std::array<long, 3> version =
      compiler.clang
          ? std::array{number("__clang_major__"), number("__clang_minor__"), number("__clang_patchlevel__")}
          : std::array{number("__GNUC__"), number("__GNUC_MINOR__"), number("__GNUC_PATCHLEVEL__")};
  if (version[0] == 0) return "is neither g++ nor clang++";
  compiler.name =
      fmt::format("{} {}.{}.{}", compiler.clang ? "clang++" : "g++", version[0], version[1], version[2]);
  const long least = compiler.clang ? 14 : 11;
  if (version[0] < least)
    return fmt::format("is {}, too old: {} {} is the least", compiler.name,
                       compiler.clang ? "clang++" : "g++", least);
  compiler.identity = macros.output;
  return "";
}

/// Gives the folder of this program.
fs::path own_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self.parent_path();
}

bool is_sdk(const fs::path& folder) {
  return fs::exists(folder / "include/graft/graft.h") && fs::exists(folder / "cmake/flags.txt");
}

fs::path find_sdk(const CompileOptions& options) {
  const auto required = [](const fs::path& folder, const std::string& who) {
    if (!is_sdk(folder))
      throw InputError(
          fmt::format("{}: {} names it as Graft's SDK, but it has no include/graft/graft.h and "
                      "cmake/flags.txt",
                      folder.string(), who));
    return folder;
  };
  if (!options.sdk.empty()) return required(options.sdk, "--sdk");
  if (const std::string named = variable("GRAFT_SDK"); !named.empty()) return required(named, "GRAFT_SDK");
  const fs::path own = own_folder();
  for (const char* up : {"..", "../share/graft", "../.."}) {
    if (!own.empty() && is_sdk(own / up)) return fs::canonical(own / up);
  }
#if defined(GRAFT_SDK_FOLDER)
  if (is_sdk(GRAFT_SDK_FOLDER)) return GRAFT_SDK_FOLDER;
#endif
  throw InputError(
      "Graft's SDK (include/graft/graft.h and cmake/flags.txt) was not found beside this command: name its "
      "folder with the environment variable GRAFT_SDK");
}

fs::path find_ort_headers(const CompileOptions& options, const fs::path& sdk) {
  const auto has = [](const fs::path& folder) { return fs::exists(folder / "onnxruntime_c_api.h"); };
  if (!options.ort_headers.empty()) {
    if (!has(options.ort_headers))
      throw InputError(fmt::format("{}: has no onnxruntime_c_api.h", options.ort_headers.string()));
    return options.ort_headers;
  }
  std::vector<fs::path> folders;
  if (const std::string root = variable("ONNXRUNTIME_ROOT"); !root.empty()) {
    for (const char* sub : {"include", "include/onnxruntime", "include/onnxruntime/core/session", ""})
      folders.push_back(fs::path(root) / sub);
  }
  folders.push_back(sdk / "include/onnxruntime");
  folders.push_back(sdk / ".cache/onnxruntime/include");
#if defined(GRAFT_ORT_FOLDER)
  folders.emplace_back(GRAFT_ORT_FOLDER);
#endif
  for (const char* prefix : {"/usr/include", "/usr/local/include"}) {
    for (const char* sub : {"onnxruntime", "onnxruntime/core/session", ""})
      folders.push_back(fs::path(prefix) / sub);
  }
  for (const fs::path& folder : folders) {
    if (has(folder)) return folder;
  }
  throw InputError(
      "onnxruntime_c_api.h was not found: install ONNX Runtime's headers (Debian: libonnxruntime-dev), or "
      "set "
      "ONNXRUNTIME_ROOT to an unpacked ONNX Runtime release");
}

/// Reads the flags of these groups in cmake/flags.txt, which graft_add_library reads too.
std::vector<std::string> read_flags(const fs::path& sdk, const std::vector<std::string>& groups) {
  const std::string text = runtime::read_file(sdk / "cmake/flags.txt");
  std::vector<std::string> flags;
  for (const std::string& group : groups) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string word;
      if (!(words >> word) || word != group) continue;
      while (words >> word) {
        if (const size_t at = word.find("@CMAKE@"); at != std::string::npos)
          word.replace(at, 7, (sdk / "cmake").string());
        flags.push_back(word);
      }
    }
  }
  return flags;
}

/// Adds up all files that a compilation reads besides its source and the system's.
std::string digest_of_headers(const fs::path& sdk, const fs::path& ort_headers) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(sdk / "include/graft")) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  for (const char* name : {"entry.cc", "exports.map", "flags.txt"}) files.push_back(sdk / "cmake" / name);
  files.push_back(ort_headers / "onnxruntime_c_api.h");
  std::sort(files.begin(), files.end());
  Digest digest;
  for (const fs::path& file : files) digest.add(file.filename().string()).add(runtime::read_file(file));
  return digest.text();
}

/// Says in one line what the compiler said first, and where.
std::string first_error(const std::string& output) {
  std::istringstream lines(output);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error:") != std::string::npos || line.find("undefined reference") != std::string::npos)
      return line;
    if (first.empty()) first = line;
  }
  return first.empty() ? "it says nothing" : first;
}

/// Replaces the short name that the parts give their lines by the path of the file they are parts of.
std::string with_paths(std::string output, const std::string& shown) {
  if (shown.empty()) return output;
  const std::string name = fs::path(shown).filename().string();
  std::string result;
  for (size_t at = 0; at < output.size();) {
    const bool begins = at == 0 || output[at - 1] == '\n' || output[at - 1] == ' ';
    if (begins && output.compare(at, name.size() + 1, name + ":") == 0) {
      result += shown;
      at += name.size();
    } else {
      result += output[at++];
    }
  }
  return result;
}

struct Job {
  fs::path source;
  fs::path object;
  bool entry = false;
};

/// Compiles the jobs, several at once, and stops at the first that fails.
class Workshop {
 public:
  Workshop(const Compiler& compiler, const CompileOptions& options, const Cache& cache, std::string headers)
      : compiler_(compiler), options_(options), cache_(cache), headers_(std::move(headers)) {
    flags_ = compile_flags(compiler, options, false);
    entry_flags_ = compile_flags(compiler, options, true);
  }

  void run(const std::vector<Job>& jobs, Compiled& compiled) {
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i; !failed_ && (i = next++) < jobs.size();) compile(jobs[i]);
    };
    const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
    const size_t wanted = std::min<size_t>(options_.jobs ? options_.jobs : processors, jobs.size());
    std::vector<std::thread> helpers;
    for (size_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
    if (!error_.empty()) throw CompileError(error_, output_);
    compiled.compiled = compiled_;
    compiled.cached = cached_;
  }

 private:
  void compile(const Job& job) {
    try {
      std::vector<std::string> command{compiler_.program};
      const auto& flags = job.entry ? entry_flags_ : flags_;
      command.insert(command.end(), flags.begin(), flags.end());
      // Paths of headers are no part of the key: where the SDK lies changes nothing.
      Digest digest;
      digest.add(compiler_.identity).add(headers_);
      for (const std::string& flag : flags) {
        if (!flag.starts_with("-I") && flag.find('/') == std::string::npos) digest.add(flag);
      }
      const std::string key = digest.add(runtime::read_file(job.source)).text() + ".o";
      if (options_.use_cache && cache_.take(key, job.object)) {
        ++cached_;
        return;
      }
      command.insert(command.end(), {"-c", job.source.string(), "-o", job.object.string()});
      const ProcessResult result = run_process(command);
      ++compiled_;
      if (result.exit_code != 0) return fail(result, job.source.string());
      if (options_.use_cache) cache_.keep(key, job.object);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      if (!failed_.exchange(true)) error_ = error.what();
    }
  }

  void fail(const ProcessResult& result, const std::string& source) {
    const std::lock_guard lock(mutex_);
    if (failed_.exchange(true)) return;
    output_ = with_paths(result.output, options_.shown_source);
    error_ = result.exit_code >= 128
                 ? fmt::format("{}: {} was ended by signal {}",
                               options_.shown_source.empty() ? source : options_.shown_source, compiler_.name,
                               result.exit_code - 128)
                 : fmt::format("{} ({})", first_error(output_), compiler_.name);
  }

  const Compiler& compiler_;
  const CompileOptions& options_;
  const Cache& cache_;
  std::string headers_;
  std::vector<std::string> flags_;
  std::vector<std::string> entry_flags_;
  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  std::atomic<int> compiled_ = 0;
  std::atomic<int> cached_ = 0;
  std::string error_;
  std::string output_;
};

}  // namespace

Compiler find_compiler(const std::string& wanted) {
  std::vector<std::string> programs;
  if (!wanted.empty()) {
    programs = {wanted};
  } else {
    if (const std::string named = variable("CXX"); !named.empty()) programs.push_back(named);
    programs.insert(programs.end(), {"c++", "g++", "clang++"});
  }
  std::string tried;
  for (const std::string& program : programs) {
    Compiler compiler;
    const std::string fault = examine(program, compiler);
    if (fault.empty()) return compiler;
    tried += (tried.empty() ? "" : ", ") + fmt::format("{} {}", program, fault);
  }
  throw InputError(fmt::format("no C++ compiler was found: {}; {}", tried, kInstall));
}

std::vector<std::string> compile_flags(const Compiler& compiler, const CompileOptions& options, bool entry) {
  const fs::path sdk = find_sdk(options);
  std::vector<std::string> flags{"-std=c++20",
                                 "-DNDEBUG",
                                 "-fPIC",
                                 "-fvisibility=hidden",
                                 "-fvisibility-inlines-hidden",
                                 "-DGRAFT_SEPARATE_ENTRY",
                                 "-I" + (sdk / "include").string(),
                                 "-isystem",
                                 find_ort_headers(options, sdk).string()};
  std::vector<std::string> groups{"library", "loops", compiler.clang ? "clang" : "gnu"};
  if (entry) groups.emplace_back("entry");
  const std::vector<std::string> read = read_flags(sdk, groups);
  flags.insert(flags.end(), read.begin(), read.end());
  return flags;
}

std::vector<std::string> link_flags(const CompileOptions& options) {
  std::vector<std::string> flags{"-shared", "-fPIC"};
  const std::vector<std::string> read = read_flags(find_sdk(options), {"link"});
  flags.insert(flags.end(), read.begin(), read.end());
  return flags;
}

Compiled compile_library(const std::vector<fs::path>& sources, const fs::path& library,
                         const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Compiler compiler = find_compiler(options.compiler);
  const fs::path sdk = find_sdk(options);
  const fs::path ort_headers = find_ort_headers(options, sdk);
  const Cache cache(options.use_cache ? (options.cache_folder.empty() ? cache_folder() : options.cache_folder)
                                      : fs::path());
  const runtime::ScratchFolder scratch;

  std::vector<Job> jobs;
  for (size_t i = 0; i < sources.size(); ++i)
    jobs.push_back({sources[i], scratch.path() / fmt::format("{}.o", i), false});
  jobs.push_back({sdk / "cmake/entry.cc", scratch.path() / "entry.o", true});
  Compiled compiled;
  Workshop(compiler, options, cache, digest_of_headers(sdk, ort_headers)).run(jobs, compiled);

  std::vector<std::string> command{compiler.program};
  for (const Job& job : jobs) command.push_back(job.object.string());
  const std::vector<std::string> flags = link_flags(options);
  command.insert(command.end(), flags.begin(), flags.end());
  const fs::path beside = library.string() + fmt::format(".{}.new", getpid());
  command.insert(command.end(), {"-o", beside.string()});
  const ProcessResult linked = run_process(command);
  std::error_code error;
  if (linked.exit_code != 0) {
    fs::remove(beside, error);
    throw CompileError(fmt::format("{}: linking failed: {} ({})", library.string(),
                                   first_error(linked.output), compiler.name),
                       linked.output);
  }
  fs::rename(beside, library, error);
  if (error) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    throw InputError(fmt::format("{}: cannot be written: {}", library.string(), error.message()));
  }
  compiled.compiler = compiler.name;
  compiled.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return compiled;
}

}  // namespace graft::fuse
