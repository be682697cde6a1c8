#pragma once
/// Lets a report line up its columns, whatever alphabet the names are in.
///
///   Table table({"operator", "places"}, {Align::left, Align::right});
///   table.add({"graft:HardSwish", "24"});
///   fmt::print("{}", table.text());
#include <string>
#include <vector>

namespace graft::report {

enum class Align { left, right };

class Table {
 public:
  Table(std::vector<std::string> heads, std::vector<Align> aligns);

  /// Adds a row; cells that are missing stay empty.
  void add(std::vector<std::string> cells);

  bool empty() const { return rows_.size() <= 1; }

  /// Writes the rows, two spaces between columns, each line ended.
  std::string text() const;

 private:
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Makes a name fit to print: control characters become `?`, and what is longer than `most` characters is cut
/// in the middle.
std::string printable(const std::string& name, size_t most = 60);

/// Puts a text of several lines on one, with `; ` between them.
std::string joined_lines(const std::string& text);

/// Says "1 place", "2 places".
std::string counted(long count, const std::string& noun);

}  // namespace graft::report
