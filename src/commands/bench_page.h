#pragma once
/// Lets `graft bench --html FILE` write one page that needs nothing else: no script, no network.
///
///   write_bench_page("page.html", context, found, "");
#include <filesystem>
#include <string>

#include "commands/bench_report.h"

namespace graft {

/// Writes the page, whole or not at all. `bad` says what makes the answer bad, and is empty when nothing
/// does.
void write_bench_page(const std::filesystem::path& file, const BenchContext& context,
                      const bench::Measurement& found, const std::string& bad);

}  // namespace graft
