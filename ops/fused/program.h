// A fused region as a program: what it reads, what it computes, what it gives, in a line of text.
//
//   in f32; k f32 3; add f32 0 1; k f32 0; k f32 6; clamp f32 2 3 4; mul f32 0 5; div f32 6 4; out 7
//
// Each statement but `out` makes the next value, counted from 0. `in T` is the next input; inputs come first. `k T N` is a
// constant: decimal, hexadecimal float, inf, -inf or nan. `OP T A B ...` computes with earlier values; T is the type of
// the result. `out A B ...` comes last and lists the results in the order of the outputs. Elements are combined one by one,
// inputs broadcast as ONNX broadcasts.
//
// What an operator means is what ONNX says of the operator beside it in the table; operands of arithmetic and comparisons
// have one type. f16 and bf16 are computed in float32: inputs are widened, results rounded once, and `cast` to one of
// them rounds too. Where ONNX leaves integers open: division and remainder by 0 give 0, a float out of an integer's range
// becomes what the processor makes of it.
//
// The command writes programs (src/fuse), the operators of fused.cc run them; this is what both agree on.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace graft::fused {

enum class Type : uint8_t { f32, f64, f16, bf16, i32, i64, boolean };
inline constexpr std::array<std::string_view, 7> kTypeNames = {"f32", "f64", "f16", "bf16", "i32", "i64", "bool"};

constexpr bool is_floating(Type type) { return type <= Type::bf16; }
constexpr bool is_integer(Type type) { return type == Type::i32 || type == Type::i64; }

enum class Op : uint8_t {
  input, constant,
  // of one value
  neg, abs, sign, floor, ceil, round, sqrt, reciprocal, exp, expm1, log, log1p, sin, cos, tanh, sigmoid, erf, relu, softplus,
  silu, gelu, gelu_tanh, mish, isnan, isinf, logical_not, cast,
  // of two
  add, sub, mul, div, min, max, pow, mod, fmod, equal, less, less_equal, greater, greater_equal, logical_and, logical_or,
  logical_xor,
  // of three
  clamp, where
};

/// Says which values an operator takes.
enum class Operands : uint8_t {
  numbers,   ///< of the result's type, f32 to i64
  floats,    ///< of the result's type, floating
  compared,  ///< of one type; the result is bool
  tested,    ///< floating; the result is bool
  logical,   ///< bool, as the result
  any,       ///< one value of any type (cast)
  chosen     ///< where: a bool, then two of the result's type, which may be bool
};

struct OpInfo {
  Op op;
  std::string_view name;
  int arity;
  Operands operands;
};

/// Lists the operators; ONNX's name stands behind where it is another.
inline constexpr std::array kOps = {
    OpInfo{Op::neg, "neg", 1, Operands::numbers},
    OpInfo{Op::abs, "abs", 1, Operands::numbers},
    OpInfo{Op::sign, "sign", 1, Operands::numbers},           // NaN gives NaN, -0 gives 0
    OpInfo{Op::floor, "floor", 1, Operands::floats},
    OpInfo{Op::ceil, "ceil", 1, Operands::floats},
    OpInfo{Op::round, "round", 1, Operands::floats},          // halves to even
    OpInfo{Op::sqrt, "sqrt", 1, Operands::floats},
    OpInfo{Op::reciprocal, "reciprocal", 1, Operands::floats},
    OpInfo{Op::exp, "exp", 1, Operands::floats},
    OpInfo{Op::expm1, "expm1", 1, Operands::floats},          // exp(x) - 1: in Elu, Selu, Celu
    OpInfo{Op::log, "log", 1, Operands::floats},
    OpInfo{Op::log1p, "log1p", 1, Operands::floats},          // log(1 + x)
    OpInfo{Op::sin, "sin", 1, Operands::floats},
    OpInfo{Op::cos, "cos", 1, Operands::floats},
    OpInfo{Op::tanh, "tanh", 1, Operands::floats},
    OpInfo{Op::sigmoid, "sigmoid", 1, Operands::floats},
    OpInfo{Op::erf, "erf", 1, Operands::floats},
    OpInfo{Op::relu, "relu", 1, Operands::numbers},           // NaN stays
    OpInfo{Op::softplus, "softplus", 1, Operands::floats},
    OpInfo{Op::silu, "silu", 1, Operands::floats},            // x * sigmoid(x)
    OpInfo{Op::gelu, "gelu", 1, Operands::floats},            // Gelu, approximate none
    OpInfo{Op::gelu_tanh, "gelu_tanh", 1, Operands::floats},  // Gelu, approximate tanh
    OpInfo{Op::mish, "mish", 1, Operands::floats},
    OpInfo{Op::isnan, "isnan", 1, Operands::tested},
    OpInfo{Op::isinf, "isinf", 1, Operands::tested},          // of both signs
    OpInfo{Op::logical_not, "not", 1, Operands::logical},
    OpInfo{Op::cast, "cast", 1, Operands::any},
    OpInfo{Op::add, "add", 2, Operands::numbers},
    OpInfo{Op::sub, "sub", 2, Operands::numbers},
    OpInfo{Op::mul, "mul", 2, Operands::numbers},
    OpInfo{Op::div, "div", 2, Operands::numbers},             // integers: towards zero
    OpInfo{Op::min, "min", 2, Operands::numbers},             // NaN wins
    OpInfo{Op::max, "max", 2, Operands::numbers},             // NaN wins
    OpInfo{Op::pow, "pow", 2, Operands::floats},
    OpInfo{Op::mod, "mod", 2, Operands::numbers},             // Mod, fmod 0: the divisor's sign; integers only
    OpInfo{Op::fmod, "fmod", 2, Operands::numbers},           // Mod, fmod 1: the dividend's sign
    OpInfo{Op::equal, "eq", 2, Operands::compared},
    OpInfo{Op::less, "lt", 2, Operands::compared},
    OpInfo{Op::less_equal, "le", 2, Operands::compared},
    OpInfo{Op::greater, "gt", 2, Operands::compared},
    OpInfo{Op::greater_equal, "ge", 2, Operands::compared},
    OpInfo{Op::logical_and, "and", 2, Operands::logical},
    OpInfo{Op::logical_or, "or", 2, Operands::logical},
    OpInfo{Op::logical_xor, "xor", 2, Operands::logical},
    OpInfo{Op::clamp, "clamp", 3, Operands::numbers},         // Clip: min(max(x, low), high); NaN in x stays
    OpInfo{Op::where, "where", 3, Operands::chosen},
};

