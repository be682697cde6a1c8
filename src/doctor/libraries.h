#pragma once
/// Lets a check ask what the given libraries register; each was tried in a child process first.
///
///   Libraries libraries(runtime, {"libmy_ops.so"}, findings);
///   for (const runtime::OperatorDescription* op : libraries.find("my.ops", "Gate")) ...
#include <filesystem>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "runtime/library.h"
#include "runtime/runtime.h"

namespace graft::doctor {

struct Library {
  std::filesystem::path file;
  bool hangs = false;     ///< it does not come back from registering
  bool usable = false;    ///< it registers without an error
  bool recorded = false;  ///< it was not made with Graft: attributes and shapes are not known
  std::vector<std::string> domains;
  std::vector<runtime::OperatorDescription> operators;
};

class Libraries {
 public:
  /// Tries every library and adds what is wrong with them.
  Libraries(const runtime::Runtime& runtime, const std::vector<std::filesystem::path>& files,
            Findings& findings);

  const std::vector<Library>& all() const { return all_; }
  std::vector<std::filesystem::path> usable() const;
  bool any_hangs() const;

  /// Lists the operators of a name, one a provider.
  std::vector<const runtime::OperatorDescription*> find(const std::string& domain,
                                                        const std::string& name) const;

  /// Lists the operators of a name in whatever domain.
  std::vector<const runtime::OperatorDescription*> find(const std::string& name) const;

  bool has_domain(const std::string& domain) const;

  /// Tells whether an operator is of a library that does not describe itself.
  bool is_recorded(const runtime::OperatorDescription& op) const;

  std::vector<std::string> domains() const;
  std::vector<std::string> names(const std::string& domain) const;

 private:
  std::vector<Library> all_;
};

}  // namespace graft::doctor
