#pragma once
/// Lets definitions and models be read in one normal form, so that spellings that mean the same look the
/// same:
///
///   product   Mul, Div, Neg, Reciprocal, Pow by 2 or 3: a coefficient and factors to the power 1 or -1
///   sum       Add and Sub of two terms, each with a sign; Neg of a term is its sign
///   clip      Clip with attributes or inputs, Relu, Min and Max with a constant, and these of each other
///   operation everything else; Greater is Less turned round, Where(Not(c), a, b) is Where(c, b, a), Pow by
///   0.5 is Sqrt,
///             axes are an attribute
///
/// Composites are spelled out before (spelling.h), Identity is looked through, constants may have any form
/// (graph/constant.h).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/constant.h"
#include "graph/index.h"
#include "rewrite/spelling.h"

namespace graft::rewrite {

using graph::DataType;
using graph::NodeId;
using graph::none;
using graph::ValueId;

/// Is a constant as a range: all the numbers that round to it in its type. What is computed of constants has
/// the range that this computation gives, so that 1/6 rounded to float and a division by 6 agree.
struct Real {
  double value = 1;
  double low = 1, high = 1;
  bool neutral = true;  ///< nothing was multiplied in yet
  bool direct = true;   ///< as it stands in the file, not computed
  DataType type = DataType::float64;

  static Real of(double value, DataType type);
  Real operator*(const Real& other) const;
  Real operator-() const;
  Real inverse() const;
};

/// Tells whether a model's constant is the one that a definition asks for: the nearest value in its type, or,
/// where either was computed, ranges that meet.
bool agree(const Real& wanted, const Real& found);

enum class Form { input, constant, product, sum, clip, operation, opaque };

/// Is a factor of a product; `scaled` stands for a clip whose scale has been taken out: Clip(a*x + b, l, h) =
/// a * Clip(x + b/a, l/a, h/a).
struct Factor {
  ValueId value = none;
  int8_t exponent = 1;
  bool scaled = false;
};

/// Is a term of a sum: as the Add or Sub reads it, and with the Neg before it as a sign.
struct Term {
  ValueId value = none;
  int8_t sign = 1;
  ValueId bare = none;
  int8_t bare_sign = 1;
  std::vector<NodeId> nodes;  ///< the Neg that were taken off
};

struct Sum {
  Term terms[2];
  NodeId node = none;  ///< the Add or Sub
};

/// Is a bound of a clip.
struct Bound {
  enum Kind { absent, number, attribute, computed } kind = absent;
  Real real;
  std::string name;      ///< of an attribute
  ValueId value = none;  ///< where a value holds it
};

struct Clip {
  ValueId operand = none;
  Bound low, high;
  std::vector<NodeId> nodes;
  std::vector<std::pair<ValueId, NodeId>>
      constants;  ///< that Min and Max read: their shapes broadcast, whichever bound counts in the end
};

/// Is Clip(x + offset, low, high) after its scale has been taken out.
struct ScaledClip {
  ValueId x = none;
  Real scale, offset, low, high;
  std::vector<NodeId> nodes;
  std::vector<std::pair<ValueId, NodeId>> constants;  ///< read on the way, and by which node
};

struct Operation {
  std::string op, domain;
  int32_t slot = 0;
  std::vector<ValueId> operands;
  std::vector<NodeId> nodes;
  NodeId node = none;
  std::optional<std::vector<int64_t>> axes;
  std::vector<std::pair<ValueId, NodeId>>
      constants;  ///< read on the way and not among the operands, and by which node
};

/// Is one way to take a product apart: the factors of a factor, and what else was read.
struct Expansion {
  std::vector<Factor> factors;
  Real coefficient;
  std::string attribute;  ///< multiplied in too, when not empty
  int8_t attribute_exponent = 1;
  std::vector<NodeId> nodes;
  std::vector<std::pair<ValueId, NodeId>> constants;
};

class NormalForm {
 public:
  NormalForm(const graph::Index& index, const graph::Constants& constants, const Spellings& spellings)
      : index_(index), constants_(constants), spellings_(spellings) {}

  /// Gives the value behind Identity nodes and composites; lists the Identity nodes.
  ValueId resolve(ValueId value, std::vector<NodeId>* passed = nullptr) const;

  /// Tells how a resolved value is made.
  Form form(ValueId value) const;

  /// Gives a scalar constant that no caller can override; its range is that of its type.
  const graph::Constant* scalar(ValueId value) const;

  /// Takes a factor apart, if it is a product; `elastic` also the scale out of a clip.
  std::optional<Expansion> expand(const Factor& factor) const;
  std::optional<Sum> sum(ValueId value) const;

  /// Reads a clip; `merge` at most this many clips of one another into one.
  std::optional<Clip> clip(ValueId value, int merge) const;
  std::optional<ScaledClip> scaled_clip(ValueId value) const;
  std::optional<Operation> operation(ValueId value) const;

  const graph::Index& index() const { return index_; }
  const graph::Constants& constants() const { return constants_; }

  /// Gives the node that makes a resolved value; `none` for inputs and constants.
  NodeId producer(ValueId value) const;

  /// Gives the operator's type of a node of ONNX's own domain, nothing for others.
  std::string_view op(NodeId node) const;

 private:
  /// Tells whether a node has the operands that its operator cannot do without; hostile models leave them
  /// out.
  bool has_operands(NodeId node, std::string_view name) const;

  Bound bound_of(ValueId value) const;

  const graph::Index& index_;
  const graph::Constants& constants_;
  const Spellings& spellings_;
};

}  // namespace graft::rewrite