/// Gives the row of an operator; null for inputs and constants.
constexpr const OpInfo* info_of(Op op) {
  for (const OpInfo& info : kOps) {
    if (info.op == op) return &info;
  }
  return nullptr;
}

/// Is one value: how it is made, and of which type it is.
struct Value {
  Op op = Op::input;
  Type type = Type::f32;
  std::array<int, 3> operands = {-1, -1, -1};  ///< numbers of earlier values
  double number = 0;                           ///< of a constant, exact in `type`; integers beyond 2^53 are not written
  bool operator==(const Value&) const = default;
};

struct Program {
  std::vector<Value> values;  ///< inputs first
  std::vector<int> outputs;
  bool operator==(const Program&) const = default;

  int input_count() const {
    int count = 0;
    while (size_t(count) < values.size() && values[size_t(count)].op == Op::input) ++count;
    return count;
  }
};

/// Says what is wrong with a program; empty: nothing.
inline std::string fault_of(const Program& program) {
  const auto fault = [](size_t at, std::string_view what) { return "value " + std::to_string(at) + " " + std::string(what); };
  const size_t inputs = size_t(program.input_count());
  if (inputs == 0) return "it has no input";
  for (size_t i = inputs; i < program.values.size(); ++i) {
    const Value& value = program.values[i];
    if (value.op == Op::input) return fault(i, "is an input behind other values: inputs come first");
    if (value.op == Op::constant) continue;
    const OpInfo& info = *info_of(value.op);
    const auto type_of = [&](int k) { return program.values[size_t(value.operands[size_t(k)])].type; };
    for (int k = 0; k < info.arity; ++k) {
      const int operand = value.operands[size_t(k)];
      if (operand < 0 || size_t(operand) >= i) return fault(i, "reads a value that is not there before it");
    }
    const int first = info.operands == Operands::chosen ? 1 : 0;
    for (int k = first + 1; k < info.arity; ++k) {
      if (type_of(k) != type_of(first)) return fault(i, "combines two types: write a cast");
    }
    bool fits = true;
    switch (info.operands) {
      case Operands::numbers: fits = value.type != Type::boolean && type_of(0) == value.type; break;
      case Operands::floats: fits = is_floating(value.type) && type_of(0) == value.type; break;
      case Operands::compared: fits = value.type == Type::boolean; break;
      case Operands::tested: fits = value.type == Type::boolean && is_floating(type_of(0)); break;
      case Operands::logical: fits = value.type == Type::boolean && type_of(0) == Type::boolean; break;
      case Operands::any: break;
      case Operands::chosen: fits = type_of(0) == Type::boolean && type_of(1) == value.type; break;
    }
    if (value.op == Op::mod && !is_integer(value.type)) fits = false;
    if (!fits) return fault(i, "has a type that " + std::string(info.name) + " does not take or give");
  }
  if (program.outputs.empty()) return "it gives nothing: `out` is missing";
  for (int output : program.outputs) {
    if (output < 0 || size_t(output) >= program.values.size()) return "an output is no value of it";
  }
  return "";
}

