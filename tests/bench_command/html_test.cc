#include "report/html.h"

#include <gtest/gtest.h>

#include "report/chart.h"

namespace graft::report {
namespace {

TEST(Html, EscapesWhatMarkupMeans) {
  EXPECT_EQ(escape("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(escape("卷积 µs 🙂"), "卷积 µs 🙂");
}

TEST(Html, WhatNoXmlMayHoldBecomesAQuestionMark) {
  EXPECT_EQ(escape(std::string("a\0b\x1b\x7f\tc", 7)), "a?b??\tc");
  for (const char* wrong :
       {"\xff", "\xc0\x80", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xef\xbf\xbf"}) {
    const std::string escaped = escape(wrong);
    EXPECT_EQ(escaped, std::string(escaped.size(), '?')) << wrong;
    EXPECT_GE(escaped.size(), 1u);
  }
}

TEST(Html, CellsAreEscapedAndFilledUp) {
  HtmlTable table({"<a>", "b"}, {Align::left, Align::right});
  table.add({"&"});
  EXPECT_NE(table.text().find("<th>&lt;a&gt;</th><th class=\"right\">b</th>"), std::string::npos);
  EXPECT_NE(table.text().find("<td>&amp;</td><td class=\"right\"></td>"), std::string::npos);
}

/// Gives the attribute's figures in order.
std::vector<double> figures(const std::string& svg, const std::string& attribute) {
  std::vector<double> found;
  for (size_t at = svg.find(attribute); at != std::string::npos; at = svg.find(attribute, at + 1))
    found.push_back(std::stod(svg.substr(at + attribute.size())));
  return found;
}

TEST(Chart, BarsAreAsLongAsTheirFigures) {
  const std::string svg =
      bar_chart({{"a<b", "1", {{1, "a"}}}, {"c", "4", {{4, "b"}}}}, {"title", {"ms"}, {}});
  const std::vector<double> widths = figures(svg, "\" width=\"");
  ASSERT_EQ(widths.size(), 2u);
  EXPECT_NEAR(widths[1] / widths[0], 4, 0.01);
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
}

TEST(Chart, ALogarithmicAxisHasNoBarForNothing) {
  const std::string svg =
      bar_chart({{"zero", "0", {{0, "a"}}}, {"some", "1e-6", {{1e-6, "a"}}}}, {"title", {"", true}, {}});
  EXPECT_EQ(figures(svg, "\" width=\"").size(), 1u);
}

TEST(Chart, PointsLieInOrderWithinTheAxes) {
  Plot plot({"x", true}, {"y", true});
  plot.add_point({1e3, 1e-3, "a", "<one>"});
  plot.add_point({1e6, 1, "b", ""});
  plot.add_point({0, 1, "b", ""});
  plot.add_curve({{1e3, 1e-3}, {1e5, 1e-1}, {1e9, 1e3}});
  const std::string svg = plot.svg("title");
  const auto x = figures(svg, "cx=\""), y = figures(svg, "cy=\"");
  ASSERT_EQ(x.size(), 2u) << "0 has no place on a logarithmic axis";
  EXPECT_LT(x[0], x[1]);
  EXPECT_GT(y[0], y[1]) << "SVG counts downwards";
  EXPECT_NE(svg.find("&lt;one&gt;"), std::string::npos);
}

TEST(Chart, NothingToShowIsStillAChart) {
  EXPECT_NE(Plot({"x", true}, {"y"}).svg("empty").find("</svg>"), std::string::npos);
  EXPECT_NE(bar_chart({}, {"empty"}).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace graft::report
