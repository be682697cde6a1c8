#pragma once
/// Lets you ask what is known of a value before the run: initializers, Constant nodes in every form, Identity
/// and Cast of them.
///
///   Constants constants(index);
///   if (const Constant* six = constants.find(value); six && six->scalar()) fmt::print("{}\n", six->value);
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/index.h"
#include "runtime/tensor.h"

namespace graft::graph {

using runtime::DataType;

struct Constant {
  DataType type = DataType::undefined;  ///< undefined where a CastLike decides it
  std::vector<int64_t> dims;
  int64_t count = 1;
  double value = 0;  ///< of the first element, when it could be read
  bool readable =
      false;  ///< a number that is in the model file itself, not a string, not external, not sparse
  bool overridable = false;  ///< a caller may replace it
  std::string attribute;     ///< not empty: the value is this attribute of the function around it
  const onnx::TensorProto* tensor = nullptr;  ///< all elements, when a tensor holds them

  bool scalar() const { return readable && count == 1; }
  int32_t rank() const { return static_cast<int32_t>(dims.size()); }
};

/// Reads an element of a tensor as double; nothing when the tensor is too short, holds strings or lies in an
/// external file.
std::optional<double> read_element(const onnx::TensorProto& tensor, int64_t position);

/// Gives the number of elements that the dimensions ask for; -1 when a dimension is negative or the number
/// too large.
int64_t count_elements(const onnx::TensorProto& tensor);

/// Rounds a number to a type: the nearest value, ties to even, kept as double. Types that are not floating
/// keep it.
double round_to(DataType type, double value);

class Constants {
 public:
  /// `folder` is the model's: single numbers that lie in external data are read from there. Without it they
  /// are not known.
  explicit Constants(const Index& index, std::filesystem::path folder = {})
      : index_(index), folder_(std::move(folder)) {}

  /// Gives what is known of a value, null when it is computed in the run. The pointer stays good.
  const Constant* find(ValueId value) const;

  /// Reads a constant of integers, such as axes or a shape.
  std::optional<std::vector<int64_t>> integers(ValueId value) const;

  /// Reads all the elements of a constant that has at most `most`.
  std::optional<std::vector<double>> elements(ValueId value, int64_t most) const;

  /// Lists the nodes that make a constant: its Constant node, and the Identity and Cast nodes behind it.
  void nodes(ValueId value, std::vector<NodeId>& list) const;

  /// Gives the value behind Identity nodes.
  ValueId behind_identity(ValueId value) const;

 private:
  std::optional<Constant> read(ValueId value) const;
  std::optional<Constant> read_node(NodeId node) const;
  Constant read_tensor(const onnx::TensorProto& tensor) const;

  const Index& index_;
  std::filesystem::path folder_;
  mutable std::deque<onnx::TensorProto> loaded_;
  mutable std::unordered_map<ValueId, Constant> known_;
  mutable std::vector<int8_t> state_;  ///< 0 not looked at, 1 no constant, 2 in known_
};

}  // namespace graft::graph
