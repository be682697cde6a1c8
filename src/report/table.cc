#include "report/table.h"

#include <algorithm>

namespace graft::report {
namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

}  // namespace

Table::Table(std::vector<std::string> heads, std::vector<Align> aligns) : aligns_(std::move(aligns)) {
  rows_.push_back(std::move(heads));
}

void Table::add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::text() const {
  std::vector<size_t> widths(aligns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], width_of(row[column]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t column = 0; column < row.size(); ++column) {
      const std::string padding(widths[column] - width_of(row[column]), ' ');
      if (column) line += "  ";
      line += aligns_[column] == Align::right ? padding + row[column] : row[column] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string printable(const std::string& name, size_t most) {
  std::vector<std::string> characters;
  for (const char c : name) {
    if (starts_character(c) || characters.empty()) characters.emplace_back();
    const auto byte = static_cast<unsigned char>(c);
    characters.back() += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  std::string text;
  const bool cut = characters.size() > most;
  for (size_t at = 0; at < characters.size(); ++at) {
    if (cut && at == most / 2) {
      text += "...";
      at += characters.size() - most + 3;
    }
    if (at < characters.size()) text += characters[at];
  }
  return text;
}

std::string joined_lines(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c != '\n') {
      line += c;
    } else if (!line.empty() && !line.ends_with("; ")) {
      line += "; ";
    }
  }
  while (line.ends_with("; ")) line.resize(line.size() - 2);
  return line;
}

std::string counted(long count, const std::string& noun) {
  std::string text = std::to_string(count) + " " + noun;
  if (count != 1) text += noun.ends_with("s") ? "es" : "s";
  return text;
}

}  // namespace graft::report
