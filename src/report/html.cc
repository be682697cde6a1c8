#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

namespace graft::report {
namespace {

/// Colours stand in variables, so that dark and light differ in one place. `a` is the first model, `b` the
/// second.
constexpr const char* style = R"(
:root { color-scheme: light dark; --page: #f4f5f7; --card: #ffffff; --ink: #16202c; --soft: #5a6675; --line: #dde2e8;
  --a: #2563b8; --b: #c4540a; --good: #18794e; --warn: #8a5a00; --warn-back: #fff4d6; }
@media (prefers-color-scheme: dark) { :root { --page: #12161b; --card: #1b2128; --ink: #e8ecf1; --soft: #a0abb8; --line: #323b46;
  --a: #6aa9f7; --b: #f39a55; --good: #5fcf9a; --warn: #f3cd7a; --warn-back: #3a2f14; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0 0 4px; overflow-wrap: anywhere; }
p { margin: 0 0 12px; overflow-wrap: anywhere; }
.verdict { font-size: 1.15rem; }
p.soft, section > p { color: var(--soft); font-size: .9rem; }
.grid { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); margin-top: 16px; }
.tiles { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); margin-top: 16px; }
section, .tile, .notice { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px; min-width: 0; }
main > section { margin-top: 16px; }
.tile b { display: block; font-size: 1.6rem; line-height: 1.25; font-weight: 650; }
.tile span { display: block; text-wrap: balance; color: var(--soft); font-size: .85rem; }
.notice { margin-top: 16px; color: var(--warn); background: var(--warn-back); border-color: var(--warn); overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 10px; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
.wrap td:last-child { white-space: normal; overflow-wrap: anywhere; }
th.right, td.right { text-align: right; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--card); padding-left: 0; }
tbody tr:last-child td { border-bottom: 0; }
svg + .scroll { margin-top: 12px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 13px; }
svg text.soft { fill: var(--soft); }
svg .rule { stroke: var(--line); stroke-width: 1; }
svg .mark { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .whisker { stroke: var(--ink); stroke-width: 1.5; }
svg .curve { fill: none; stroke: var(--ink); stroke-width: 2; }
svg .bar.a, svg .dot.a { fill: var(--a); } svg .bar.b, svg .dot.b { fill: var(--b); } svg .bar.good { fill: var(--good); }
svg .bar.soft { fill: var(--soft); }
svg .dot { fill-opacity: .55; }
.key { display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: .9rem; color: var(--soft); margin-bottom: 8px; }
.key span { overflow-wrap: anywhere; min-width: 0; }
.key i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; vertical-align: -1px; }
.key i.a { background: var(--a); } .key i.b { background: var(--b); } .key i.curve { height: 3px; background: var(--ink); vertical-align: 4px; }
@media (max-width: 600px) { main { padding: 16px 12px 32px; } section, .tile, .notice { padding: 12px; } svg text { font-size: 17px; }
  .tiles { grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); } .tile b { font-size: 1.35rem; }
  .tile:last-child:nth-child(odd) { grid-column: 1 / -1; } }
)";

/// Gives the length of the UTF-8 character that begins here; 0 when none does.
size_t character_length(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond =
      (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);           // surrogates, U+110000
  const bool no_character = first == 0xef && second == 0xbf && byte(at + 2) >= 0xbe;  // U+FFFE, U+FFFF
  return overlong || beyond || no_character ? 0 : length;
}

std::string cell(const char* tag, Align align, const std::string& text) {
  return fmt::format("<{0}{1}>{2}</{0}>", tag, align == Align::right ? " class=\"right\"" : "", escape(text));
}

}  // namespace

std::string escape(const std::string& text) {
  std::string escaped;
  for (size_t at = 0; at < text.size();) {
    const size_t length = character_length(text, at);
    const char c = text[at];
    if (length == 0 ||
        (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) && c != '\n' && c != '\t')) {
      escaped += '?';
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else {
      escaped.append(text, at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  return escaped;
}

HtmlTable::HtmlTable(std::vector<std::string> heads, std::vector<Align> aligns) : aligns_(std::move(aligns)) {
  for (size_t i = 0; i < heads.size(); ++i) head_ += cell("th", aligns_[i], heads[i]);
}

void HtmlTable::add(const std::vector<std::string>& cells) {
  body_ += "<tr>";
  for (size_t i = 0; i < aligns_.size(); ++i)
    body_ += cell("td", aligns_[i], i < cells.size() ? cells[i] : "");
  body_ += "</tr>\n";
}

std::string HtmlTable::text() const {
  return fmt::format(
      "<div class=\"scroll\" "
      "tabindex=\"0\"><table{}>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      wrap_last_ ? " class=\"wrap\"" : "", head_, body_);
}

std::string html_section(const std::string& heading, const std::string& explanation,
                         const std::string& content) {
  return fmt::format("<section>\n<h2>{}</h2>\n{}{}</section>\n", escape(heading),
                     explanation.empty() ? "" : "<p>" + escape(explanation) + "</p>\n", content);
}

std::string html_tile(const std::string& name, const std::string& figure, const std::string& note) {
  return fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b><span>{}</span></div>\n", escape(name),
                     escape(figure), escape(note));
}

std::string html_notice(const std::string& text) {
  return "<div class=\"notice\">" + escape(text) + "</div>\n";
}

std::string html_page(const std::string& title, const std::string& content) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
      "<link rel=\"icon\" href=\"data:,\" />\n"  // keeps browsers from asking for one
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
      escape(title), style, content);
}

}  // namespace graft::report
