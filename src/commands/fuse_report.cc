#include "commands/fuse_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "commands/differences.h"
#include "report/table.h"

namespace graft {

using nlohmann::ordered_json;
using report::Align;
using report::Table;

namespace {

/// Adds up the sites of a kind.
struct KindSummary {
  size_t kind = 0;
  long fused = 0, left = 0;
  long nodes = 0;
  fuse::Gain gain;  ///< of those that are fused
};

std::vector<KindSummary> summaries_of(const FuseResult& result) {
  std::vector<KindSummary> list;
  for (size_t kind = 0; kind < result.analysis.kinds.size(); ++kind) {
    KindSummary summary{.kind = kind, .gain = {}};
    for (const size_t site : result.analysis.kinds[kind].sites) {
      const SiteOutcome& outcome = result.outcomes[site];
      (outcome.fused ? summary.fused : summary.left) += 1;
      summary.nodes = static_cast<long>(result.analysis.sites[site].region.nodes.size());
      if (!outcome.fused) continue;
      summary.gain.before_ms += outcome.gain.before_ms;
      summary.gain.after_ms += outcome.gain.after_ms;
      summary.gain.bytes_before += outcome.gain.bytes_before;
      summary.gain.bytes_after += outcome.gain.bytes_after;
    }
    list.push_back(summary);
  }
  std::stable_sort(list.begin(), list.end(), [](const KindSummary& a, const KindSummary& b) {
    return a.gain.before_ms - a.gain.after_ms > b.gain.before_ms - b.gain.after_ms;
  });
  return list;
}

std::string megabytes(double bytes) { return fmt::format("{:.1f}", bytes / 1e6); }

/// Says what ended most of the regions, the commonest first.
std::string borders_text(const FuseResult& result) {
  std::map<std::string, int> reasons;
  for (const fuse::Site& site : result.analysis.sites) {
    for (const fuse::Border& border : site.borders) ++reasons[border.why];
  }
  std::vector<std::pair<std::string, int>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  constexpr size_t most = 6;
  for (size_t i = 0; i < std::min(sorted.size(), most); ++i)
    text += fmt::format("{}{} ({})", i ? "; " : "", sorted[i].first, sorted[i].second);
  if (sorted.size() > most) text += "; ...";
  return text;
}

void print_kinds(const FuseRequest& request, const FuseResult& result) {
  const bool measured = request.measure;
  std::vector<std::string> heads = {"region", "places", "nodes"};
  std::vector<Align> aligns = {Align::left, Align::right, Align::right};
  if (measured) {
    for (const char* head : {"before ms", "after ms", "MB before", "MB after"}) {
      heads.emplace_back(head);
      aligns.push_back(Align::right);
    }
  }
  Table table(heads, aligns);
  constexpr int most = 20;
  int shown = 0, more = 0;
  for (const KindSummary& summary : summaries_of(result)) {
    if (summary.fused == 0) continue;
    if (++shown > most) {
      ++more;
      continue;
    }
    std::vector<std::string> row = {report::printable(result.analysis.kinds[summary.kind].what, 48),
                                    std::to_string(summary.fused), std::to_string(summary.nodes)};
    if (measured) {
      row.push_back(fmt::format("{:.3f}", summary.gain.before_ms));
      row.push_back(fmt::format("{:.3f}", summary.gain.after_ms));
      row.push_back(megabytes(summary.gain.bytes_before));
      row.push_back(megabytes(summary.gain.bytes_after));
    }
    table.add(row);
  }
  if (!table.empty()) fmt::print("{}", table.text());
  if (more) fmt::print("and {} more kinds of region (--json lists them)\n", more);
}

void print_left(const FuseResult& result) {
  std::map<std::string, std::vector<std::string>> left;
  for (size_t site = 0; site < result.outcomes.size(); ++site) {
    if (!result.outcomes[site].left.empty())
      left[result.outcomes[site].left].push_back(result.analysis.sites[site].output);
  }
  for (const auto& [why, outputs] : left)
    fmt::print("left   {}, e.g. {}: {}\n", report::counted(static_cast<long>(outputs.size()), "region"),
               report::printable(outputs.front(), 40), why);
}

ordered_json times_json(const bench::Figures& figures) {
  return {{"median_ms", figures.median},
          {"best_ms", figures.least},
          {"p10_ms", figures.p10},
          {"p90_ms", figures.p90}};
}

}  // namespace

void print_report(const FuseRequest& request, const FuseResult& result) {
  const fuse::Analysis& analysis = result.analysis;
  fmt::print("{} of {} are elementwise, ORT {} leaves {} as they are, {} can be fused\n",
             report::counted(analysis.elementwise, "node"), analysis.nodes, result.runtime_version,
             analysis.left_by_ort, report::counted(static_cast<long>(analysis.sites.size()), "region"));
  if (result.fused()) {
    print_kinds(request, result);
    fmt::print("nodes  {} -> {}\n", analysis.nodes, result.nodes_after);
    if (!request.check)
      fmt::print("needs  {}, registered with ORT, to be faster\n", result.operators.library.string());
  }
  print_left(result);
  if (const std::string borders = borders_text(result); !borders.empty()) fmt::print("ends   {}\n", borders);
  for (const std::string& note : result.notes) fmt::print("note   {}\n", note);
  if (!result.fused()) return;
  if (result.with_library) {
    fmt::print("\nmeasured with ONNX Runtime {}, {}, inputs {}\n", result.runtime_version,
               report::counted(request.threads, "thread"), inputs_text(result.with_library->plan));
    Table differences = difference_table();
    differences.add(difference_row("with the library", result.with_library->optimised));
    if (result.without_library)
      differences.add(difference_row("without the library", result.without_library->optimised));
    differences.add(
        difference_row("ORT itself, full against no optimisation", result.with_library->ort_itself));
    fmt::print("{}", differences.text());
  }
  if (result.times) {
    Table times({"time", "best", "median"}, {Align::left, Align::right, Align::right});
    const auto row = [](const std::string& what, const bench::Figures& figures) {
      return std::vector<std::string>{what, fmt::format("{:.3f} ms", figures.least),
                                      fmt::format("{:.3f} ms", figures.median)};
    };
    times.add(row("original", result.times->before_ms));
    times.add(row("fused", result.times->after_ms));
    fmt::print("{}", times.text());
  }
}

std::string summary_of(const FuseRequest& request, const FuseResult& result) {
  std::string text = fmt::format("{}: {}", request.check ? request.model : request.output,
                                 report::counted(result.fused(), "region"));
  if (result.times) {
    const bench::Ratio& speedup = result.times->speedup;
    text += fmt::format(", {:.2f}x as fast", speedup.median);
    if (speedup.interval)
      text += fmt::format(" ({:.2f} to {:.2f})", speedup.interval->lower, speedup.interval->upper);
  } else {
    text += ", not measured";
  }
  if (!result.with_library) return text + ", not verified";
  text += fmt::format(", largest difference {:.2g}", result.with_library->optimised.largest_absolute());
  return text + (result.without_library ? ", runs without the library too" : ", needs the library");
}

ordered_json report_of(const FuseRequest& request, const FuseResult& result, const std::string& outcome) {
  const fuse::Analysis& analysis = result.analysis;
  ordered_json kinds = ordered_json::array();
  for (const KindSummary& summary : summaries_of(result)) {
    const fuse::Kind& kind = analysis.kinds[summary.kind];
    ordered_json sites = ordered_json::array();
    for (const size_t at : kind.sites) {
      const fuse::Site& site = analysis.sites[at];
      const SiteOutcome& found = result.outcomes[at];
      const fuse::View& view = analysis.views[site.view].view;
      ordered_json inputs = ordered_json::array(), outputs = ordered_json::array(),
                   borders = ordered_json::array();
      for (const int value : site.region.inputs) inputs.push_back(view.value(value).name);
      for (const int value : site.region.outputs) outputs.push_back(view.value(value).name);
      for (const fuse::Border& border : site.borders)
        borders.push_back({{"value", view.value(border.value).name}, {"why", border.why}});
      ordered_json entry{
          {"scope", site.scope}, {"inputs", inputs}, {"outputs", outputs}, {"fused", found.fused}};
      if (!found.left.empty()) entry["left"] = found.left;
      if (found.gain.ran) {
        entry["before_ms"] = found.gain.before_ms;
        entry["after_ms"] = found.gain.after_ms;
        entry["bytes_before"] = found.gain.bytes_before;
        entry["bytes_after"] = found.gain.bytes_after;
      }
      entry["borders"] = borders;
      sites.push_back(entry);
    }
    const std::string name =
        summary.kind < result.operators.names.size() ? result.operators.names[summary.kind] : "";
    kinds.push_back(
        {{"what", kind.what},
         {"operator", name.empty() ? ordered_json() : ordered_json(result.operators.domain + ":" + name)},
         {"program", kind.program},
         {"nodes", summary.nodes},
         {"places", summary.fused},
         {"left", summary.left},
         {"sites", sites}});
  }
  ordered_json report{{"schema", "graft.fuse/1"},
                      {"model", request.model},
                      {"output", request.output},
                      {"outcome", outcome},
                      {"runtime", result.runtime_version},
                      {"threads", request.threads},
                      {"library", result.operators.library.string()},
                      {"nodes",
                       {{"before", analysis.nodes},
                        {"after", result.nodes_after},
                        {"elementwise", analysis.elementwise},
                        {"left_by_ort", analysis.left_by_ort}}},
                      {"regions", result.fused()},
                      {"fallback", result.embedded},
                      {"kinds", kinds},
                      {"notes", result.notes}};
  if (result.with_library) {
    report["verification"] = {
        {"inputs", json_of(result.with_library->plan)},
        {"passed", result.with_library->passed()},
        {"difference", json_of(result.with_library->optimised)},
        {"difference_plain", json_of(result.with_library->plain)},
        {"ort_itself", json_of(result.with_library->ort_itself)},
        {"runs_without_library", result.without_library && result.without_library->passed()}};
    if (result.without_library)
      report["verification"]["difference_without_library"] = json_of(result.without_library->optimised);
  }
  if (result.times) {
    report["time"] = {{"original", times_json(result.times->before_ms)},
                      {"fused", times_json(result.times->after_ms)},
                      {"rounds", result.times->rounds},
                      {"speedup", result.times->speedup.median}};
    if (const auto& interval = result.times->speedup.interval) {
      report["time"]["lower"] = interval->lower;
      report["time"]["upper"] = interval->upper;
    }
  }
  return report;
}

}  // namespace graft
