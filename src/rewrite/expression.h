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
  DataType element = DataType::float32;  ///< the type of its literals
  bool mixed = false;  ///< sites of several types share the body: literals take the type of the first input
  int64_t opset = 0;   ///< of the model; 0 keeps the calls as they stand, for matching
};

/// Names the attribute that tells a shared body its element type where CastLike does not exist yet.
constexpr const char* dtype_attribute = "graft_dtype";

/// Says that an opset has no words for a definition; the text names the operator and the opset it needs.
struct OpsetError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Writes a definition as a function. OpsetError when the opset cannot express it.
onnx::FunctionProto write_function(const Definition& definition, const Wording& wording);

/// Sets the one element of a 0-d tensor, rounded once to its type.
void set_scalar(onnx::TensorProto& tensor, DataType type, double value);

}  // namespace graft::rewrite
