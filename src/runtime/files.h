#pragma once
/// Lets you read and write whole files, with errors that name the file.
///
///   std::string bytes = read_file("model.onnx");
#include <filesystem>
#include <string>
#include <string_view>

namespace graft::runtime {

/// Reads a whole file; InputError names the file and the cause (missing, a folder, not readable).
std::string read_file(const std::filesystem::path& file);

/// Writes a whole file; InputError names the file and the cause.
void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace graft::runtime
