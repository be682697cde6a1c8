#include "commands/inject_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands/differences.h"
#include "commands/plan.h"
#include "report/table.h"

namespace graft {

using nlohmann::ordered_json;
using report::Align;
using report::Table;
using rewrite::Injection;

namespace {

ordered_json times_of(const verify::Timing& timing) {
  return {{"best_ms", timing.best_ms}, {"median_ms", timing.median_ms}};
}

ordered_json entry_of(const InjectRequest& request, const Proof& proof) {
  ordered_json entry{{"runtime", proof.runtime_version},
                     {"threads", request.threads},
                     {"extent", proof.parts ? "parts" : "whole"},
                     {"inputs", json_of(proof.with_library.plan)},
                     {"passed", proof.drift.empty()},
                     {"difference", json_of(proof.with_library.optimised)},
                     {"difference_plain", json_of(proof.with_library.plain)},
                     {"ort_itself", json_of(proof.with_library.ort_itself)}};
  if (proof.parts) entry["parts"] = {{"run", proof.parts}, {"left", proof.parts_left}};
  if (!proof.drift.empty()) entry["reason"] = proof.drift;
  entry["runs_without_library"] = proof.without_library && proof.without_library->passed();
  if (proof.without_library) entry["difference_without_library"] = json_of(proof.without_library->optimised);
  if (proof.timing.rounds > 0) {
    entry["time"] = {{"original", times_of(proof.timing.first)},
                     {"injected", times_of(proof.timing.second)},
                     {"rounds", proof.timing.rounds},
                     {"speedup", proof.timing.speedup.median},
                     {"speedup_best", proof.timing.best_speedup}};
  }
  return entry;
}

std::string describe_misses(const Injection& injection, const std::string& op) {
  std::vector<std::pair<rewrite::Reason, std::vector<const rewrite::NearMiss*>>> groups;
  for (const auto& miss : injection.misses) {
    if (miss.op != op) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& known) { return known.first == miss.reason; });
    if (group == groups.end()) group = groups.insert(groups.end(), {miss.reason, {}});
    group->second.push_back(&miss);
  }
  std::string text;
  for (const auto& [reason, misses] : groups) {
    if (!text.empty()) text += "; ";
    const rewrite::NearMiss& first = *misses.front();
    text += fmt::format("{} {}: {}{}", misses.size(), code(reason), misses.size() > 1 ? "e.g. " : "",
                        report::printable(first.output, 40));
    text += fmt::format(
        ", {}", first.detail.empty() ? std::string(sentence(reason)) : report::printable(first.detail, 120));
  }
  return text;
}

}  // namespace

ordered_json report_of(const InjectRequest& request, const Injection& injection, const Proof* proof,
                       const std::vector<std::string>& notes, const std::string& outcome) {
  ordered_json operators = ordered_json::array();
  for (const std::string& name : injection.searched) {
    ordered_json sites = ordered_json::array(), misses = ordered_json::array();
    int exact = 0;
    for (const auto& site : injection.sites) {
      if (site.op != name) continue;
      exact += site.exact ? 1 : 0;
      sites.push_back(json_of(site));
    }
    for (const auto& miss : injection.misses) {
      if (miss.op == name)
        misses.push_back({{"scope", miss.scope},
                          {"output", miss.output},
                          {"reason", code(miss.reason)},
                          {"detail", miss.detail}});
    }
    const auto already = injection.already.find(name);
    operators.push_back({{"name", name},
                         {"places", sites.size()},
                         {"equal", exact},
                         {"already", already == injection.already.end() ? 0 : already->second},
                         {"sites", sites},
                         {"near_misses", misses}});
  }
  ordered_json report{{"schema", "graft.inject/1"},
                      {"model", request.model},
                      {"libraries", request.libraries},
                      {"output", request.output},
                      {"outcome", outcome},
                      {"places", injection.sites.size()},
                      {"nodes", {{"before", injection.nodes_before}, {"after", injection.nodes_after}}},
                      {"fallback", injection.embedded},
                      {"operators", operators},
                      {"undefined", injection.undefined},
                      {"notes", notes}};
  if (proof) report["verification"] = entry_of(request, *proof);
  return report;
}

void print_places(const Injection& injection) {
  Table table({"operator", "places", "near misses"}, {Align::left, Align::right, Align::left});
  std::vector<std::string> nothing;
  for (const std::string& name : injection.searched) {
    long places = 0, rounded = 0;
    for (const auto& site : injection.sites) {
      places += site.op == name ? 1 : 0;
      rounded += site.op == name && !site.exact ? 1 : 0;
    }
    const std::string misses = describe_misses(injection, name);
    const auto already = injection.already.find(name);
    if (places == 0 && misses.empty() && already == injection.already.end()) {
      nothing.push_back(name);
      continue;
    }
    std::string text = misses;
    if (rounded) text = fmt::format("({} within rounding){}{}", rounded, misses.empty() ? "" : " ", misses);
    if (already != injection.already.end())
      text = fmt::format("({} there before){}{}", already->second, text.empty() ? "" : " ", text);
    table.add({name, std::to_string(places), text.empty() ? "none" : text});
  }
  if (!table.empty()) fmt::print("{}", table.text());
  if (!nothing.empty()) fmt::print("not found: {}\n", fmt::join(nothing, ", "));
  if (!injection.undefined.empty())
    fmt::print("without a definition, so not looked for: {}\n", fmt::join(injection.undefined, ", "));
}

void print_proof(const InjectRequest& request, const Proof& proof) {
  if (proof.parts) {
    fmt::print("\nmeasured with ONNX Runtime {}, {}: the model as a whole was not run, {} alone\n",
               proof.runtime_version, report::counted(request.threads, "thread"),
               proof.parts == 1 ? "its one kind of place was run"
                                : fmt::format("its {} kinds of place were run", proof.parts));
    if (proof.parts_left)
      fmt::print("{} could not be run alone (--verify whole runs the model)\n",
                 report::counted(proof.parts_left, "place"));
  } else {
    fmt::print("\nmeasured with ONNX Runtime {}, {}, inputs {}\n", proof.runtime_version,
               report::counted(request.threads, "thread"), inputs_text(proof.with_library.plan));
  }
  Table differences = difference_table();
  differences.add(difference_row("with the library", proof.with_library.optimised));
  if (proof.without_library)
    differences.add(difference_row("without the library", proof.without_library->optimised));
  differences.add(difference_row("ORT itself, full against no optimisation", proof.with_library.ort_itself));
  fmt::print("{}", differences.text());
  if (proof.timing.rounds == 0) return;
  Table times({"time", "best", "median"}, {Align::left, Align::right, Align::right});
  const auto row = [](const std::string& what, const verify::Timing& timing) {
    return std::vector<std::string>{what, fmt::format("{:.3f} ms", timing.best_ms),
                                    fmt::format("{:.3f} ms", timing.median_ms)};
  };
  times.add(row("original", proof.timing.first));
  times.add(row("injected", proof.timing.second));
  times.add({"speed-up", fmt::format("{:.2f}x", proof.timing.best_speedup),
             fmt::format("{:.2f}x", proof.timing.speedup.median)});
  fmt::print("{}", times.text());
}

}  // namespace graft
