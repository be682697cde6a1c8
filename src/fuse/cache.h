#pragma once
/// Lets files be kept by the content that they were made of, for this and other runs.
///
///   Cache cache(cache_folder());
///   if (!cache.take(key, "part.o")) { compile("part.o"); cache.keep(key, "part.o"); }
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace graft::fuse {

/// Adds text up to a key of 128 bits, for a file's name.
class Digest {
 public:
  Digest& add(std::string_view text);
  std::string text() const;

 private:
  uint64_t first_ = 0xcbf29ce484222325U;
  uint64_t second_ = 0x9ae16a3b2f90404fU;
};

/// Gives $XDG_CACHE_HOME/graft or ~/.cache/graft; empty when neither is known.
std::filesystem::path cache_folder();

/// Is a folder of such files. Several runs may use it at once: a file appears whole or not at all. One that
/// cannot be written is no error: nothing is kept then.
class Cache {
 public:
  explicit Cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Copies what is kept under the key; false when there is nothing, or not all of it.
  bool take(const std::string& key, const std::filesystem::path& to) const;
  /// Keeps a copy of a file, and removes the files that were not taken for longest when all are more than
  /// `most` bytes.
  void keep(const std::string& key, const std::filesystem::path& from,
            uintmax_t most = uintmax_t(256) << 20) const;

 private:
  void remove_oldest(uintmax_t most) const;

  std::filesystem::path folder_;  ///< empty: nothing is kept
};

}  // namespace graft::fuse
