#pragma once
/// Lets you call an operator without ORT, through the C entries that its library exports
/// (graft/describe_abi.h).
///
///   PlainEntries entries(library);                       // loads it: only in a child process
///   auto outputs = entries.call(subject, one, attributes, 1);
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "check/attributes.h"
#include "check/cases.h"

struct graft_library;

namespace graft::check {

/// Says that an entry failed, with what it told.
struct EntryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class PlainEntries {
 public:
  /// Loads the library; std::runtime_error when it cannot be loaded.
  explicit PlainEntries(const std::filesystem::path& library);

  /// Tells whether the library has an entry for a subject.
  bool has(const Subject& subject) const;

  /// Calls the entry; with more than one thread, its blocks run on threads of their own. EntryError when it
  /// fails.
  std::vector<runtime::Tensor> call(const Subject& subject, const Case& one, const AttributeSet& attributes,
                                    int threads) const;

 private:
  const graft_library* library_ = nullptr;
};

}  // namespace graft::check
