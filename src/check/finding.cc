#include "check/finding.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace graft::check {
using nlohmann::json;
using nlohmann::ordered_json;

void Report::add(Finding finding) {
  const auto same = std::find_if(findings.begin(), findings.end(),
                                 [&](const Finding& known) { return known.code == finding.code; });
  if (same != findings.end()) {
    ++same->times;
  } else {
    findings.push_back(std::move(finding));
  }
}

bool Report::has(const std::string& code) const {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.code == code; });
}

void Report::note(const std::string& text) {
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

ordered_json to_json(const Finding& finding) {
  return {{"code", finding.code},
          {"what", finding.what},
          {"shapes", finding.shapes},
          {"inputs", finding.inputs},
          {"expected", finding.expected},
          {"got", finding.got},
          {"attributes", finding.attributes},
          {"times", finding.times}};
}

std::string pack(const Report& report) {
  ordered_json packed{{"cases", report.cases},         {"compared", report.compared},
                      {"shapes", report.shapes},       {"refused", report.refused},
                      {"ulp", report.largest_ulp},     {"notes", report.notes},
                      {"cut_short", report.cut_short}, {"findings", ordered_json::array()}};
  for (const Finding& finding : report.findings) packed["findings"].push_back(to_json(finding));
  return packed.dump(-1, ' ', false, json::error_handler_t::replace);
}

Report unpack(const std::string& line) {
  const json packed = json::parse(line);
  Report report;
  report.cases = packed.at("cases");
  report.compared = packed.at("compared");
  report.shapes = packed.at("shapes");
  report.refused = packed.at("refused");
  report.largest_ulp = packed.at("ulp");
  report.notes = packed.at("notes").get<std::vector<std::string>>();
  report.cut_short = packed.at("cut_short");
  for (const json& finding : packed.at("findings")) {
    report.findings.push_back({finding.at("code"), finding.at("what"), finding.at("shapes"),
                               finding.at("inputs"), finding.at("expected"), finding.at("got"),
                               finding.at("attributes"), finding.at("times")});
  }
  return report;
}

}  // namespace graft::check
