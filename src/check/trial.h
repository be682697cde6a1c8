#pragma once
/// Lets the parts of a check share what they all need: the operator, how to open sessions, the report, the
/// time left.
///
///   std::vector<Tensor> outputs = trial.open(one, {}).run(fed(subject, one, false));
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "check/finding.h"
#include "check/models.h"
#include "check/plain_entry.h"
#include "runtime/session.h"

namespace graft::check {

/// Is a case that the operator took, with what it gave on one thread.
struct Taken {
  Case one;
  std::vector<runtime::Tensor> outputs;
};

class Trial {
 public:
  std::shared_ptr<runtime::Runtime> runtime;
  std::filesystem::path library;
  std::filesystem::path folder;  ///< for files that are needed for a moment
  const Subject& subject;
  AttributeSet attributes;
  std::vector<Case> cases;
  int64_t newest_opset = 17;
  int most_threads = 4;
  std::chrono::steady_clock::time_point end;
  std::function<void(const std::string&)> say;  ///< tells the parent what comes next, for the case of a crash
  Report report;

  /// Opens a session on one node of the operator. OrtError when ORT or the operator refuses.
  runtime::Session open(const Case& one, const ModelForm& form, int threads = 1) const;
  runtime::Session open(const Case& one, const AttributeSet& other, const ModelForm& form,
                        int threads = 1) const;

  /// Gives the opset in which the definition is run: 17, or the one that it begins with when that is newer.
  int64_t usual_opset() const;

  /// Tells whether there is time for more, and notes in the report when there is not.
  bool has_time();

  void add(const char* code, const std::string& what, const Case& one, const std::string& expected,
           const std::string& got, const std::string& inputs = {});
};

/// Runs everything on one subject. In a child process: the library is loaded.
void check_subject(Trial& trial);

/// Opens sessions of several threads, ten at once, and again and again; a result must always have the same
/// bits.
void check_repeats(Trial& trial, const PlainEntries& entries, const std::vector<Taken>& taken);

/// Runs the operator where ORT may give it its input's memory for the output; results must be the same.
void check_in_place(Trial& trial, const std::vector<Taken>& taken);

/// Gives attributes at and beyond their limits.
void check_attributes(Trial& trial, const std::vector<Taken>& taken);

/// Compares the shapes that were inferred with those that came, and with the rule that the operator declares.
void check_shapes(Trial& trial, const runtime::Session& session, const Case& one,
                  const std::vector<runtime::Tensor>& outputs, Sizes sizes);

/// Calls the plain C entry on a case; it must give what came through ORT.
void check_entry(Trial& trial, const PlainEntries& entries, const Taken& taken);

}  // namespace graft::check
