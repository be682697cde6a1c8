#pragma once
/// Lets you hold what is known of a tensor's type before the run, each part possibly unknown.
///
///   Type type = broadcast({x, y});
///   if (type.rank() == 4) ...
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onnx-ml.pb.h"
#include "runtime/tensor.h"

namespace graft::graph {

using runtime::DataType;

/// Is a size (0 or more), `unknown`, or the number of a symbol such as "batch" (below -1).
using Dim = int64_t;
constexpr Dim unknown = -1;

struct Type {
  DataType type = DataType::undefined;
  std::optional<std::vector<Dim>> dims;  ///< nothing: not even the rank is known

  /// Gives the rank, -1 when it is not known.
  int32_t rank() const { return dims ? static_cast<int32_t>(dims->size()) : -1; }
  bool operator==(const Type&) const = default;
};

/// Gives the shape that ONNX's broadcasting makes of several; unknown where one is.
std::optional<std::vector<Dim>> broadcast(std::span<const Type* const> types);

/// Gives what two descriptions of one value have in common.
Type common(const Type& one, const Type& other);

/// Numbers the names of symbolic dimensions.
class Symbols {
 public:
  Dim number(const std::string& name);
  const std::string& name(Dim symbol) const { return names_[static_cast<size_t>(-2 - symbol)]; }

  /// Reads a declared type; not a tensor: undefined, of unknown rank.
  Type read(const onnx::TypeProto& type);

  /// Writes a type into a declaration.
  void write(const Type& type, onnx::TypeProto& declared) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace graft::graph
