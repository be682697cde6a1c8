#pragma once
/// Lets you make inputs that a model accepts, from nothing but the model.
///
///   InputPlan plan = settle(session, {.shapes = {{"x", {1, 3, 736, 736}}}});
///   std::vector<Tensor> inputs = make_inputs(session, plan);
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace graft::verify {

/// Names the kinds of random data for floating inputs: standard normal; signs and magnitudes from 1e-4 to
/// 1e4; for images, dark strokes on white, since many vision models give next to nothing on noise; or normal
/// with NaN, infinities, zeros of both signs, denormals and the largest values strewn in.
enum class Distribution { normal, wide, strokes, special };

std::string_view to_string(Distribution distribution);

/// Gives the smallest and the largest integer to make; 0 and 1 work as indices and as flags.
struct IntegerRange {
  int64_t least = 0;
  int64_t most = 1;
};

/// Says what is known of the inputs. A key of `shapes` is an input's name, or the name of a symbolic
/// dimension (one size).
struct InputPlan {
  std::map<std::string, runtime::Shape> shapes = {};
  std::map<std::string, runtime::Tensor> values = {};  ///< inputs given by the user, used as they are
  std::map<std::string, IntegerRange> integers = {};   ///< by input; without one, 0 and 1
  uint64_t seed = 1;
  Distribution distribution = Distribution::normal;
};

/// Completes a plan with a shape for every input, trying sizes until the session accepts a run. Symbolic
/// dimensions of one name get one size. Integer inputs that look like data (64 elements and more) get 0 to
/// 255, and those called a length get the length of the floating input, where the session accepts it.
/// InputError when a given name, type or rank does not fit, or when no size that was tried is accepted; it
/// then says which --shape to give and what ORT said last.
InputPlan settle(runtime::Session& session, InputPlan plan);

/// Tells whether an input of a settled plan looks like images: four dimensions, 1, 3 or 4 channels, 16 pixels
/// and more.
bool takes_images(const runtime::Session& session, const InputPlan& plan);

/// Makes the inputs of a settled plan, in the order of the session's inputs; the same plan gives the same
/// bytes. Integers and bools are 0 or 1, so that they work as indices.
std::vector<runtime::Tensor> make_inputs(const runtime::Session& session, const InputPlan& plan);

}  // namespace graft::verify
