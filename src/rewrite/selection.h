#pragma once
/// Lets a user choose among the places that were found: by patterns, or by a plan.
///
///   Selection selection(options);
///   std::string why = selection.decline("graft:HardSwish", "main", "y", "node_7");  // empty: replace it
#include <string>
#include <string_view>
#include <vector>

#include "rewrite/inject.h"

namespace graft::rewrite {

class Selection {
 public:
  explicit Selection(const InjectOptions& options);

  /// Says why a place is not wanted; empty when it is. `node` is the name of the node that makes `output`.
  std::string decline(const std::string& op, const std::string& scope, std::string_view output,
                      std::string_view node);

  /// InputError when a pattern has named no place, or a planned place was not replaced; says what is there.
  void refuse_unused(const Injection& injection) const;

 private:
  /// Finds the patterns that name a place, and notes that they were of use.
  static std::string find(std::vector<std::pair<std::string, bool>>& patterns, const std::string& scope,
                          std::string_view output, std::string_view node);

  std::vector<std::pair<std::string, bool>> only_, skip_;  ///< pattern, and whether it named a place
  const std::optional<std::vector<PlannedPlace>>& plan_;
};

}  // namespace graft::rewrite
