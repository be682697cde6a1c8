#include "fuse/words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace graft::fuse {
namespace {

using fused::Op;
using fused::Value;

/// Lists the words that a variable of a generated function cannot have: C++'s, and what the functions call.
constexpr std::array kReserved = std::to_array<std::string_view>(
    {"alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case",
     "catch", "char", "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval",
     "constexpr", "constinit", "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype",
     "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern",
     "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
     "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public",
     "register", "reinterpret_cast", "requires", "return", "short", "signed", "sizeof", "static",
     "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true",
     "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
     "wchar_t", "while", "xor", "xor_eq",
     // functions, types and macros of the SDK and of C
     "abs", "sign", "floor", "ceil", "round", "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log",
     "log1p", "sin", "cos", "tanh", "sigmoid", "erf", "relu", "softplus", "silu", "gelu", "gelu_tanh", "mish",
     "isnan", "isinf", "cast", "min", "max", "pow", "mod", "fmod", "clamp", "where", "outputs", "inputs",
     "types", "overloads", "m", "graft", "std", "float16", "bfloat16", "int8_t", "int16_t", "int32_t",
     "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "INFINITY", "NAN", "NULL", "EOF", "errno",
     "assert", "stdin", "stdout", "stderr", "linux", "unix"});

/// Lists the types of the SDK that an operator's name could be.
constexpr std::array kTypes = std::to_array<std::string_view>(
    {"Any",      "AnyOf",   "Arity",    "Condition", "Const",   "DType",   "Definition", "Dim",
     "Dims",     "Element", "Error",    "In",        "InOut",   "Kernel",  "Module",     "Node",
     "Operator", "Out",     "Overload", "Pool",      "Scalar",  "Scratch", "Shape",      "Symbol",
     "Target",   "Tensor",  "Tracer",   "Types",     "Variadic"});

}  // namespace

std::string as_identifier(const std::string& text) {
  std::string word;
  for (const char c : text) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 128;
    if (fits)
      word += c;
    else if (!word.empty() && word.back() != '_')
      word += '_';  // no two in a row: such names belong to the compiler
  }
  while (!word.empty() && word.back() == '_') word.pop_back();
  if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0]))) word.insert(0, "x");
  return word;
}

std::string unlike(const std::string& word, const std::set<std::string>& taken) {
  const bool reserved = std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end();
  if (!reserved && !taken.contains(word)) return word;
  const std::string between = std::isdigit(static_cast<unsigned char>(word.back())) ? "_" : "";
  for (int number = 2;; ++number) {
    std::string other = word + between + std::to_string(number);
    if (!taken.contains(other) && std::find(kReserved.begin(), kReserved.end(), other) == kReserved.end())
      return other;
  }
}

bool is_sdk_type(const std::string& name) {
  return std::find(kTypes.begin(), kTypes.end(), name) != kTypes.end();
}

std::string in_snake_case(const std::string& name) {
  std::string word;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !word.empty() &&
        !std::isupper(static_cast<unsigned char>(word.back())))
      word += '_';
    word += char(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

std::string onnx_name(Op op) {
  switch (op) {
    case Op::isnan:
      return "IsNaN";
    case Op::isinf:
      return "IsInf";
    case Op::equal:
      return "Equal";
    case Op::less:
      return "Less";
    case Op::less_equal:
      return "LessOrEqual";
    case Op::greater:
      return "Greater";
    case Op::greater_equal:
      return "GreaterOrEqual";
    case Op::gelu_tanh:
      return "GeluTanh";
    case Op::clamp:
      return "Clip";
    default:
      break;
  }
  std::string name(fused::info_of(op)->name);
  name[0] = char(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

std::string role_of(const fused::Program& program, int input) {
  for (const Value& value : program.values) {
    const auto at = std::find(value.operands.begin(), value.operands.end(), input);
    if (at == value.operands.end() || value.op == Op::input || value.op == Op::constant) continue;
    const long place = at - value.operands.begin();
    switch (value.op) {
      case Op::mul:
        return "scale";
      case Op::div:
        return place == 1 ? "divisor" : "y";
      case Op::add:
        return "bias";
      case Op::sub:
        return place == 1 ? "offset" : "y";
      case Op::pow:
        return place == 1 ? "exponent" : "y";
      case Op::clamp:
        return place == 1 ? "low" : place == 2 ? "high" : "y";
      case Op::where:
        return place == 0 ? "condition" : place == 1 ? "chosen" : "otherwise";
      case Op::logical_and:
      case Op::logical_or:
      case Op::logical_xor:
      case Op::logical_not:
        return "condition";
      default:
        return program.values[size_t(input)].type == fused::Type::boolean ? "condition" : "y";
    }
  }
  return "unused";
}

}  // namespace graft::fuse
