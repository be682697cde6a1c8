#pragma once
/// Lets a check say what is wrong with an operator, and a child process hand that to its parent.
///
///   report.add({codes::race, "ten threads at once", "[300007]", "", "1.5", "1.25"});
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace graft::check {

/// Names what can be wrong; docs/reference/check.md explains each.
namespace codes {
inline constexpr const char* wrong_value = "wrong_value";
inline constexpr const char* edge_value = "edge_value";
inline constexpr const char* shape_function = "shape_function";
inline constexpr const char* race = "race";
inline constexpr const char* not_deterministic = "not_deterministic";
inline constexpr const char* in_place = "in_place";
inline constexpr const char* attribute = "attribute";
inline constexpr const char* entry_differs = "entry_differs";
inline constexpr const char* refused = "refused";
inline constexpr const char* crash = "crash";
inline constexpr const char* hang = "hang";
}  // namespace codes

/// Is one thing that is wrong: when it showed, on what, what was expected and what came.
struct Finding {
  std::string code;
  std::string what;    ///< one line
  std::string shapes;  ///< of the inputs, "x[7], y[1]"
  std::string inputs;  ///< the values that the wrong element was made of, where they are known
  std::string expected;
  std::string got;
  std::string attributes;  ///< those that were given, "alpha=0.5"
  int64_t times = 1;       ///< how many more cases gave the same code are counted here
};

/// Gathers what was run and found for one operator with one combination of element types.
struct Report {
  int64_t cases = 0;     ///< sets of inputs that the operator ran on
  int64_t compared = 0;  ///< of these, compared with the definition
  int64_t shapes = 0;    ///< sets of shapes among them
  int64_t refused = 0;   ///< cases that the operator declined with an error
  double largest_ulp =
      0;  ///< largest distance of a finite result from the definition in float64, where that is not tiny
  std::vector<Finding> findings;
  std::vector<std::string> notes;  ///< what could not be checked and why, each once
  bool cut_short = false;          ///< the time was spent before everything was run

  /// Keeps the first finding of each code and counts the others.
  void add(Finding finding);
  void note(const std::string& text);

  /// Tells whether there is a finding of a code.
  bool has(const std::string& code) const;
};

/// Writes a report as one line for the parent process, and reads it there.
std::string pack(const Report& report);
Report unpack(const std::string& line);

/// Writes a finding for --json.
nlohmann::ordered_json to_json(const Finding& finding);

}  // namespace graft::check
