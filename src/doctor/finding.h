#pragma once
/// Lets a check say what it found: the cause, the evidence for it, and the cure.
///
///   Finding& found = findings.add(Cause::cycle, "");
///   found.evidence.push_back("a, b, a");
///   found.cure.push_back("take one of them out");
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "doctor/cause.h"

namespace graft::doctor {

/// Tells whether the model does not load or gives other results, or loads all the same.
enum class Severity { error, warning };

/// Changes the model, losing nothing.
struct Repair {
  std::string what;  ///< "set the IR version to 14"
  std::function<void()> apply;
};

struct Finding {
  Cause cause;
  std::string subject;  ///< what it is about: an operator, a value, a file
  Severity severity = Severity::error;
  std::vector<std::string> evidence = {};
  std::vector<std::string> cure = {};  ///< steps or commands, where no repair does it
  std::vector<Repair> repairs = {};

  bool fixable() const { return !repairs.empty() && !beyond_repair; }

  bool beyond_repair = false;  ///< one of its places cannot be repaired without loss
};

/// Collects findings; several places of one cause and subject are one finding.
class Findings {
 public:
  /// Gives the finding of a cause and a subject, a new one when there is none yet.
  Finding& add(Cause cause, const std::string& subject);

  bool has(Cause cause) const;
  bool empty() const { return list_.empty(); }
  std::deque<Finding>& list() { return list_; }
  const std::deque<Finding>& list() const { return list_; }

 private:
  std::deque<Finding> list_;
};

}  // namespace graft::doctor
