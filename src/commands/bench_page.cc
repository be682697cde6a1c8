#include "commands/bench_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands/differences.h"
#include "error.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/table.h"
#include "runtime/files.h"
#include "runtime/providers.h"

namespace graft {
namespace {

using bench::Figures;
using bench::Measurement;
using bench::ModelMeasurement;
using bench::OperatorPair;
using bench::OperatorUse;
using bench::Ratio;
using bench::Traffic;
using report::Align;
using report::BarGroup;
using report::HtmlTable;

/// Charts show no more types than this, and none with less than this share of the time; the tables show all.
constexpr size_t most_types = 10;
constexpr double smallest_share = 0.005;

/// Of more rounds than this, only every second, third, ... is drawn.
constexpr size_t most_rounds_shown = 250;

std::string name_of(const std::string& file) { return std::filesystem::path(file).filename().string(); }

std::string label_of(const std::string& op) { return report::printable(op, 26); }

std::string bytes_text(double bytes) {
  if (bytes < 1e3) return fmt::format("{:g} B", bytes);
  if (bytes < 1e6) return fmt::format("{:g} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:g} MB", bytes / 1e6);
  return fmt::format("{:g} GB", bytes / 1e9);
}

std::string duration_text(double milliseconds) {
  if (milliseconds < 0.9e-3) return fmt::format("{:g} ns", milliseconds * 1e6);
  if (milliseconds < 0.9) return fmt::format("{:g} µs", milliseconds * 1e3);
  if (milliseconds < 900) return fmt::format("{:g} ms", milliseconds);
  return fmt::format("{:g} s", milliseconds / 1e3);
}

std::string scientific(double value) { return value > 0 ? fmt::format("1e{:.0f}", std::log10(value)) : "0"; }

std::string speedup_text(const Ratio& ratio) {
  if (!ratio.interval) return fmt::format("{:.2f}x", ratio.median);
  return fmt::format("{:.2f}x ({:.2f} to {:.2f})", ratio.median, ratio.interval->lower,
                     ratio.interval->upper);
}

/// Writes what the colours mean, where there are two models.
std::string key_of(const BenchContext& context) {
  if (!context.two()) return "";
  return report::chart_key({{"a", "model: " + report::printable(name_of(context.request.model))},
                            {"b", "other: " + report::printable(name_of(context.request.other))}});
}

std::string tiles(const Measurement& found) {
  std::string tiles;
  if (found.pair) {
    const Ratio& speedup = found.pair->speedup;
    tiles += report::html_tile(
        "speed-up", fmt::format("{:.2f}x", speedup.median),
        speedup.interval
            ? fmt::format("{:.3f} to {:.3f} at 95 %", speedup.interval->lower, speedup.interval->upper)
            : "no interval");
  }
  for (size_t i = 0; i < found.models.size(); ++i) {
    const Figures& time = found.models[i].milliseconds;
    tiles += report::html_tile(i ? "the other, median" : "the model, median", time_text(time.median) + " ms",
                               fmt::format("p10 {}, p90 {} ms", time_text(time.p10), time_text(time.p90)));
  }
  if (found.pair && found.pair->judgement) {
    const verify::Comparison& difference = found.pair->judgement->optimised;
    tiles += report::html_tile(
        "largest difference", difference.equal() ? "0" : fmt::format("{:.2g}", difference.largest_absolute()),
        !found.pair->judgement->passed() ? "drift"
        : difference.equal()             ? "equal outputs"
                                         : "the same within rounding");
  }
  const ModelMeasurement& last = found.models.back();
  const Traffic traffic = traffic_of_run(last.profile, last.milliseconds.median, found.copy);
  tiles += report::html_tile(found.pair ? "memory traffic, other" : "memory traffic",
                             rate_text(traffic.bytes_per_second()) + " GB/s",
                             share_text(traffic.share_of_copy()) + " of a copy's speed");
  return "<div class=\"tiles\">\n" + tiles + "</div>\n";
}

std::string speedup_chart(const Measurement& found) {
  std::vector<BarGroup> groups;
  const auto add = [&](const std::string& label, const Ratio& ratio) {
    BarGroup::Bar bar{ratio.median, ratio.tells() ? (ratio.median > 1 ? "good" : "b") : "soft"};
    if (ratio.interval) bar.interval = {ratio.interval->lower, ratio.interval->upper};
    groups.push_back({label, speedup_text(ratio), {bar}});
  };
  add("whole model", found.pair->speedup);
  const bench::OperatorComparison& operators = found.pair->operators;
  if (operators.changed.speedup) add("operators that changed", *operators.changed.speedup);
  const double all = milliseconds_of_nodes(found.models[0].profile);
  for (const OperatorPair& pair : operators.pairs) {
    if (groups.size() >= most_types) break;
    if (pair.speedup && pair.speedup->interval && pair.first_ms >= smallest_share * all)
      add(label_of(pair.op), *pair.speedup);
  }
  return report::html_section(
      "Speed-up",
      "Time of the model over time of the other, with its 95 % confidence interval. Right of the dashed line "
      "the other is "
      "faster; grey is no difference that this run can tell. Operators that changed are those that are not "
      "as many, or not "
      "of the same size, in both.",
      report::bar_chart(groups, {"Speed-up of the whole model and by operator type",
                                 {"times as fast", false, [](double x) { return fmt::format("{:g}x", x); }},
                                 1.0}));
}

std::string time_chart(const BenchContext& context, const Measurement& found) {
  std::vector<BarGroup> groups;
  const double all = milliseconds_of_nodes(found.models[0].profile);
  const auto bars = [&](double first, double second) {
    std::vector<BarGroup::Bar> bars = {{first, "a"}};
    if (context.two()) bars.push_back({second, "b"});
    return bars;
  };
  if (found.pair) {
    std::vector<OperatorPair> pairs = found.pair->operators.pairs;
    std::stable_sort(pairs.begin(), pairs.end(), [](const OperatorPair& one, const OperatorPair& other) {
      return std::max(one.first_ms, one.second_ms) > std::max(other.first_ms, other.second_ms);
    });
    for (const OperatorPair& pair : pairs) {
      if (groups.size() >= most_types || std::max(pair.first_ms, pair.second_ms) < smallest_share * all)
        break;
      const auto text = [](size_t calls, double ms) { return calls ? time_text(ms) : std::string("none"); };
      groups.push_back({label_of(pair.op),
                        fmt::format("{} / {} ms", text(pair.first_calls, pair.first_ms),
                                    text(pair.second_calls, pair.second_ms)),
                        bars(pair.first_ms, pair.second_ms)});
    }
  } else {
    for (const OperatorUse& use : found.models[0].profile.operators) {
      const double ms = bench::figures_of(use.milliseconds).median;
      if (groups.size() >= most_types || ms < smallest_share * all) break;
      groups.push_back(
          {label_of(use.op), fmt::format("{} ms, {}", time_text(ms), share_text(ms / all)), bars(ms, 0)});
    }
  }
  return report::html_section(
      "Time by operator type", "Milliseconds of one run, from ONNX Runtime's profile.",
      key_of(context) + report::bar_chart(groups, {"Time by operator type", {"milliseconds"}}));
}

/// Draws what each node moves against the time that it takes, and what a copy would take.
std::string roofline(const BenchContext& context, const Measurement& found) {
  report::Plot plot({"bytes moved by a node", true, bytes_text}, {"time", true, duration_text});
  size_t left_out = 0, all = 0;
  for (size_t i = 0; i < found.models.size(); ++i) {
    for (const bench::NodeUse& node : found.models[i].profile.nodes) {
      ++all;
      if (!node.bytes() || *node.bytes() == 0) {
        ++left_out;
        continue;
      }
      plot.add_point({static_cast<double>(*node.bytes()), node.milliseconds, i ? "b" : "a",
                      fmt::format("{} {}: {} MB in {} ms", node.op, report::printable(node.name),
                                  megabytes_text(*node.bytes()), time_text(node.milliseconds))});
    }
  }
  std::vector<report::Plot::Point> curve;
  for (double bytes = 1; bytes < 1e11; bytes *= 1.25)
    curve.push_back({bytes, found.copy.milliseconds(static_cast<uint64_t>(bytes))});
  plot.add_curve(std::move(curve));
  std::vector<std::pair<std::string, std::string>> key = {{"a", "nodes of the model"}};
  if (context.two()) key.emplace_back("b", "nodes of the other");
  key.emplace_back("curve", "copying as many bytes");
  return report::html_section(
      "Roofline",
      fmt::format(
          "Each point is a node: the bytes of its inputs and outputs, and its time. On the line it is as "
          "fast as a "
          "copy; above it, it computes or waits. ONNX Runtime's clock counts whole microseconds.{}",
          left_out > 0
              ? fmt::format(" {} of {} nodes are left out: they move nothing, or ONNX Runtime does not tell "
                            "their tensors.",
                            left_out, all)
              : ""),
      report::chart_key(key) +
          plot.svg("Time of each node against the bytes that it moves, with the time of a copy"));
}

/// Draws the times of all turns in order, where noise shows.
std::string turns_chart(const BenchContext& context, const Measurement& found) {
  report::Plot plot({"round"}, {"milliseconds of a run"});
  for (size_t i = 0; i < found.models.size(); ++i) {
    const auto& rounds = i ? found.rounds.second : found.rounds.first;
    const size_t step = rounds.size() / most_rounds_shown + 1;
    for (size_t round = 0; round < rounds.size(); round += step) {
      for (const double ms : rounds[round])
        plot.add_point({static_cast<double>(round + 1), ms, i ? "b" : "a"});
    }
  }
  return report::html_section("Every turn",
                              "Scattered or drifting points are the machine's noise, not the model's.",
                              key_of(context) + plot.svg("Time of a run in every round"));
}

std::string drift_chart(const verify::Judgement& judgement) {
  std::vector<BarGroup> groups;
  const auto add = [&](const std::string& label, const verify::Comparison& comparison, const char* bar) {
    if (comparison.outputs.empty()) return;
    const double largest = comparison.largest_absolute();
    groups.push_back({label, comparison.equal() ? "0" : fmt::format("{:.2g}", largest), {{largest, bar}}});
  };
  add("other against the model", judgement.optimised, "b");
  add("model, optimised or not", judgement.ort_itself, "soft");
  add("model against float64", judgement.reference_error, "a");
  add("other against float64", judgement.candidate_error, "b");
  const bool nothing = std::all_of(groups.begin(), groups.end(),
                                   [](const BarGroup& group) { return group.bars[0].value == 0; });
  std::string chart;
  if (!nothing)
    chart = report::bar_chart(
        groups, {"Largest differences of the outputs", {"largest absolute difference", true, scientific}});
  HtmlTable table({"output", "type", "absolute", "relative", "ulp", "differing"},
                  {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right});
  for (const verify::Difference& output : judgement.optimised.outputs) {
    table.add({report::printable(output.output),
               fmt::format("{}{}", type_name(output.type), runtime::to_string(output.shape)),
               fmt::format("{:.2g}", output.largest_absolute), fmt::format("{:.2g}", output.largest_relative),
               fmt::format("{:.4g}", output.largest_ulp),
               fmt::format("{} of {}", output.differing, output.elements)});
  }
  const std::string what = judgement.passed()
                               ? (judgement.optimised.equal() ? "Both models give equal outputs."
                                                              : "The outputs are the same within rounding.")
                               : "Drift: " + judgement.reason + ".";
  return report::html_section("Drift",
                              what +
                                  " Largest absolute differences of any output element; ONNX Runtime's own, "
                                  "between full optimisation and none, "
                                  "and those from a float64 evaluation stand beside it. Shorter is better.",
                              chart + table.text());
}

std::string times_table(const Measurement& found) {
  const bool two = found.models.size() == 2;
  HtmlTable table(
      two ? std::vector<std::string>{"", "model", "other"} : std::vector<std::string>{"", "model"},
      two ? std::vector<Align>{Align::left, Align::right, Align::right}
          : std::vector<Align>{Align::left, Align::right});
  const auto add = [&](const std::string& name, const auto& text_of) {
    std::vector<std::string> row = {name};
    for (const ModelMeasurement& model : found.models)
      row.push_back(
          text_of(model.milliseconds, traffic_of_run(model.profile, model.milliseconds.median, found.copy)));
    table.add(row);
  };
  add("fastest (ms)", [](const Figures& time, const Traffic&) { return time_text(time.least); });
  add("p10 (ms)", [](const Figures& time, const Traffic&) { return time_text(time.p10); });
  add("median (ms)", [](const Figures& time, const Traffic&) { return time_text(time.median); });
  add("p90 (ms)", [](const Figures& time, const Traffic&) { return time_text(time.p90); });
  add("bytes moved (MB)",
      [](const Figures&, const Traffic& traffic) { return megabytes_text(traffic.bytes()); });
  add("memory traffic (GB/s)",
      [](const Figures&, const Traffic& traffic) { return rate_text(traffic.bytes_per_second()); });
  add("share of a copy's speed",
      [](const Figures&, const Traffic& traffic) { return share_text(traffic.share_of_copy()); });
  std::string note;
  if (found.pair) {
    note = fmt::format("Speed-up {:.3f}x, {}. The model against itself, a moment later: {:.3f}x, {}.",
                       found.pair->speedup.median, interval_text(found.pair->speedup), found.pair->own.median,
                       interval_text(found.pair->own));
  }
  return report::html_section("Time of a run", note, table.text());
}

std::string pairs_table(const Measurement& found) {
  HtmlTable table({"operator type", "calls, model", "calls, other", "model (ms)", "other (ms)",
                   "speed-up (95 % interval)"},
                  {Align::left, Align::right, Align::right, Align::right, Align::right, Align::left});
  const auto add = [&](const std::string& name, const OperatorPair& pair) {
    const auto time = [](size_t calls, double ms) { return calls ? time_text(ms) : "-"; };
    table.add({name, std::to_string(pair.first_calls), std::to_string(pair.second_calls),
               time(pair.first_calls, pair.first_ms), time(pair.second_calls, pair.second_ms),
               pair.speedup ? speedup_text(*pair.speedup) : "-"});
  };
  if (found.pair->operators.changed.first_calls + found.pair->operators.changed.second_calls > 0)
    add("all that changed", found.pair->operators.changed);
  for (const bool same_work : {false, true}) {
    for (const OperatorPair& pair : found.pair->operators.pairs) {
      if (pair.same_work == same_work) add((same_work ? "" : "\u2003") + report::printable(pair.op), pair);
    }
  }
  return report::html_section("Operator types of both models",
                              "A speed-up stands where both models call the type as often, on as many bytes, "
                              "and for all other types together.",
                              table.text());
}

std::string operators_table(const Measurement& found, const ModelMeasurement& model,
                            const std::string& which) {
  HtmlTable table({"operator type", "calls", "time (ms)", "share", "in (MB)", "out (MB)", "GB/s", "of a copy",
                   "not told", "provider"},
                  {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right, Align::right, Align::left});
  const double all = milliseconds_of_nodes(model.profile);
  for (const OperatorUse& use : model.profile.operators) {
    const double ms = bench::figures_of(use.milliseconds).median;
    const Traffic traffic = traffic_of(model.profile, use, found.copy);
    table.add({report::printable(use.op), std::to_string(use.nodes.size()), time_text(ms),
               share_text(ms / all), megabytes_text(use.bytes_in), megabytes_text(use.bytes_out),
               rate_text(traffic.bytes_per_second()), share_text(traffic.share_of_copy()),
               std::to_string(use.without_bytes), providers_text(use)});
  }
  return report::html_section(
      "Operators of the " + which,
      fmt::format("{}; not told: calls of which ONNX Runtime does not say which tensors they take.",
                  report::counted(static_cast<long>(model.profile.nodes.size()), "call")),
      table.text());
}

std::string conditions_table(const BenchContext& context, const Measurement& found) {
  HtmlTable table({"what", "value"}, {Align::left, Align::left});
  table.wrap_last();
  table.add({"model", context.request.model.string()});
  if (context.two()) table.add({"other", context.request.other.string()});
  for (const auto& library : context.request.libraries) table.add({"library", library.string()});
  table.add({"runtime", fmt::format("ONNX Runtime {}", context.runtime_version)});
  table.add({"threads", std::to_string(context.request.threads)});
  table.add({"provider", context.providers()});
  table.add({"inputs", fmt::format("{}, seed {}", inputs_text(found.plan), context.request.plan.seed)});
  table.add({"rounds", fmt::format("{} of {}, each turn {}", found.rounds.first.size(),
                                   context.two() ? "A B B A" : "A A",
                                   report::counted(found.rounds.runs_per_turn, "run"))});
  table.add({"copying", copy_text(found.copy)});
  return report::html_section(
      "How it was measured",
      "Both models run in turn, after runs that do not count; what counts is the ratio within a round. The "
      "confidence "
      "interval is exact, from the order statistics of the rounds. Bytes are those of all inputs, parameters "
      "included, and "
      "of all outputs. The share of a copy compares with copying as many bytes, node by node.",
      table.text());
}

/// Writes a file beside its place and renames it when it is whole.
void write_whole(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path part = file.string() + ".part";
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw InputError(fmt::format("--html {}: is a folder", file.string()));
  try {
    runtime::write_file(part, text);
    std::filesystem::rename(part, file, error);
    if (error) throw InputError(fmt::format("{}: cannot be written: {}", file.string(), error.message()));
  } catch (...) {
    std::filesystem::remove(part, error);
    throw;
  }
}

}  // namespace

void write_bench_page(const std::filesystem::path& file, const BenchContext& context,
                      const Measurement& found, const std::string& bad) {
  const std::string model = report::printable(name_of(context.request.model));
  const std::string title =
      context.two() ? fmt::format("{} against {}", report::printable(name_of(context.request.other)), model)
                    : model;
  std::string content = fmt::format("<h1>{}</h1>\n", report::escape(title));
  if (found.pair) {
    std::string verdict = verdict_of(found);
    verdict[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(verdict[0])));
    content += fmt::format("<p class=\"verdict\">{}.</p>\n", report::escape(verdict));
  }
  content +=
      fmt::format("<p class=\"soft\">ONNX Runtime {}, {}, {}; inputs {}</p>\n",
                  report::escape(context.runtime_version), report::counted(context.request.threads, "thread"),
                  report::escape(context.providers()), report::escape(inputs_text(found.plan)));
  if (!bad.empty()) content += report::html_notice("Error: " + bad);
  for (const std::string& warning : found.warnings) content += report::html_notice("Warning: " + warning);
  content += tiles(found);
  content += "<div class=\"grid\">\n";
  if (found.pair) content += speedup_chart(found);
  content += time_chart(context, found) + roofline(context, found);
  if (found.pair && found.pair->judgement) content += drift_chart(*found.pair->judgement);
  content += turns_chart(context, found) + times_table(found) + "</div>\n";
  if (found.pair) content += pairs_table(found);
  content += operators_table(found, found.models[0], "model");
  if (context.two()) content += operators_table(found, found.models[1], "other");
  content += conditions_table(context, found);
  write_whole(file, report::html_page(title, content));
}

}  // namespace graft