namespace detail {

/// Splits a text at a character and gives the parts one by one, without spaces around them.
class Splitter {
 public:
  Splitter(std::string_view text, char at) : rest_(text), at_(at) {}

  std::optional<std::string_view> next() {
    while (!done_) {
      const size_t end = rest_.find(at_);
      std::string_view part = rest_.substr(0, end);
      done_ = end == std::string_view::npos;
      if (!done_) rest_.remove_prefix(end + 1);
      while (!part.empty() && is_space(part.front())) part.remove_prefix(1);
      while (!part.empty() && is_space(part.back())) part.remove_suffix(1);
      if (!part.empty()) return part;
    }
    return {};
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
  std::string_view rest_;
  char at_;
  bool done_ = false;
};

[[noreturn]] inline void refuse(std::string_view statement, const std::string& why) {
  throw std::invalid_argument("\"" + std::string(statement) + "\": " + why);
}

template <class T>
T read_number(std::string_view statement, std::string_view word) {
  T number{};
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<T>) {
    const bool negative = word.starts_with('-');
    std::string_view digits = word.substr(negative ? 1 : 0);
    const bool hexadecimal = digits.starts_with("0x");
    if (hexadecimal) digits.remove_prefix(2);
    result = std::from_chars(digits.data(), digits.data() + digits.size(), number,
                             hexadecimal ? std::chars_format::hex : std::chars_format::general);
    if (negative) number = -number;
  } else {
    result = std::from_chars(word.data(), word.data() + word.size(), number);
  }
  if (result.ec != std::errc{} || result.ptr != word.data() + word.size())
    refuse(statement, "\"" + std::string(word) + "\" is no number");
  return number;
}

inline Type read_type(std::string_view statement, std::optional<std::string_view> word) {
  for (size_t i = 0; word && i < kTypeNames.size(); ++i) {
    if (kTypeNames[i] == *word) return Type(i);
  }
  refuse(statement, "a type is missing: f32, f64, f16, bf16, i32, i64 or bool");
}

}  // namespace detail

/// Reads a program; std::invalid_argument says which statement is wrong and why.
inline Program read_program(std::string_view text) {
  Program program;
  detail::Splitter statements(text, ';');
  while (const auto statement = statements.next()) {
    if (!program.outputs.empty()) detail::refuse(*statement, "nothing comes behind `out`");
    detail::Splitter words(*statement, ' ');
    const std::string_view name = *words.next();
    if (name == "out") {
      while (const auto word = words.next()) program.outputs.push_back(detail::read_number<int>(*statement, *word));
      continue;
    }
    Value value;
    value.type = detail::read_type(*statement, words.next());
    size_t arity = 0;
    if (name == "k") {
      value.op = Op::constant;
      const auto word = words.next();
      if (!word) detail::refuse(*statement, "the number is missing");
      value.number = detail::read_number<double>(*statement, *word);
    } else if (name != "in") {
      const OpInfo* found = nullptr;
      for (const OpInfo& info : kOps) {
        if (info.name == name) found = &info;
      }
      if (found == nullptr) detail::refuse(*statement, "there is no operator of this name");
      value.op = found->op;
      arity = size_t(found->arity);
    }
    for (size_t k = 0; k < arity; ++k) {
      const auto word = words.next();
      if (!word) detail::refuse(*statement, "it takes " + std::to_string(arity) + " values");
      value.operands[k] = detail::read_number<int>(*statement, *word);
    }
    if (words.next()) detail::refuse(*statement, "it has too many words");
    program.values.push_back(value);
  }
  if (const std::string fault = fault_of(program); !fault.empty()) throw std::invalid_argument(fault);
  return program;
}

/// Writes a number so that it is read back as it is.
inline std::string write_number(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

/// Writes a program on one line.
inline std::string write_program(const Program& program) {
  std::string text;
  for (const Value& value : program.values) {
    const std::string_view type = kTypeNames[size_t(value.type)];
    if (value.op == Op::input) {
      text += "in " + std::string(type);
    } else if (value.op == Op::constant) {
      text += "k " + std::string(type) + " " + write_number(value.number);
    } else {
      const OpInfo& info = *info_of(value.op);
      text += std::string(info.name) + " " + std::string(type);
      for (int k = 0; k < info.arity; ++k) text += " " + std::to_string(value.operands[size_t(k)]);
    }
    text += "; ";
  }
  text += "out";
  for (int output : program.outputs) text += " " + std::to_string(output);
  return text;
}

}  // namespace graft::fused
