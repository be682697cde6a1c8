#pragma once
/// Lets `graft bench` say what it measured: as text, as JSON, and (bench_page.h) as a page.
///
///   print_text(context, found);
///   print_json(json_of(context, found));
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/traffic.h"

namespace graft {

/// Holds what was asked for and what it was measured with.
struct BenchContext {
  bench::Request request;
  std::string runtime_file;
  std::string runtime_version;

  bool two() const { return !request.other.empty(); }
  std::string providers() const;  ///< "CPU", or those that were asked for
};

/// Says in one sentence how the models compare, and nothing that the run cannot tell.
std::string verdict_of(const bench::Measurement& found);

/// Writes "95 % confidence interval 1.10 to 1.14", or why there is none.
std::string interval_text(const bench::Ratio& ratio);

/// Names the providers of an operator, without their ending.
std::string providers_text(const bench::OperatorUse& use);

/// Writes a time of milliseconds with three digits, a count of bytes as MB, a share as a percentage; "-" for
/// nothing.
std::string time_text(double milliseconds);
std::string megabytes_text(uint64_t bytes);
std::string rate_text(std::optional<double> bytes_per_second);
std::string share_text(std::optional<double> share);

/// Writes what copying gave: from main memory and from the first cache.
std::string copy_text(const bench::CopyCurve& copy);

void print_text(const BenchContext& context, const bench::Measurement& found);

nlohmann::ordered_json json_of(const BenchContext& context, const bench::Measurement& found);

}  // namespace graft
