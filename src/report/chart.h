#pragma once
/// Lets a page show figures: bars, and points over two axes, as SVG whose colours are the page's own
/// (html.h).
///
///   std::string chart = bar_chart({{"HardSwish", "4.1x", {{4.1, "a"}}}}, {.title = "Speed-up", .mark = 1});
///   Plot plot({"bytes moved", true}, {"time (ms)", true});
///   plot.add_point({4096, 0.01, "a", "Add_3"});
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace graft::report {

/// Writes a figure at an axis.
using TickText = std::function<std::string(double)>;

struct Axis {
  std::string label;  ///< with its unit
  bool logarithmic = false;
  TickText tick = {};  ///< none: the shortest decimal
};

/// Groups bars under one label; `text` says their figures in words, at the label's right.
struct BarGroup {
  struct Bar {
    double value = 0;
    std::string style;  ///< "a", "b", "good", "soft"
    std::optional<std::pair<double, double>> interval = {};
  };
  std::string label;
  std::string text;
  std::vector<Bar> bars;
};

struct BarOptions {
  std::string title;  ///< for those who cannot see the chart
  Axis axis = {};
  std::optional<double> mark = {};  ///< a line that bars end before or after
};

/// Draws horizontal bars from 0 (an interval that reaches far beyond the longest is cut off), or on a
/// logarithmic axis from a decade below the smallest; figures of 0 have no bar there.
std::string bar_chart(const std::vector<BarGroup>& groups, const BarOptions& options);

/// Draws points and curves over two axes.
class Plot {
 public:
  struct Point {
    double x = 0, y = 0;
    std::string style = {};
    std::string name = {};  ///< shown where a pointer rests on it
  };

  Plot(Axis x, Axis y) : x_(std::move(x)), y_(std::move(y)) {}

  /// Adds a point; on a logarithmic axis those that are not above 0 are left out.
  void add_point(Point point) { points_.push_back(std::move(point)); }
  void add_curve(std::vector<Point> curve) { curves_.push_back(std::move(curve)); }

  std::string svg(const std::string& title) const;

 private:
  Axis x_, y_;
  std::vector<Point> points_;
  std::vector<std::vector<Point>> curves_;
};

/// Writes what the colours of a chart mean.
std::string chart_key(const std::vector<std::pair<std::string, std::string>>& styles_and_names);

}  // namespace graft::report
