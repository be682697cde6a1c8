#pragma once
/// Lets you say in words why a file cannot be loaded as a shared library.
///
///   throw InputError(explain_load_failure("libmy_ops.so", dlerror()));
#include <filesystem>
#include <string>

namespace graft::runtime {

/// Explains a failed dlopen of `file`, in one line that opens with the file: missing, a folder, empty, not a
/// shared library, for another machine, a dependency missing (named), a symbol undefined (named), or else
/// what the loader said.
std::string explain_load_failure(const std::filesystem::path& file, const std::string& loader_text);

}  // namespace graft::runtime
