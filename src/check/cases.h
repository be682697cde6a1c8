#pragma once
/// Lets you make what an operator is run on: shapes that loops get wrong, and values that arithmetic treats
/// in a special way.
///
///   for (const Case& one : cases_of(subject, {})) run(one.inputs);
#include <map>
#include <string>
#include <vector>

#include "check/subject.h"
#include "runtime/tensor.h"

namespace graft::check {

/// Names the kinds of values: standard normal; magnitudes from 1e-4 to 1e4; special ones, each with each
/// other; or the whole range of the type, in steps (each value of a type of 8 or 16 bits).
enum class Values { normal, wide, edge, sweep };

std::string_view to_string(Values values);

/// Is one set of inputs. A tensor of undefined type is an optional input that is left out; a variadic input
/// is two tensors at the end.
struct Case {
  std::vector<runtime::Tensor> inputs;
  Values values = Values::normal;
};

/// Gives the input port of a tensor of a case.
size_t port_of(const Subject& subject, size_t input);

/// Writes "x[7], y[1]".
std::string shapes_text(const Subject& subject, const Case& one);

/// Tells whether values of a type can be made: not of complex numbers.
bool can_make(runtime::DataType type);

/// Lists the special values of a type, NaN first among the floating ones.
std::vector<double> edge_values(runtime::DataType type);

/// Makes all cases of a subject, small ones first. `shapes`, by input, replaces the shapes that are tried.
std::vector<Case> cases_of(const Subject& subject, const std::map<std::string, runtime::Shape>& shapes);

/// Makes normal values of other seeds in the shapes of a case.
Case redrawn(const Case& one, uint64_t seed);

}  // namespace graft::check
