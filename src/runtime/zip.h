#pragma once
/// Lets you read and write the plain zip archives that numpy's .npz files are (stored or deflated members,
/// zip64 sizes).
///
///   for (const auto& [name, bytes] : read_zip("inputs.npz")) fmt::print("{}: {} bytes\n", name,
///   bytes.size());
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace graft::runtime {

using ZipMembers = std::vector<std::pair<std::string, std::string>>;  // name and content

/// Reads all members, checking their CRC; InputError names the file and what is wrong with it.
ZipMembers read_zip(const std::filesystem::path& file);

/// Writes members uncompressed, each below 4 GiB.
void write_zip(const std::filesystem::path& file, const ZipMembers& members);

}  // namespace graft::runtime
