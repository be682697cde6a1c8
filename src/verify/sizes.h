#pragma once
/// Lets you go through sizes for the dimensions that a model leaves open, the likeliest first.
///
///   SizeChoices choices(session.inputs(), {{"x", {1, 3, 64, 64}}});
///   do { shapes = choices.shapes(); } while (!accepted(shapes) && choices.next());
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace graft::verify {

/// Chooses sizes by the place of a dimension: batch 1; height and width of images together; channels;
/// lengths. Dimensions of one symbolic name get one size.
class SizeChoices {
 public:
  /// Takes what is given: whole shapes by input, or one size by symbolic name. InputError when they
  /// contradict the model.
  SizeChoices(const std::vector<runtime::ValueDescription>& inputs,
              const std::map<std::string, runtime::Shape>& given);

  /// Tells whether anything is left to choose.
  bool open() const;

  /// Gives the shapes of the current choice, by input.
  std::map<std::string, runtime::Shape> shapes() const;

  /// Moves to the next choice; false when all have been tried.
  bool next();

  /// Writes the options that would settle the open inputs, with the model's names: "--shape x=N,3,H,W".
  std::string wanted() const;

 private:
  enum class Role { fixed, batch, channel, height, width, length };
  struct Place {
    Role role = Role::fixed;
    int64_t size = 0;  // of a fixed one
  };
  struct Input {
    runtime::ValueDescription value;
    std::vector<Place> places;
    bool given = false;     // the user gave its whole shape
    bool any_rank = false;  // ORT tells no dimensions: a scalar, or an unknown rank
  };

  void bind_given(const std::map<std::string, runtime::Shape>& given);
  void take_shape(Input& input, const runtime::Shape& shape);
  void bind_symbol(const std::string& symbol, int64_t size, const std::string& source);
  void assign_roles(Input& input);
  bool has(Role role) const;
  int64_t size_of(const Place& place) const;

  std::vector<Input> inputs_;
  std::map<std::string, Place> symbols_;
  std::vector<int64_t> lengths_;
  size_t image_ = 0, channel_ = 0, length_ = 0, rank_ = 0;
};

}  // namespace graft::verify
