#include "runtime/math_calls.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>

namespace graft::runtime {
namespace {

constexpr std::array names = {"acos",  "acosh", "asin",   "asinh", "atan",  "atan2",  "atanh", "cbrt",  "cos",   "cosh",
                              "erf",   "erfc",  "exp",    "exp2",  "expm1", "fmod",   "hypot", "lgamma", "log",  "log10",
                              "log1p", "log2",  "pow",    "remainder", "sin", "sincos", "sinh", "tan",  "tanh",  "tgamma"};

bool is_math(std::string_view symbol) {
  const auto is = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (is(symbol)) return true;
  return !symbol.empty() && (symbol.back() == 'f' || symbol.back() == 'l') && is(symbol.substr(0, symbol.size() - 1));
}

/// Reads an array of T at an offset; empty when the file ends before.
template <class T> std::vector<T> read_array(std::ifstream& stream, uint64_t offset, uint64_t count) {
  std::vector<T> items(count);
  stream.clear();
  stream.seekg(static_cast<std::streamoff>(offset));
  if (!stream.read(reinterpret_cast<char*>(items.data()), static_cast<std::streamsize>(count * sizeof(T)))) return {};
  return items;
}

}  // namespace

std::vector<std::string> math_calls(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Elf64_Ehdr header;
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(file, error);
  if (error || !stream.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return {};

  std::set<std::string> found;
  const auto sections = read_array<Elf64_Shdr>(stream, header.e_shoff, header.e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    if (section.sh_size > size || strings.sh_size > size) return {};
    const auto text = read_array<char>(stream, strings.sh_offset, strings.sh_size);
    for (const Elf64_Sym& symbol : read_array<Elf64_Sym>(stream, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (symbol.st_shndx != SHN_UNDEF || symbol.st_name >= text.size()) continue;
      const char* name = text.data() + symbol.st_name;
      const std::string_view view(name, strnlen(name, text.size() - symbol.st_name));
      if (is_math(view)) found.emplace(view);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace graft::runtime
