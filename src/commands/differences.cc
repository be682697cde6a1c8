#include "commands/differences.h"

#include <fmt/format.h>

#include <cmath>

namespace graft {

using nlohmann::ordered_json;
using report::Align;

ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

ordered_json json_of(const verify::Comparison& comparison) {
  return {{"equal", comparison.equal()},
          {"absolute", json_number(comparison.largest_absolute())},
          {"relative", json_number(comparison.largest_relative())},
          {"ulp", json_number(comparison.largest_ulp())}};
}

ordered_json json_of(const verify::InputPlan& plan) {
  ordered_json inputs = ordered_json::object();
  for (const auto& [name, shape] : plan.shapes) inputs[name] = shape;
  return inputs;
}

void print_json(const ordered_json& report) {
  fmt::print("{}\n", report.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

std::string inputs_text(const verify::InputPlan& plan) {
  std::string text;
  for (const auto& [name, shape] : plan.shapes)
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", report::printable(name), runtime::to_string(shape));
  return text.empty() ? "none" : text;
}

report::Table difference_table() {
  return report::Table({"largest difference", "absolute", "relative", "ulp"},
                       {Align::left, Align::right, Align::right, Align::right});
}

std::vector<std::string> difference_row(const std::string& what, const verify::Comparison& comparison) {
  if (comparison.equal()) return {what, "0", "0", "0"};
  return {what, fmt::format("{:.2g}", comparison.largest_absolute()),
          fmt::format("{:.2g}", comparison.largest_relative()),
          fmt::format("{:.4g}", comparison.largest_ulp())};
}

}  // namespace graft
