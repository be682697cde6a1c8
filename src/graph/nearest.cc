#include "graph/nearest.h"

#include <algorithm>
#include <cctype>

namespace graft::graph {
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
  std::vector<std::vector<size_t>> table(one.size() + 1, std::vector<size_t>(other.size() + 1));
  for (size_t i = 0; i <= one.size(); ++i) table[i][0] = i;
  for (size_t j = 0; j <= other.size(); ++j) table[0][j] = j;
  for (size_t i = 1; i <= one.size(); ++i) {
    for (size_t j = 1; j <= other.size(); ++j) {
      const size_t changed = table[i - 1][j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (swapped) table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  }
  return table[one.size()][other.size()];
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

}  // namespace graft::graph
