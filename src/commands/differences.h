#pragma once
/// Lets commands that compare models print what they found in one way.
///
///   Table table = difference_table();
///   table.add(difference_row("with the library", judgement.optimised));
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/table.h"
#include "verify/compare.h"
#include "verify/inputs.h"

namespace graft {

/// Writes a number that JSON may lack: infinities as "inf", NaN as "nan".
nlohmann::ordered_json json_number(double value);

/// Writes the largest differences over all outputs.
nlohmann::ordered_json json_of(const verify::Comparison& comparison);

/// Writes the shapes that the inputs had.
nlohmann::ordered_json json_of(const verify::InputPlan& plan);

/// Prints a report, with bytes that are no UTF-8 replaced.
void print_json(const nlohmann::ordered_json& report);

/// Writes the shapes that the inputs had, "x[1,3,640,640], n[]", or "none".
std::string inputs_text(const verify::InputPlan& plan);

/// Makes the head of a table of largest differences.
report::Table difference_table();
std::vector<std::string> difference_row(const std::string& what, const verify::Comparison& comparison);

}  // namespace graft
