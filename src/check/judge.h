#pragma once
/// Lets you decide whether a result is right: no further from the definition in float64 than the definition's
/// own chain of operators, and at NaN, infinities and zeros what the definition does.
///
///   ErrorTable errors;
///   errors.learn(truth);                      // of all cases first
///   judge(subject, one, 0, got, truth, errors, report);
#include <map>

#include "check/finding.h"
#include "check/reference.h"

namespace graft::check {

/// Is how many times the chain's error an operator's may be. The largest of many roundings is chance: verify
/// found honest rewrites at 2.6 times, and has no further inputs here to ask (docs/reference/verify.md).
inline constexpr double allowed_times = 4;

/// Is what is allowed beside that, in units of the last place: graft's own functions stay within it where
/// results are normal numbers (docs/reference/math.md), and the chain may be right there by luck.
inline constexpr double allowed_ulp = 4;

/// Holds the largest error of the definition's chain by the power of two that the result lies in, so that
/// neither small results are judged by the errors of large ones, nor one by the luck of its neighbour.
class ErrorTable {
 public:
  void learn(const Truth& truth);

  /// Gives the largest error near a result.
  double at(double exact) const;

 private:
  std::map<int, double> largest_;
};

/// Judges one output, whose shape must be that of the definition; adds a finding when it is wrong.
void judge(const Subject& subject, const Case& one, const std::string& attributes, size_t output,
           const runtime::Tensor& got, const Truth& truth, const ErrorTable& errors, Report& report);

}  // namespace graft::check
