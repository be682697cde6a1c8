#pragma once
/// Lets C++ be compiled to an operator library where a compiler is, with the flags of graft_add_library.
///
///   Compiled done = compile_library({"fused.cc"}, "libfused.so", {});
///   fmt::print("{} took {:.1f} s\n", done.compiler, done.seconds);
///
/// What was compiled before, by the same compiler and SDK, comes out of a cache by its content.
#include <filesystem>
#include <string>
#include <vector>

#include "error.h"

namespace graft::fuse {

struct CompileOptions {
  std::string compiler;                ///< a program, found on PATH too; empty: $CXX, then c++, g++, clang++
  std::filesystem::path sdk;           ///< folder with include/ and cmake/; empty: looked for
  std::filesystem::path ort_headers;   ///< folder of onnxruntime_c_api.h; empty: looked for
  std::filesystem::path cache_folder;  ///< empty: $XDG_CACHE_HOME/graft or ~/.cache/graft
  bool use_cache = true;
  unsigned jobs = 0;  ///< compilers at once; 0: as many as processors
  std::string
      shown_source;  ///< when the sources are parts of one file: its path, for messages (see write_parts)
};

struct Compiled {
  std::string compiler;  ///< "g++ 12.2.0"
  double seconds = 0;
  int compiled = 0;  ///< files that a compiler was run for
  int cached = 0;    ///< files that were there already
};

/// Says that the compiler refused a source: what() is its first error in one line, `output` all that it
/// printed.
struct CompileError : InputError {
  CompileError(const std::string& text, std::string all) : InputError(text), output(std::move(all)) {}
  std::string output;
};

/// Compiles the sources and links them as an operator library. InputError says what is missing and how to get
/// it; then, and after a CompileError, nothing is left behind, and a library that was there is untouched.
Compiled compile_library(const std::vector<std::filesystem::path>& sources,
                         const std::filesystem::path& library, const CompileOptions& options);

/// Is a compiler that was found.
struct Compiler {
  std::string program;  ///< path or name
  std::string name;     ///< "g++ 12.2.0"
  bool clang = false;
  std::string identity;  ///< all that it says of itself
};

/// Finds a compiler that knows enough of C++20; InputError says which were tried, and what to install.
Compiler find_compiler(const std::string& wanted);

/// Gives the command line that compiles a source (`entry`: of the SDK's entry points) without -c and -o, then
/// the one that links, both without file names of their own.
std::vector<std::string> compile_flags(const Compiler& compiler, const CompileOptions& options, bool entry);
std::vector<std::string> link_flags(const CompileOptions& options);

}  // namespace graft::fuse
