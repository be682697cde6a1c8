#pragma once
/// Lets `graft fuse` report what it found, what it did and what that gained.
///
///   print_report(request, result);
///   print_json(report_of(request, result, "fused"));
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands/command.h"
#include "fuse/analysis.h"
#include "fuse/candidate.h"
#include "fuse/measure.h"
#include "verify/judgement.h"

namespace graft {

/// Holds what `graft fuse` was asked for.
struct FuseRequest {
  std::string model;
  std::string output;
  std::vector<std::string> libraries;  ///< of the model's own custom operators
  std::string operators;  ///< the library of ready-made operators; empty: the one beside the command
  bool compile = false;
  std::string library_out, source_out, domain, compiler;
  std::vector<std::string> shapes;
  std::vector<std::string> inputs;
  runtime::Optimisation level = runtime::Optimisation::all;
  bool check = false;
  bool allow_none = false;
  bool measure = true;
  bool verify = true;
  int threads = 1;
  double seconds = 4;
  CommonOptions common;
};

/// Says what became of a site.
struct SiteOutcome {
  bool fused = false;
  std::string left;  ///< why it was left as it was; empty when it is fused
  fuse::Gain gain;   ///< measured; of one that was left, too
};

struct FuseResult {
  fuse::Analysis analysis;
  fuse::Operators operators;
  std::vector<SiteOutcome> outcomes;  ///< by site
  int nodes_after = 0;
  bool embedded = false;
  std::string runtime_version;
  std::optional<fuse::WholeTimes> times;
  std::optional<verify::Judgement> with_library, without_library;
  std::vector<std::string> notes;

  int fused() const;
};

/// Prints the regions by gain, what stopped them, the times and the differences.
void print_report(const FuseRequest& request, const FuseResult& result);

/// Sums it up in a line.
std::string summary_of(const FuseRequest& request, const FuseResult& result);

/// Writes the report, schema graft.fuse/1.
nlohmann::ordered_json report_of(const FuseRequest& request, const FuseResult& result,
                                 const std::string& outcome);

}  // namespace graft
