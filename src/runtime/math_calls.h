#pragma once
/// Lets you see which functions of the C math library a library calls. A loop around such a call does not widen.
///
///   for (const std::string& name : math_calls("libmy_ops.so")) fmt::print("{}\n", name);  // tanhf
#include <filesystem>
#include <string>
#include <vector>

namespace graft::runtime {

/// Lists the math functions that a 64-bit ELF library imports, sorted; empty for other kinds of files.
std::vector<std::string> math_calls(const std::filesystem::path& file);

}  // namespace graft::runtime
