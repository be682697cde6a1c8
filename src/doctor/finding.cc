#include "doctor/finding.h"

#include <algorithm>

namespace graft::doctor {

Finding& Findings::add(Cause cause, const std::string& subject) {
  for (Finding& finding : list_) {
    if (finding.cause == cause && finding.subject == subject) return finding;
  }
  return list_.emplace_back(Finding{cause, subject});
}

bool Findings::has(Cause cause) const {
  return std::any_of(list_.begin(), list_.end(),
                     [&](const Finding& finding) { return finding.cause == cause; });
}

}  // namespace graft::doctor
