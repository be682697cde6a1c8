#pragma once
/// Lets you say how far two sets of outputs are apart: absolute, relative and in units in the last place
/// (ulp).
///
///   Comparison comparison = compare(reference, candidate, inputs);
///   fmt::print("{:g} ({} ulp)\n", comparison.largest_absolute(), comparison.largest_ulp());
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace graft::verify {

/// Gives the bounds that |candidate - reference| <= absolute + relative * |reference| must keep.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

/// Gives the tolerance of a type: float 1e-6 and 1e-5, float16 2e-3 and 4e-3, bfloat16 1.6e-2 and 3.2e-2,
/// double 1e-13 and 1e-12, everything else exact.
Tolerance default_tolerance(runtime::DataType type);

/// Holds what was found for one output. NaN equals NaN and an infinity equals itself; a NaN or an infinity
/// against anything else counts as an infinite difference.
struct Difference {
  std::string output;
  runtime::DataType type = runtime::DataType::undefined;
  runtime::Shape shape;
  std::string mismatch;  ///< "shape [1,4] became [4]" or "type float became double": no element is compared
  size_t elements = 0;
  size_t differing = 0;  ///< elements that are not equal (-0 equals 0)
  double largest_absolute = 0;
  double largest_relative = 0;  ///< |difference| / |reference|, over elements whose reference is not 0
  double largest_ulp = 0;       ///< steps between neighbours of the output's type
  double ulp_median = 0, ulp_90 = 0, ulp_99 = 0;  ///< percentiles over all elements
  double largest_excess = 0;  ///< largest |difference| / what the tolerance allows: above 1 is out of it
  double largest_beyond = 0;  ///< largest |difference| less one unit in the last place of the reference;
                              ///< 0 where the type is exact

  /// Locates an element that differs: the first one, that of the largest excess, and that of largest_beyond.
  struct Place {
    runtime::Shape index;
    std::string reference;
    std::string candidate;
  };
  std::optional<Place> first;
  std::optional<Place> worst;
  std::optional<Place> furthest;

  bool equal() const { return mismatch.empty() && differing == 0; }

  /// Takes in what another set of inputs gave: counts are added, of all figures the larger is kept.
  void merge(const Difference& other);
};

struct Comparison {
  std::vector<Difference> outputs;

  bool equal() const;
  double largest_absolute() const;
  double largest_relative() const;
  double largest_ulp() const;
  double largest_excess() const;  ///< infinite on a mismatch of shape or type

  /// Keeps the larger difference of each output (several inputs of one pair of models).
  void merge(const Comparison& other);
};

/// Gives the distance between two neighbours of a floating type at a number, in which an ulp is counted.
double ulp_at(runtime::DataType type, double value);

/// Compares two tensors of one output.
Difference compare_tensors(const std::string& output, const runtime::Tensor& reference,
                           const runtime::Tensor& candidate, std::optional<Tolerance> tolerance = {});

/// Compares two lists of outputs of models that share the session's outputs.
Comparison compare_outputs(const runtime::Session& session, const std::vector<runtime::Tensor>& reference,
                           const std::vector<runtime::Tensor>& candidate,
                           std::optional<Tolerance> tolerance = {});

/// Runs both sessions on the inputs and compares the outputs in order.
Comparison compare(runtime::Session& reference, runtime::Session& candidate,
                   const std::vector<runtime::Tensor>& inputs, std::optional<Tolerance> tolerance = {});

/// Says how inputs and outputs of two models differ (names, types, order), in one line; empty when they do
/// not.
std::string interface_difference(const runtime::Session& reference, const runtime::Session& candidate);

}  // namespace graft::verify
