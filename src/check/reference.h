#pragma once
/// Lets you know what an operator should give: its definition, in its own types as ORT computes it, and in
/// float64.
///
///   Reference reference(runtime, folder, subject, attributes, opset);
///   if (auto truth = reference.run(one)) judge(outputs, *truth);
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check/models.h"
#include "check/shaken.h"
#include "runtime/session.h"
#include "verify/float64/evaluation.h"

namespace graft::check {

/// Is one output of the definition. At least one is there.
struct Truth {
  std::optional<runtime::Tensor>
      chain;  ///< as ORT computes the operators one by one, in the types themselves
  std::optional<runtime::Tensor>
      rounded;  ///< of 16-bit types: in float64, each result rounded as the standard says
  std::optional<runtime::Tensor>
      exact;                ///< in float64, rounded nowhere; of other than floating types, as it is
  bool keeps_zeros = true;  ///< false: ORT's Where makes 0 of -0, and nothing says which one is right
  std::optional<runtime::Tensor>
      doubt;  ///< how far `exact` is to be believed: what its own roundings can make of it
};

class Reference {
 public:
  Reference(std::shared_ptr<runtime::Runtime> runtime, std::filesystem::path folder, const Subject& subject,
            AttributeSet attributes, int64_t opset);

  /// Runs the definition; nothing when it does not take these inputs, or there is none.
  std::optional<std::vector<Truth>> run(const Case& one);

  /// Says why nothing was compared so far; empty when there is no reason.
  const std::string& why_not() const { return why_not_; }

 private:
  /// Holds the sessions for one choice of inputs that are there.
  struct Sessions {
    std::optional<runtime::Session> chain;
    std::optional<verify::Float64Evaluation> exact, rounded;
    std::vector<ShakenEvaluation> shaken;
    bool keeps_zeros = true;
  };
  Sessions& sessions_for(const Case& one);

  std::shared_ptr<runtime::Runtime> runtime_;
  std::filesystem::path folder_;
  const Subject& subject_;
  AttributeSet attributes_;
  int64_t opset_;
  std::map<std::vector<bool>, Sessions> sessions_;
  std::string why_not_;
};

}  // namespace graft::check
