#pragma once
/// Lets you list what there is to check in a library: each operator with each combination of element types,
/// with what the description says beside runtime::OperatorDescription (limits of attributes, inputs that must
/// be initializers).
///
///   for (const Subject& subject : subjects_of(describe_library("libmy_ops.so"))) fmt::print("{}\n",
///   to_string(subject));
#include <limits>
#include <string>
#include <vector>

#include "runtime/library.h"

namespace graft::check {

/// Gives the values that an attribute may have; without limits, any.
struct Limits {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> words = {};  ///< that a string must be one of

  bool any() const {
    return words.empty() && least == -std::numeric_limits<double>::infinity() && most == -least;
  }
};

/// Is one operator with one combination of element types.
struct Subject {
  runtime::OperatorDescription op;
  size_t overload = 0;
  std::vector<runtime::DataType> inputs;  ///< one for each port; "any" is settled
  std::vector<runtime::DataType> outputs;
  std::vector<bool> constant;  ///< inputs that must be initializers
  std::vector<Limits> limits;  ///< one for each attribute

  bool elementwise() const { return op.kind == runtime::OperatorKind::elementwise; }
};

/// Lists the subjects of a library in its order.
std::vector<Subject> subjects_of(const runtime::LibraryDescription& library);

/// Writes the element types: "float", or "(float, int64 -> bool)" when they differ.
std::string types_text(const Subject& subject);

/// Writes "my.ops:Roll float".
std::string to_string(const Subject& subject);

}  // namespace graft::check
