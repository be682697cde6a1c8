#include "fuse/cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/files.h"

namespace graft::fuse {
namespace fs = std::filesystem;

/// Is how many characters a digest has: it stands before what is kept.
constexpr size_t kDigits = 32;

Digest& Digest::add(std::string_view text) {
  const auto mix = [](uint64_t hash, uint64_t value, uint64_t factor) {
    hash = (hash ^ value) * factor;
    return hash ^ (hash >> 32);
  };
  for (const char c : text) {
    first_ = mix(first_, static_cast<unsigned char>(c), 0x100000001b3U);
    second_ = mix(second_, static_cast<unsigned char>(c), 0x9e3779b97f4a7c15U);
  }
  first_ = mix(first_, text.size(), 0x100000001b3U);  // "ab", "c" is not "a", "bc"
  second_ = mix(second_, text.size() + 1, 0x9e3779b97f4a7c15U);
  return *this;
}

std::string Digest::text() const { return fmt::format("{:016x}{:016x}", first_, second_); }

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fs::path(cache) / "graft";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache" / "graft";
  return {};
}

bool Cache::take(const std::string& key, const fs::path& to) const {
  if (folder_.empty()) return false;
  const fs::path kept = folder_ / key;
  std::ifstream stream(kept, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  // A full disk may cut a file, and an empty one is an object to the linker.
  if (!stream || bytes.size() < kDigits ||
      Digest().add(std::string_view(bytes).substr(kDigits)).text() != bytes.substr(0, kDigits))
    return false;
  runtime::write_file(to, std::string_view(bytes).substr(kDigits));
  std::error_code ignored;
  fs::last_write_time(kept, fs::file_time_type::clock::now(), ignored);
  return true;
}

void Cache::keep(const std::string& key, const fs::path& from, uintmax_t most) const {
  if (folder_.empty()) return;
  static std::atomic<int> count = 0;
  std::error_code error;
  fs::create_directories(folder_, error);
  const fs::path beside = folder_ / fmt::format("{}.{}.{}", key, getpid(), count++);
  const std::string bytes = runtime::read_file(from);
  std::ofstream stream(beside, std::ios::binary);
  stream << Digest().add(bytes).text() << bytes;
  stream.close();
  if (stream) fs::rename(beside, folder_ / key, error);
  if (!stream || error) fs::remove(beside, error);
  remove_oldest(most);
}

void Cache::remove_oldest(uintmax_t most) const {
  struct Kept {
    fs::path path;
    uintmax_t bytes;
    fs::file_time_type used;
  };
  std::vector<Kept> files;
  uintmax_t all = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    Kept file{at->path(), at->file_size(gone), {}};
    if (gone) continue;
    file.used = at->last_write_time(gone);
    if (gone) continue;
    all += file.bytes;
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& file : files) {
    if (all <= most) return;
    fs::remove(file.path, error);
    all -= std::min(all, file.bytes);
  }
}

}  // namespace graft::fuse
