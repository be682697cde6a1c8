#pragma once
/// Lets you choose attributes for an operator: the usual ones, those at their limits, and those it must
/// refuse.
///
///   for (const AttributeSet& set : varied_attributes(subject)) run(set);
#include <onnx-ml.pb.h>

#include <optional>
#include <string>
#include <vector>

#include "check/subject.h"

namespace graft::check {

/// Is a choice of attributes: those that the node gives, and those with the defaults that the description
/// names.
struct AttributeSet {
  std::vector<onnx::AttributeProto> given;
  std::vector<onnx::AttributeProto> complete;
  std::string text;  ///< of the given ones, "alpha=0.5, n=3"
};

/// Gives required attributes a value within their limits, and leaves the others out; nothing when an
/// attribute is required of which no value is known to fit (a tensor).
std::optional<AttributeSet> usual_attributes(const Subject& subject);

/// Gives each attribute in turn the ends of its limits, all its words, or, where it has no limits, typical
/// values. `certain` says that the operator must take it.
struct Variation {
  AttributeSet attributes;
  bool certain = false;
};
std::vector<Variation> varied_attributes(const Subject& subject);

/// Lists what must be refused when a session is made: a required one that is missing, another type, a value
/// out of limits.
struct Refusal {
  AttributeSet attributes;
  std::string what;
};
std::vector<Refusal> refused_attributes(const Subject& subject);

}  // namespace graft::check
