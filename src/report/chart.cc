#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/html.h"

namespace graft::report {
namespace {

constexpr double width = 480;  // of every chart, in units of its own; a page scales it

/// Maps figures onto a stretch of the chart.
class Scale {
 public:
  Scale(const Axis& axis, double least, double most, double from, double to)
      : axis_(axis), least_(least), most_(most), from_(from), to_(to) {}

  double at(double value) const {
    const double low = warp(least_), high = warp(most_);
    const double part = high > low ? (warp(value) - low) / (high - low) : 0;
    return from_ + std::clamp(part, 0.0, 1.0) * (to_ - from_);
  }

  bool shows(double value) const { return std::isfinite(value) && (!axis_.logarithmic || value > 0); }

  /// Gives at most `count` places that a reader can name: powers of ten, or 1, 2 and 5 times them.
  std::vector<double> ticks(int count) const {
    std::vector<double> ticks;
    if (axis_.logarithmic) {
      const int first = static_cast<int>(std::ceil(std::log10(least_) - 1e-9));
      const int last = static_cast<int>(std::floor(std::log10(most_) + 1e-9));
      const int step = std::max(1, (last - first) / count + 1);
      for (int power = first; power <= last; power += step) ticks.push_back(std::pow(10.0, power));
      return ticks;
    }
    const double rough = (most_ - least_) / count;
    const double power = std::pow(10.0, std::floor(std::log10(std::max(rough, 1e-300))));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0}) {
      if (factor * power >= rough) step = factor * power;
    }
    for (double tick = std::ceil(least_ / step - 1e-9) * step; tick <= most_ + step * 1e-9; tick += step)
      ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
    return ticks;
  }

  std::string text(double tick) const { return axis_.tick ? axis_.tick(tick) : fmt::format("{:.4g}", tick); }

 private:
  double warp(double value) const { return axis_.logarithmic ? std::log10(std::max(value, 1e-300)) : value; }

  const Axis& axis_;
  double least_, most_, from_, to_;
};

/// Gathers the smallest and the largest figure that an axis can show.
struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void take(double value, bool logarithmic) {
    if (!std::isfinite(value) || (logarithmic && value <= 0)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  bool empty() const { return least > most; }
};

std::string line(const char* style, double x1, double y1, double x2, double y2) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" />\n", style,
                     x1, y1, x2, y2);
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y,
                     anchor, style, escape(text));
}

std::string svg(const std::string& title, double height, const std::string& content) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n"
      "{}</svg>\n",
      width, height, escape(title), content);
}

/// Widens a range to whole powers of ten, or by a twentieth.
Range rounded(Range range, bool logarithmic) {
  if (range.empty()) return {logarithmic ? 0.1 : 0, 1};
  if (logarithmic) {
    range.least = std::pow(10.0, std::floor(std::log10(range.least)));
    range.most = std::pow(10.0, std::ceil(std::log10(range.most) + 1e-9));
    return range;
  }
  const double margin = std::max((range.most - range.least) / 20, std::abs(range.most) * 1e-3);
  return {range.least - margin, range.most + margin};
}

}  // namespace

