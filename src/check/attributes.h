#pragma once
/// Lets you choose attributes for an operator: the usual ones, those at their limits, and those it must
/// refuse.
///
///   for (const Variation& one : varied_attributes(subject, usual)) run(one.attributes);
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

/// Gives required attributes a value within their limits, and leaves the others out. A tensor, of which
/// neither type nor shape is known, is `tensor`; nothing when one is required and none is given.
std::optional<AttributeSet> usual_attributes(const Subject& subject, const runtime::Tensor* tensor = nullptr);

/// Lists tensors to try as an attribute: of the types of the inputs and the usual ones, in small shapes.
std::vector<runtime::Tensor> tensors_to_try(const Subject& subject);

/// Gives each attribute in turn the ends of its limits, all its words, or, where it has no limits, typical
/// values; the others are as in `usual`. `certain` says that the operator must take it.
struct Variation {
  AttributeSet attributes;
  bool certain = false;
};
std::vector<Variation> varied_attributes(const Subject& subject, const AttributeSet& usual);

/// Lists what must be refused when a session is made: a required one that is missing, another type, a value
/// out of limits.
struct Refusal {
  AttributeSet attributes;
  std::string what;
};
std::vector<Refusal> refused_attributes(const Subject& subject, const AttributeSet& usual);

}  // namespace graft::check
