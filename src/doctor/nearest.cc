#include "doctor/nearest.h"

#include <algorithm>
#include <cctype>

namespace graft::doctor {
namespace {

/// Drops what people spell differently: case, underscores, hyphens.
std::string plain(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_' && c != '-') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

}  // namespace

size_t distance(const std::string& one, const std::string& other) {
  std::vector<size_t> row(other.size() + 1);
  for (size_t at = 0; at <= other.size(); ++at) row[at] = at;
  for (size_t i = 1; i <= one.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= other.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (one[i - 1] == other[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[other.size()];
}

std::string nearest(const std::string& name, const std::vector<std::string>& names) {
  const std::string letters = plain(name);
  std::string found;
  size_t least = std::max<size_t>(1, letters.size() / 3) + 1;
  for (const std::string& other : names) {
    if (other == name) continue;
    const size_t changes = distance(letters, plain(other));
    if (changes < least) {
      least = changes;
      found = other;
    }
  }
  return found;
}

}  // namespace graft::doctor
