#pragma once
/// Lets you hold a definition as a graph of expressions, and write it as an ONNX function in the words that a
/// place asks for.
///
///   Definition definition = parse_definition("y = Mul(x, Sigmoid(x))", signature);
///   onnx::FunctionProto body = write_function(definition, {.element = DataType::float32, .opset = 17});
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "error.h"
#include "onnx-ml.pb.h"
#include "runtime/tensor.h"

namespace graft::rewrite {

using runtime::DataType;

/// Names an output of an expression; expression -1 is an argument that is left out.
struct Operand {
  int32_t expression = -1;
  int32_t slot = 0;
  bool operator==(const Operand&) const = default;
};

/// Refers to an attribute of the operator that is defined.
struct AttributeReference {
  std::string name;
};

/// Is a literal of a definition: a number keeps the double, and whether it was written without a point.
struct Number {
  double value = 0;
  bool integral = false;
};
using NumberList = std::vector<Number>;

/// Is an attribute given to a call: `axis=-1`, `mode="constant"`, `axes=[0, 1]`, `alpha=@alpha`.
struct CallAttribute {
  std::string name;
  std::variant<Number, NumberList, std::string, AttributeReference> value;
};

enum class ExpressionKind { input, attribute, number, list, string, call };

struct Expression {
  ExpressionKind kind = ExpressionKind::input;
  std::string name;    ///< of the input or attribute, the text of a string, or the operator's type
  std::string domain;  ///< of a call
  NumberList numbers;  ///< of a number (one) or a list
  std::vector<Operand> operands;
  std::vector<CallAttribute> attributes;
  int32_t outputs = 1;  ///< of a call
};

/// Says what a definition defines.
struct Signature {
  std::string domain;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;
  std::vector<int32_t> attribute_types;  ///< numbers of AttributeProto.AttributeType
};

struct Definition {
  Signature signature;
  int64_t opset = 0;  ///< that its calls are written for
  std::vector<Expression> expressions;
  std::vector<Operand> outputs;
};

/// Says in which words a definition is written down.
struct Wording {
  DataType element =
      DataType::float32;  ///< the type of its literals, or when they follow, what the body must serve
  bool follows = false;   ///< literals take the type of what the function is called with, also after a later
                          ///< tool changed it
  int64_t opset = 0;      ///< of the model; 0 keeps the calls as they stand, for matching
};

/// Is a number that a body takes from an attribute of the calling node, a tensor of the type that is computed
/// in: before CastLike (opset 15) no operator gives a literal the type of another value.
struct LiteralAttribute {
  std::string name;    ///< opens with literal_prefix
  NumberList numbers;  ///< of a number (one) or a list
  bool list = false;
  std::string source;  ///< not empty: the value is that of this attribute of the operator
};

/// Opens the names of attributes that are no attributes of the operator, but literals of its fallback.
constexpr std::string_view literal_prefix = "graft_";

/// Is the opset from which CastLike gives a literal the type of another value.
constexpr int64_t cast_like_opset = 15;

/// Says that an opset has no words for a definition; the text names the operator and the opset it needs.
struct OpsetError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Writes a definition as a function, and says which literals the calling nodes must bring. OpsetError when
/// the opset cannot express it.
onnx::FunctionProto write_function(const Definition& definition, const Wording& wording,
                                   std::vector<LiteralAttribute>* literals = nullptr);

/// Sets the one element of a 0-d tensor, rounded once to its type.
void set_scalar(onnx::TensorProto& tensor, DataType type, double value);

/// Sets the elements of a vector, or of a 0-d tensor when `list` is false, each rounded once.
void set_numbers(onnx::TensorProto& tensor, DataType type, const std::vector<double>& values, bool list);

}  // namespace graft::rewrite
