#include "runtime/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "error.h"

namespace graft::runtime {

std::string read_file(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw InputError(fmt::format("{}: is a folder, not a file", file.string()));
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw InputError(fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) throw InputError(fmt::format("{}: cannot be read to its end", file.string()));
  return bytes;
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream)
    throw InputError(fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
}

}  // namespace graft::runtime
