#pragma once
/// Lets a report become one HTML page that needs no script and no network, readable on a phone and in the
/// dark.
///
///   HtmlTable table({"operator", "time (ms)"}, {Align::left, Align::right});
///   table.add({"graft:HardSwish", "1.2"});
///   std::string page = html_page("Speed", html_section("Operators", "", table.text()));
#include <string>
#include <vector>

#include "report/table.h"

namespace graft::report {

/// Writes a text so that HTML and XML show it as it is; characters that neither may hold become `?`.
std::string escape(const std::string& text);

/// Writes a table that scrolls inside its own box when it is wider than the screen.
class HtmlTable {
 public:
  HtmlTable(std::vector<std::string> heads, std::vector<Align> aligns);

  /// Adds a row; cells are escaped, those that are missing stay empty.
  void add(const std::vector<std::string>& cells);

  /// Lets the last column break its lines, where the others make the table wide.
  void wrap_last() { wrap_last_ = true; }

  std::string text() const;

 private:
  bool wrap_last_ = false;
  std::vector<Align> aligns_;
  std::string head_, body_;
};

/// Writes a part of the page under a heading; `explanation` is text, `content` is HTML.
std::string html_section(const std::string& heading, const std::string& explanation,
                         const std::string& content);

/// Writes one figure that stands out, with a line on what it is and one on how sure it is.
std::string html_tile(const std::string& name, const std::string& figure, const std::string& note);

/// Writes a box that the eye should stop at.
std::string html_notice(const std::string& text);

/// Writes the whole page around its parts.
std::string html_page(const std::string& title, const std::string& content);

}  // namespace graft::report