std::string bar_chart(const std::vector<BarGroup>& groups, const BarOptions& options) {
  const bool logarithmic = options.axis.logarithmic;
  Range range;
  for (const BarGroup& group : groups) {
    for (const BarGroup::Bar& bar : group.bars) range.take(bar.value, logarithmic);
  }
  if (options.mark) range.take(*options.mark, logarithmic);
  if (range.empty()) range = {0.1, 1};
  if (logarithmic) {
    range.least /= 10;  // so that the smallest has a bar too
    range = rounded(range, true);
  } else {
    range = {0, range.most * 1.25};  // an interval that goes on beyond is cut off: it says nothing anyway
  }
  constexpr double label_height = 22, bar_height = 12, bar_gap = 3, group_gap = 12, axis_height = 44,
                   left = 4, right = 12;
  const Scale scale(options.axis, range.least, range.most, left, width - right);
  std::string marks, bars;
  const auto mark = [&](double from, double to) {
    if (options.mark) bars += line("mark", scale.at(*options.mark), from, scale.at(*options.mark), to);
  };
  double y = 2;
  for (const BarGroup& group : groups) {
    bars += text_at(left, y + 15, "start", group.label) +
            text_at(width - right, y + 15, "end", group.text, "soft");
    y += label_height;
    for (const BarGroup::Bar& bar : group.bars) {
      if (scale.shows(bar.value) && bar.value > 0) {
        bars += fmt::format(
            "<rect class=\"bar {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" rx=\"2\" "
            "/>\n",
            bar.style, left, y, std::max(scale.at(bar.value) - left, 1.0), bar_height);
      }
      if (bar.interval) {
        const double middle = y + bar_height / 2;
        const double from = scale.at(bar.interval->first), to = scale.at(bar.interval->second);
        bars +=
            line("whisker", from, middle, to, middle) + line("whisker", from, middle - 4, from, middle + 4);
        if (bar.interval->second <= range.most) bars += line("whisker", to, middle - 4, to, middle + 4);
      }
      mark(y - bar_gap, y + bar_height + bar_gap);
      y += bar_height + bar_gap;
    }
    y += group_gap;
  }
  const double foot = y - group_gap / 2;
  for (const double tick : scale.ticks(5)) {
    const double x = scale.at(tick);
    marks += line("rule", x, 0, x, foot);
    const char* anchor = x < left + 20 ? "start" : x > width - right - 20 ? "end" : "middle";
    bars += text_at(x, foot + 17, anchor, scale.text(tick), "soft");
  }
  bars += text_at(width / 2, foot + 38, "middle", options.axis.label, "soft");
  return svg(options.title, foot + axis_height, marks + bars);
}

std::string Plot::svg(const std::string& title) const {
  Range x_range, y_range;
  const auto take = [&](const Point& point) {
    x_range.take(point.x, x_.logarithmic);
    y_range.take(point.y, y_.logarithmic);
  };
  for (const Point& point : points_) take(point);
  const bool only_curves = points_.empty();
  for (const auto& curve : curves_) {
    if (only_curves) std::for_each(curve.begin(), curve.end(), take);
  }
  x_range = rounded(x_range, x_.logarithmic);
  y_range = rounded(y_range, y_.logarithmic);
  constexpr double height = 340, left = 74, right = 14, top = 28, bottom = 60;
  const Scale x(x_, x_range.least, x_range.most, left, width - right);
  const Scale y(y_, y_range.least, y_range.most, height - bottom, top);
  std::string content;
  for (const double tick : x.ticks(6)) {
    content += line("rule", x.at(tick), top, x.at(tick), height - bottom);
    content += text_at(x.at(tick), height - bottom + 26, x.at(tick) > width - right - 24 ? "end" : "middle",
                       x.text(tick), "soft");
  }
  for (const double tick : y.ticks(6)) {
    content += line("rule", left, y.at(tick), width - right, y.at(tick));
    content += text_at(left - 6, y.at(tick) + 5, "end", y.text(tick), "soft");
  }
  content +=
      text_at(0, 14, "start", y_.label, "soft") + text_at(width - right, height - 6, "end", x_.label, "soft");
  for (const Point& point : points_) {
    if (!x.shows(point.x) || !y.shows(point.y)) continue;
    content += fmt::format("<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\">{}</circle>\n",
                           point.style, x.at(point.x), y.at(point.y),
                           point.name.empty() ? "" : "<title>" + escape(point.name) + "</title>");
  }
  for (const auto& curve : curves_) {
    std::string places;
    for (const Point& point : curve) {
      const bool inside = point.x >= x_range.least && point.x <= x_range.most && point.y >= y_range.least &&
                          point.y <= y_range.most;
      if (inside)
        places += fmt::format("{}{:.1f},{:.1f}", places.empty() ? "" : " ", x.at(point.x), y.at(point.y));
    }
    content += "<polyline class=\"curve\" points=\"" + places + "\" />\n";
  }
  return report::svg(title, height, content);
}

std::string chart_key(const std::vector<std::pair<std::string, std::string>>& styles_and_names) {
  std::string key = "<div class=\"key\">";
  for (const auto& [style, name] : styles_and_names)
    key += fmt::format("<span><i class=\"{}\"></i>{}</span>", style, escape(name));
  return key + "</div>\n";
}

}  // namespace graft::report
