#include "commands/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands/differences.h"
#include "report/table.h"
#include "runtime/providers.h"

namespace graft {
namespace {

using bench::Figures;
using bench::Measurement;
using bench::ModelMeasurement;
using bench::OperatorPair;
using bench::OperatorUse;
using bench::PairMeasurement;
using bench::Ratio;
using bench::Traffic;
using nlohmann::ordered_json;
using report::Align;
using report::Table;

/// Operators with less than this share of the time stand in one row together.
constexpr double smallest_share = 0.005;

std::string speedup_text(const std::optional<Ratio>& speedup) {
  if (!speedup) return "-";
  if (!speedup->interval) return fmt::format("{:.2f}x", speedup->median);
  return fmt::format("{:.2f}x ({:.2f} to {:.2f})", speedup->median, speedup->interval->lower,
                     speedup->interval->upper);
}

void print_times(const Measurement& found) {
  Table table(
      {"time of a run", "p10 ms", "median ms", "p90 ms", "MB moved", "GB/s", "of copy"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (size_t i = 0; i < found.models.size(); ++i) {
    const ModelMeasurement& model = found.models[i];
    const Figures& time = model.milliseconds;
    const Traffic traffic = traffic_of_run(model.profile, time.median, found.copy);
    table.add({i ? "other" : "model", time_text(time.p10), time_text(time.median), time_text(time.p90),
               megabytes_text(traffic.bytes()), rate_text(traffic.bytes_per_second()),
               share_text(traffic.share_of_copy())});
  }
  fmt::print("{}", table.text());
}

void print_operators(const Measurement& found, const ModelMeasurement& model, const std::string& which) {
  Table table(
      {"operators of " + which, "calls", "ms", "share", "MB in", "MB out", "GB/s", "of copy", "provider"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right,
       Align::right, Align::left});
  const double all = milliseconds_of_nodes(model.profile);
  size_t small_types = 0, small_calls = 0;
  double small_ms = 0;
  for (const OperatorUse& use : model.profile.operators) {
    const double ms = bench::figures_of(use.milliseconds).median;
    if (ms < smallest_share * all) {
      ++small_types;
      small_calls += use.nodes.size();
      small_ms += ms;
      continue;
    }
    const Traffic traffic = traffic_of(model.profile, use, found.copy);
    const std::string mark = use.without_bytes > 0 ? "*" : "";
    table.add({report::printable(use.op), std::to_string(use.nodes.size()), time_text(ms),
               share_text(ms / all), megabytes_text(use.bytes_in) + mark,
               megabytes_text(use.bytes_out) + mark, rate_text(traffic.bytes_per_second()),
               share_text(traffic.share_of_copy()), providers_text(use)});
  }
  if (small_types > 0) {
    table.add({report::counted(static_cast<long>(small_types), "smaller type"), std::to_string(small_calls),
               time_text(small_ms), share_text(small_ms / all)});
  }
  fmt::print("\n{}", table.text());
  size_t without = 0;
  for (const OperatorUse& use : model.profile.operators) without += use.without_bytes;
  if (without > 0) {
    fmt::print("* without {}, of which ONNX Runtime does not tell the tensors\n",
               report::counted(static_cast<long>(without), "call"));
  }
}

void add_pair(Table& table, const std::string& name, const OperatorPair& pair) {
  const auto calls = [](size_t count) { return count ? std::to_string(count) : "-"; };
  const auto time = [](size_t count, double ms) { return count ? time_text(ms) : "-"; };
  table.add({name, calls(pair.first_calls), calls(pair.second_calls), time(pair.first_calls, pair.first_ms),
             time(pair.second_calls, pair.second_ms), speedup_text(pair.speedup)});
}

void print_pairs(const Measurement& found) {
  Table table({"by operator type", "calls", "calls", "model ms", "other ms", "speed-up"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::left});
  const bench::OperatorComparison& operators = found.pair->operators;
  if (operators.changed.first_calls + operators.changed.second_calls > 0)
    add_pair(table, "all that changed", operators.changed);
  const double all = milliseconds_of_nodes(found.models[0].profile);
  for (const bool same_work : {false, true}) {
    for (const OperatorPair& pair : operators.pairs) {
      if (pair.same_work != same_work || std::max(pair.first_ms, pair.second_ms) < smallest_share * all)
        continue;
      add_pair(table, (same_work ? "" : "  ") + report::printable(pair.op), pair);
    }
  }
  fmt::print("\n{}", table.text());
}

void print_pair(const Measurement& found) {
  const PairMeasurement& pair = *found.pair;
  fmt::print("\nspeed-up   {:.3f}x, {}\n", pair.speedup.median, interval_text(pair.speedup));
  fmt::print("itself     {:.3f}x, {} (the model against itself, a moment later)\n", pair.own.median,
             interval_text(pair.own));
  print_pairs(found);
  if (!pair.judgement) return;
  Table table = difference_table();
  table.add(difference_row("other against model", pair.judgement->optimised));
  table.add(difference_row("model, optimised against not", pair.judgement->ort_itself));
  fmt::print("\n{}", table.text());
}

ordered_json json_of(const Figures& figures) {
  return {{"median", figures.median}, {"p10", figures.p10},   {"p90", figures.p90},
          {"least", figures.least},   {"most", figures.most}, {"count", figures.count}};
}

ordered_json json_of(const Ratio& ratio) {
  ordered_json json{{"median", ratio.median}, {"interval", nullptr}, {"tells", ratio.tells()}};
  if (ratio.interval) {
    json["interval"] = {{"lower", ratio.interval->lower},
                        {"upper", ratio.interval->upper},
                        {"confidence", ratio.interval->confidence},
                        {"method", "order statistics of the median"}};
  }
  return json;
}

template <class T> ordered_json json_or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

void add_traffic(ordered_json& json, const Traffic& traffic) {
  json["bytes_in"] = traffic.bytes_in;
  json["bytes_out"] = traffic.bytes_out;
  json["calls_without_bytes"] = traffic.without_bytes;
  json["bytes_per_second"] = json_or_null(traffic.bytes_per_second());
  json["share_of_copy"] = json_or_null(traffic.share_of_copy());
}

ordered_json json_of(const ModelMeasurement& model, const bench::CopyCurve& copy) {
  const bench::Profile& profile = model.profile;
  ordered_json json{{"file", model.file}, {"milliseconds", json_of(model.milliseconds)}};
  add_traffic(json, traffic_of_run(profile, model.milliseconds.median, copy));
  json["profiled_milliseconds"] = json_of(bench::figures_of(profile.run_milliseconds));
  const double all = milliseconds_of_nodes(profile);
  json["operators"] = ordered_json::array();
  for (const OperatorUse& use : profile.operators) {
    const Figures time = bench::figures_of(use.milliseconds);
    ordered_json entry{{"op", use.op},
                       {"providers", use.providers},
                       {"calls", use.nodes.size()},
                       {"milliseconds", json_of(time)},
                       {"share", all > 0 ? time.median / all : 0}};
    add_traffic(entry, traffic_of(profile, use, copy));
    json["operators"].push_back(std::move(entry));
  }
  json["nodes"] = ordered_json::array();
  for (const bench::NodeUse& node : profile.nodes) {
    json["nodes"].push_back({{"name", node.name},
                             {"op", node.op},
                             {"provider", node.provider},
                             {"milliseconds", node.milliseconds},
                             {"bytes_in", json_or_null(node.bytes_in)},
                             {"bytes_out", json_or_null(node.bytes_out)}});
  }
  json["fallbacks"] = ordered_json::array();
  for (const size_t place : model.fallbacks) {
    const bench::NodeUse& node = profile.nodes[place];
    json["fallbacks"].push_back({{"name", node.name}, {"op", node.op}, {"provider", node.provider}});
  }
  return json;
}

ordered_json json_of(const OperatorPair& pair) {
  return {{"op", pair.op},
          {"calls", {pair.first_calls, pair.second_calls}},
          {"milliseconds", {pair.first_ms, pair.second_ms}},
          {"same_work", pair.same_work},
          {"speedup", pair.speedup ? json_of(*pair.speedup) : ordered_json(nullptr)}};
}

ordered_json json_of(const PairMeasurement& pair) {
  ordered_json json{{"speedup", json_of(pair.speedup)},   {"ratios", json_of(pair.ratios)},
                    {"itself", json_of(pair.own)},        {"changed", json_of(pair.operators.changed)},
                    {"operators", ordered_json::array()}, {"drift", nullptr}};
  for (const OperatorPair& each : pair.operators.pairs) json["operators"].push_back(json_of(each));
  if (pair.judgement) {
    json["drift"] = {{"passed", pair.judgement->passed()},
                     {"reason", pair.judgement->reason},
                     {"sets", pair.judgement->sets},
                     {"difference", graft::json_of(pair.judgement->optimised)},
                     {"ort_itself", graft::json_of(pair.judgement->ort_itself)}};
  }
  return json;
}

}  // namespace

std::string BenchContext::providers() const {
  std::string text;
  for (const std::string& name : request.providers)
    text += (text.empty() ? "" : ", ") + runtime::short_provider_name(name);
  return text.empty() ? "CPU" : text;
}

std::string verdict_of(const Measurement& found) {
  if (!found.pair) return "";
  const Ratio& speedup = found.pair->speedup;
  if (!speedup.interval) return "too few rounds to tell a difference";
  if (!speedup.tells()) return "no difference that this run can tell";
  if (speedup.median >= 1)
    return fmt::format("the other is {:.2f} times as fast as the model", speedup.median);
  return fmt::format("the other is slower: it takes {:.2f} times as long as the model", 1 / speedup.median);
}

std::string interval_text(const Ratio& ratio) {
  if (!ratio.interval) return "no confidence interval of so few rounds";
  return fmt::format("95 % confidence interval {:.3f} to {:.3f}", ratio.interval->lower,
                     ratio.interval->upper);
}

std::string providers_text(const OperatorUse& use) {
  std::string text;
  for (const std::string& provider : use.providers)
    text += (text.empty() ? "" : ", ") + runtime::short_provider_name(provider);
  return text;
}

std::string time_text(double milliseconds) {
  if (milliseconds >= 100) return fmt::format("{:.0f}", milliseconds);
  if (milliseconds >= 10) return fmt::format("{:.1f}", milliseconds);
  if (milliseconds >= 1) return fmt::format("{:.2f}", milliseconds);
  return fmt::format("{:.3f}", milliseconds);
}

std::string megabytes_text(uint64_t bytes) {
  const double megabytes = static_cast<double>(bytes) / 1e6;
  if (bytes == 0) return "0";
  if (megabytes < 0.01) return "<0.01";
  return fmt::format("{:.{}f}", megabytes, megabytes < 1 ? 2 : megabytes < 100 ? 1 : 0);
}

std::string rate_text(std::optional<double> bytes_per_second) {
  if (!bytes_per_second) return "-";
  const double gigabytes = *bytes_per_second / 1e9;
  return gigabytes < 0.01 ? "<0.01" : fmt::format("{:.{}f}", gigabytes, gigabytes < 1 ? 2 : 1);
}

std::string share_text(std::optional<double> share) {
  if (!share) return "-";
  return fmt::format("{:.{}f} %", *share * 100, *share < 0.0995 ? 1 : 0);
}

std::string copy_text(const bench::CopyCurve& copy) {
  const bench::CopyPoint &smallest = copy.points().front(), &largest = copy.points().back();
  return fmt::format("{:.1f} GB/s from and to main memory ({} MiB), {:.0f} GB/s in the first cache ({} KiB)",
                     largest.bytes_per_second / 1e9, largest.bytes / 2 >> 20, smallest.bytes_per_second / 1e9,
                     smallest.bytes / 2 >> 10);
}

void print_text(const BenchContext& context, const Measurement& found) {
  fmt::print("model      {}\n", context.request.model.string());
  if (context.two()) fmt::print("other      {}\n", context.request.other.string());
  for (const auto& library : context.request.libraries) fmt::print("library    {}\n", library.string());
  fmt::print("runtime    ONNX Runtime {}, {}, {}\n", context.runtime_version,
             report::counted(context.request.threads, "thread"), context.providers());
  fmt::print("inputs     {}\n", inputs_text(found.plan));
  fmt::print("rounds     {} of {}, each turn {}\n", found.rounds.first.size(),
             context.two() ? "A B B A" : "A A", report::counted(found.rounds.runs_per_turn, "run"));
  fmt::print("copying    {}\n\n", copy_text(found.copy));
  print_times(found);
  if (found.pair) print_pair(found);
  print_operators(found, found.models[0], "the model");
  if (context.two()) print_operators(found, found.models[1], "the other");
  if (!found.warnings.empty()) fmt::print("\n");
  for (const std::string& warning : found.warnings) fmt::print("warning: {}\n", warning);
  if (found.pair) fmt::print("\n{}\n", verdict_of(found));
}

ordered_json json_of(const BenchContext& context, const Measurement& found) {
  ordered_json libraries = ordered_json::array(), points = ordered_json::array(),
               models = ordered_json::array();
  for (const auto& library : context.request.libraries) libraries.push_back(library.string());
  for (const bench::CopyPoint& point : found.copy.points())
    points.push_back({{"bytes", point.bytes}, {"bytes_per_second", point.bytes_per_second}});
  for (const ModelMeasurement& model : found.models) models.push_back(json_of(model, found.copy));
  ordered_json turns = ordered_json::array({found.rounds.first});
  if (context.two()) turns.push_back(found.rounds.second);
  return {{"schema", "graft.bench/1"},
          {"model", context.request.model.string()},
          {"other", context.two() ? ordered_json(context.request.other.string()) : ordered_json(nullptr)},
          {"libraries", libraries},
          {"runtime", {{"file", context.runtime_file}, {"version", context.runtime_version}}},
          {"threads", context.request.threads},
          {"providers", context.request.providers},
          {"seed", context.request.plan.seed},
          {"inputs", json_of(found.plan)},
          {"rounds", found.rounds.first.size()},
          {"runs_per_turn", found.rounds.runs_per_turn},
          {"copy", points},
          {"models", models},
          {"comparison", found.pair ? json_of(*found.pair) : ordered_json(nullptr)},
          {"verdict", verdict_of(found)},
          {"turns", turns},
          {"warnings", found.warnings}};
}

}  // namespace graft
