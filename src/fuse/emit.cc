#include "fuse/emit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "fuse/expression.h"
#include "fuse/words.h"

namespace graft::fuse {
namespace {

using fused::Op;
using fused::Type;
using fused::Value;

constexpr size_t kLineWidth = 120;
constexpr size_t kExpressionWidth = 88;

std::string_view cpp_type(Type type) {
  static constexpr std::array<std::string_view, 7> names = {"float",   "double",  "float16", "bfloat16",
                                                            "int32_t", "int64_t", "bool"};
  return names[size_t(type)];
}

std::string join(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

// ---- numbers
// -----------------------------------------------------------------------------------------------------

template <class T> std::string shortest(T number) {
  std::array<char, 40> buffer{};
  std::string text(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr);
  if (const size_t e = text.find('e'); e != std::string::npos) {  // 1e+05, 1e-05
    size_t digits = e + 1;
    const bool negative = text[digits] == '-';
    if (text[digits] == '-' || text[digits] == '+') ++digits;
    while (text[digits] == '0') ++digits;
    text = text.substr(0, e) + (negative ? "e-" : "e") + text.substr(digits);
  }
  return text;
}

/// Writes a constant as a literal that is rounded to its type, once; `exact_type` makes it one of C++'s type
/// too.
std::string literal(Type type, double number, bool exact_type = false) {
  if (type == Type::boolean) return number != 0 ? "true" : "false";
  if (type == Type::i32 || type == Type::i64) {
    const std::string text = std::to_string(int64_t(number));
    return exact_type && type == Type::i64 ? "int64_t{" + text + "}" : text;
  }
  if (std::isnan(number)) return "NAN";
  if (std::isinf(number)) {
    const std::string text = number < 0 ? "-INFINITY" : "INFINITY";
    return exact_type && type == Type::f64 ? "double{" + text + "}" : text;
  }
  std::string text;
  if (type == Type::f64) {
    text = shortest(number);
  } else {
    text = shortest(float(number));
    // A literal is a double first; should that be rounded the other way, more digits say it exactly.
    if (float(std::strtod(text.c_str(), nullptr)) != float(number)) text = shortest(number);
  }
  const bool whole = text.find_first_of(".e") == std::string::npos;
  if (whole && (exact_type || std::signbit(number) > (number < 0) || std::fabs(number) > 2147483647.0))
    text += ".0";
  return exact_type && type != Type::f64 ? text + "f" : text;
}

// ---- functions
// ---------------------------------------------------------------------------------------------------

/// Is a piece of C++, and how tightly its outermost operator binds.
struct Text {
  std::string text;
  int looseness =
      0;  ///< 0 a name or a call, 1 unary, 2 product, 3 sum, 4 comparison, 5 equality, 6 and, 7 or
};

struct Infix {
  std::string_view sign;
  int looseness;
};

Infix infix_of(Op op) {
  switch (op) {
    case Op::mul:
      return {"*", 2};
    case Op::div:
      return {"/", 2};
    case Op::add:
      return {"+", 3};
    case Op::sub:
      return {"-", 3};
    case Op::less:
      return {"<", 4};
    case Op::less_equal:
      return {"<=", 4};
    case Op::greater:
      return {">", 4};
    case Op::greater_equal:
      return {">=", 4};
    case Op::equal:
      return {"==", 5};
    case Op::logical_xor:
      return {"!=", 5};
    case Op::logical_and:
      return {"&&", 6};
    case Op::logical_or:
      return {"||", 7};
    default:
      return {"", 0};
  }
}

std::string in_parentheses_if(bool wanted, const std::string& text) {
  return wanted ? "(" + text + ")" : text;
}

/// Writes the call operator of a program.
class FunctionWriter {
 public:
  FunctionWriter(const fused::Program& program, const std::vector<std::string>& input_names)
      : graph_(simplify(program)),
        texts_(graph_.nodes.size()),
        names_(input_names.begin(), input_names.end()) {
    for (size_t i = 0; i < input_names.size(); ++i) texts_[i].text = input_names[i];
    parameters_ = input_names;
  }

  std::string write() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.uses[i] == 0 || graph_.nodes[i].op == Op::input || graph_.nodes[i].op == Op::constant)
        continue;
      texts_[i] = write_node(graph_.nodes[i]);
      for (int child;
           texts_[i].text.size() > kExpressionWidth && (child = longest_operand(graph_.nodes[i])) >= 0;) {
        give_name(child);
        texts_[i] = write_node(graph_.nodes[i]);
      }
      if (graph_.uses[i] > 1) give_name(int(i));
    }
    std::vector<std::string> results;
    for (const int output : graph_.outputs) results.push_back(operand(output, 9).text);
    std::string text = results.size() == 1 ? results[0] : "outputs{" + join(results, ", ") + "}";
    if (results.size() == 1 && graph_.nodes[size_t(graph_.outputs[0])].op == Op::constant) {
      const Value& constant = graph_.nodes[size_t(graph_.outputs[0])];
      text = literal(constant.type, constant.number, true);
    }
    return layout("return " + text + ";");
  }

 private:
  /// Writes an operand, in parentheses when it binds more loosely than wanted.
  Text operand(int index, int looseness) const {
    const Value& node = graph_.nodes[size_t(index)];
    if (node.op == Op::constant) return {literal(node.type, node.number), std::signbit(node.number) ? 1 : 0};
    const Text& text = texts_[size_t(index)];
    return {in_parentheses_if(text.looseness > looseness, text.text), text.looseness};
  }

  Text write_node(const Value& node) const {
    if (node.op == Op::neg || node.op == Op::logical_not) {
      return {(node.op == Op::neg ? "-" : "!") + operand(node.operands[0], 0).text, 1};
    }
    if (const Infix infix = infix_of(node.op); infix.looseness > 0) return write_infix(node, infix);
    std::string text = function_of(node) + "(";
    for (size_t k = 0; k < 3 && node.operands[k] >= 0; ++k) text += (k ? ", " : "") + argument(node, int(k));
    return {text + ")", 0};
  }

  /// Writes an argument of a call. Where all are literals the first names the type.
  std::string argument(const Value& node, int k) const {
    const Value& value = graph_.nodes[size_t(node.operands[size_t(k)])];
    if (node.op == Op::where && k > 0 && value.op == Op::constant) {
      const bool alone = graph_.nodes[size_t(node.operands[1])].op == Op::constant &&
                         graph_.nodes[size_t(node.operands[2])].op == Op::constant;
      return literal(value.type, value.number, alone);
    }
    return operand(node.operands[size_t(k)], 9).text;
  }

  Text write_infix(const Value& node, const Infix& infix) const {
    const Value& right = graph_.nodes[size_t(node.operands[1])];
    std::string sign(infix.sign);
    // Subtraction and division do not associate, and a product of floats is rounded in its order. g++ asks
    // for parentheses where && stands in ||, and readers where comparisons stand in comparisons.
    const int inner = infix.looseness >= 6 ? 5 : 3;
    const int left_looseness = infix.looseness >= 4 ? inner : infix.looseness;
    const int right_looseness = infix.looseness >= 4 ? inner : infix.looseness - 1;
    const std::string left = operand(node.operands[0], chains(node) ? infix.looseness : left_looseness).text;
    std::string text = operand(node.operands[1], right_looseness).text;
    if ((node.op == Op::add || node.op == Op::sub) && right.op == Op::constant && right.number < 0 &&
        std::isfinite(right.number) && right.number > -2147483648.0) {
      sign = node.op == Op::add ? "-" : "+";
      text = literal(right.type, -right.number);
    }
    return {left + " " + sign + " " + text, infix.looseness};
  }

  /// Says whether the left operand is the same && or ||.
  bool chains(const Value& node) const {
    return (node.op == Op::logical_and || node.op == Op::logical_or) &&
           graph_.nodes[size_t(node.operands[0])].op == node.op;
  }

  static std::string function_of(const Value& node) {
    switch (node.op) {
      case Op::cast:
        return "cast<" + std::string(cpp_type(node.type)) + ">";
      default:
        return std::string(fused::info_of(node.op)->name);
    }
  }

  /// Finds the longest operand that is an expression, to give it a name; -1: none.
  int longest_operand(const Value& node) const {
    int longest = -1;
    size_t most = 12;
    for (const int index : node.operands) {
      if (index < 0 || graph_.nodes[size_t(index)].op == Op::constant ||
          graph_.nodes[size_t(index)].op == Op::input)
        continue;
      const std::string& text = texts_[size_t(index)].text;
      if (text.find_first_of("( ") == std::string::npos || text.size() <= most) continue;
      longest = index;
      most = text.size();
    }
    return longest;
  }

  void give_name(int index) {
    const std::string name = unused(name_of_value(index));
    statements_.push_back("const auto " + name + " = " + texts_[size_t(index)].text + ";");
    texts_[size_t(index)] = {name, 0};
  }

  /// Says in a word what a value is.
  std::string name_of_value(int index) const {
    const Value& node = graph_.nodes[size_t(index)];
    if (const Idiom idiom = find_idiom(graph_, index); !idiom.name.empty()) {
      return idiom.name == "Clip" ? "clamped" : in_snake_case(idiom.name);
    }
    for (const int operand : node.operands) {
      if (operand < 0 || graph_.nodes[size_t(operand)].op != Op::input) continue;
      const std::string& role = texts_[size_t(operand)].text;
      if (node.op == Op::add && role.find("bias") == 0) return "biased";
      if (node.op == Op::mul && role.find("scale") == 0) return "scaled";
    }
    switch (node.op) {
      case Op::neg:
        return "negated";
      case Op::abs:
        return "magnitude";
      case Op::sign:
        return "direction";
      case Op::floor:
      case Op::ceil:
      case Op::round:
        return "whole";
      case Op::sqrt:
        return "root";
      case Op::reciprocal:
        return "inverse";
      case Op::exp:
        return "power";
      case Op::expm1:
        return "growth";
      case Op::log:
      case Op::log1p:
        return "logarithm";
      case Op::sin:
        return "sine";
      case Op::cos:
        return "cosine";
      case Op::tanh:
        return "bent";
      case Op::sigmoid:
        return "gate";
      case Op::relu:
        return "positive";
      case Op::softplus:
      case Op::silu:
      case Op::gelu:
      case Op::gelu_tanh:
      case Op::mish:
      case Op::erf:
        return "activated";
      case Op::isnan:
        return "missing";
      case Op::isinf:
        return "infinite";
      case Op::logical_not:
        return "inverted";
      case Op::cast:
        return node.type == Type::boolean ? "present" : "converted";
      case Op::add:
        return "sum";
      case Op::sub:
        return "difference";
      case Op::mul:
        return "product";
      case Op::div:
        return "quotient";
      case Op::min:
        return "smaller";
      case Op::max:
        return "larger";
      case Op::pow:
        return "power";
      case Op::mod:
      case Op::fmod:
        return "rest";
      case Op::equal:
        return "same";
      case Op::less:
      case Op::less_equal:
        return "below";
      case Op::greater:
      case Op::greater_equal:
        return "above";
      case Op::logical_and:
        return "both";
      case Op::logical_or:
        return "either";
      case Op::logical_xor:
        return "differs";
      case Op::where:
        return "chosen";
      default:
        return "value";
    }
  }

  std::string unused(const std::string& wanted) {
    const std::string name = unlike(wanted, names_);
    names_.insert(name);
    return name;
  }

  /// Lays out the call operator: on one line when it fits there.
  std::string layout(const std::string& last) const {
    std::vector<std::string> list;
    for (const std::string& name : parameters_) list.push_back("auto " + name);
    const std::string start = "  constexpr auto operator()(";
    std::string head = start + join(list, ", ") + ") const {";
    if (statements_.empty() && head.size() + last.size() + 3 <= kLineWidth) return head + " " + last + " }\n";
    if (head.size() > kLineWidth) head = start + fold(list, start.size(), start.size()) + ") const {";
    std::string text = head + "\n";
    for (const std::string& statement : statements_) text += "    " + statement + "\n";
    return text + "    " + last + "\n  }\n";
  }

  static std::string fold(const std::vector<std::string>& list, size_t column, size_t indent) {
    std::string text;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string piece = list[i] + (i + 1 < list.size() ? ", " : "");
      if (column + piece.size() + 10 > kLineWidth && i > 0) {
        text.pop_back();
        text += "\n" + std::string(indent, ' ');
        column = indent;
      }
      text += piece;
      column += piece.size();
    }
    return text;
  }

  Graph graph_;
  std::vector<Text> texts_;
  std::set<std::string> names_;
  std::vector<std::string> parameters_;
  std::vector<std::string> statements_;
};

// ---- names
// -------------------------------------------------------------------------------------------------------

/// Lists what a program computes, in order: "Mul", "Add", "HardSwish".
std::vector<std::string> parts_of(const fused::Program& program) {
  const Graph graph = simplify(program);
  std::vector<std::string> names(graph.nodes.size());
  std::vector<bool> inside(graph.nodes.size(), false);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Value& node = graph.nodes[i];
    if (graph.uses[i] == 0 || node.op == Op::input || node.op == Op::constant || inside[i]) continue;
    const Idiom idiom = find_idiom(graph, int(i));
    for (const int inner : idiom.interior) inside[size_t(inner)] = true;
    names[i] = idiom.name.empty() ? onnx_name(node.op) : idiom.name;
  }
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    if (!name.empty()) parts.push_back(name);
  }
  return parts;
}

/// Says the same with fewer words: a row of one operator is said once, casts are left out where there is
/// more.
std::vector<std::string> fewer(std::vector<std::string> parts, size_t most) {
  if (parts.size() > 1) {
    std::vector<std::string> kept;
    std::copy_if(parts.begin(), parts.end(), std::back_inserter(kept),
                 [](const auto& part) { return part != "Cast"; });
    if (!kept.empty()) parts = kept;
  }
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  if (parts.size() > most)
    parts.erase(parts.begin() + long(most) / 2, parts.end() - (long(most) - long(most) / 2));
  return parts;
}

// ---- files
// -------------------------------------------------------------------------------------------------------

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "; ";
    else
      result += c;
  }
  return result + "\"";
}

/// Writes a definition as string literals of one line each.
std::string definition_of(const Operator& op, const std::string& indent) {
  std::vector<std::string> lines;
  std::string rest = op.definition;
  while (rest.size() > 90) {
    size_t cut = rest.rfind("; ", 90);
    cut = cut == std::string::npos ? rest.rfind(", ", 90) : cut;
    if (cut == std::string::npos) break;
    lines.push_back(quoted(rest.substr(0, cut + 2)));
    rest = rest.substr(cut + 2);
  }
  lines.push_back(quoted(rest));
  return "definition(" + std::to_string(op.definition_opset) + ", " + join(lines, "\n" + indent) + ")";
}

/// Says for which element types an operator is registered.
std::string types_of(const fused::Program& program) {
  const Graph graph = simplify(program);
  const size_t inputs = size_t(program.input_count());
  const Type first = program.values[0].type;
  bool one_type = first != Type::boolean;
  for (size_t i = 0; i < inputs; ++i) one_type = one_type && program.values[i].type == first;
  std::vector<std::string> results;
  for (const int output : graph.outputs) {
    const Value& node = graph.nodes[size_t(output)];
    one_type = one_type && node.op != Op::constant && (node.type == first || node.type == Type::boolean);
    results.emplace_back(cpp_type(node.type));
  }
  if (one_type) return "types<" + std::string(cpp_type(first)) + ">";
  std::vector<std::string> parameters;
  for (size_t i = 0; i < inputs; ++i) parameters.emplace_back(cpp_type(program.values[i].type));
  const std::string result = results.size() == 1 ? results[0] : "outputs<" + join(results, ", ") + ">";
  return "overloads<" + result + "(" + join(parameters, ", ") + ")>";
}

std::string write_definition_line(const Operator& op) {
  const std::vector<std::string> names = input_names_for(op.program, op.input_names);
  std::vector<std::string> options;
  if (names != std::vector<std::string>{"x"}) {
    std::vector<std::string> list;
    for (const std::string& name : names) list.push_back(quoted(name));
    options.push_back("inputs(" + join(list, ", ") + ")");
  }
  options.push_back(types_of(op.program));
  if (!op.definition.empty()) options.push_back(definition_of(op, std::string(21, ' ')));
  std::string text = "  m.def<" + op.name + ">(" + quoted(op.name);
  size_t column = text.size();
  for (const std::string& option : options) {
    if (column + option.size() + 4 > kLineWidth) {
      text += ",\n" + std::string(8, ' ') + option;
      column = 8 + option.size();
    } else {
      text += ", " + option;
      column += 2 + option.size();
    }
  }
  return text + ");\n";
}

/// Breaks a sentence into lines of comment.
std::string comment(const std::string& sentence) {
  std::string text;
  std::string line = "//";
  for (size_t at = 0; at < sentence.size();) {
    const size_t end = std::min(sentence.find(' ', at), sentence.size());
    const std::string word = sentence.substr(at, end - at);
    if (line.size() + 1 + word.size() > kLineWidth && line != "//") {
      text += line + "\n";
      line = "//";
    }
    line += " " + word;
    at = end + 1;
  }
  return text + line + "\n";
}

/// Shows a name in a comment: one line, and no end of one.
std::string shown(const std::string& name) {
  std::string text;
  for (const char c : name) text += c >= ' ' ? c : ' ';
  if (text.size() > 60) text = text.substr(0, 28) + "..." + text.substr(text.size() - 28);
  while (!text.empty() && text.back() == '\\') text.pop_back();
  return text;
}

std::string write_operator(const Operator& op) {
  std::string sentence = join(parts_of(op.program), ", ");
  if (sentence.empty()) sentence = "A copy";
  sentence += ". ";
  std::vector<std::string> where;
  for (size_t i = 0; i < op.where.size() && i < 3; ++i) where.push_back(shown(op.where[i]));
  sentence += "Serves " + (op.places == 1 ? "one place" : std::to_string(op.places) + " places");
  if (!where.empty())
    sentence += ": " + join(where, ", ") + (size_t(op.places) > where.size() ? " and others" : "");
  sentence += ".";
  return comment(sentence) + "struct " + op.name + " {\n" +
         FunctionWriter(op.program, input_names_for(op.program, op.input_names)).write() + "};\n";
}

std::string write_header(const std::string& made_from) {
  return comment("Operators that `graft fuse` made of " + shown(made_from) +
                 ": each computes in one pass over memory what several nodes did.") +
         "//\n" +
         comment(
             "Keep this file and edit it as you like. graft_add_library builds it, and `graft inject "
             "--library` puts its "
             "operators into a model again.") +
         "#include <graft/graft.h>\nusing namespace graft;\n\n";
}

long count_lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

std::vector<std::string> input_names_for(const fused::Program& program,
                                         const std::vector<std::string>& wanted) {
  const size_t count = size_t(program.input_count());
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (size_t i = 0; i < count; ++i) {
    std::string name = i < wanted.size() ? as_identifier(wanted[i]) : "";
    if (name.empty())
      name = i == 0 && program.values[i].type != Type::boolean ? "x" : role_of(program, int(i));
    name = unlike(name, taken);
    taken.insert(name);
    names.push_back(name);
  }
  return names;
}

std::string name_for(const fused::Program& program, std::set<std::string>& taken) {
  std::string name = join(fewer(parts_of(program), 5), "");
  if (name.empty()) name = "Copy";
  if (is_sdk_type(name)) name += "Of";
  std::string chosen = name;
  for (int number = 2; !taken.insert(chosen).second; ++number) {
    chosen =
        name + (std::isdigit(static_cast<unsigned char>(name.back())) ? "_" : "") + std::to_string(number);
  }
  return chosen;
}

std::string write_source(const std::string& domain, const std::vector<Operator>& operators,
                         const std::string& made_from) {
  std::string text = write_header(made_from);
  for (const Operator& op : operators) text += write_operator(op) + "\n";
  text += "GRAFT_OPS(m, " + quoted(domain) + ") {\n";
  for (const Operator& op : operators) text += write_definition_line(op);
  return text + "}\n";
}

std::vector<std::string> write_parts(const std::string& domain, const std::vector<Operator>& operators,
                                     const std::string& made_from, const std::string& path, size_t parts) {
  std::vector<std::string> functions;
  std::vector<std::string> lines;
  std::vector<long> function_starts;
  std::vector<long> line_starts;
  const std::string header = write_header(made_from);
  long at = count_lines(header) + 1;
  for (const Operator& op : operators) {
    functions.push_back(write_operator(op) + "\n");
    function_starts.push_back(at);
    at += count_lines(functions.back());
  }
  const long block = at;
  ++at;
  for (const Operator& op : operators) {
    lines.push_back(write_definition_line(op));
    line_starts.push_back(at);
    at += count_lines(lines.back());
  }
  // Long functions take longest to compile: the next one goes to the part that has least so far.
  parts = std::max<size_t>(1, std::min(parts, operators.size()));
  std::vector<std::vector<size_t>> groups(parts);
  std::vector<size_t> weights(parts, 0);
  std::vector<size_t> order(operators.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto weight = [&](size_t i) { return operators[i].program.values.size() + 4; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weight(a) > weight(b); });
  for (const size_t i : order) {
    const size_t least = size_t(std::min_element(weights.begin(), weights.end()) - weights.begin());
    groups[least].push_back(i);
    weights[least] += weight(i);
  }
  std::vector<std::string> files;
  const auto line = [&](long number) {
    return "#line " + std::to_string(number) + " " + quoted(path) + "\n";
  };
  for (auto& group : groups) {
    std::sort(group.begin(), group.end());
    std::string text = "#include <graft/graft.h>\nusing namespace graft;\n";
    for (const size_t i : group) text += line(function_starts[i]) + functions[i];
    text += line(block) + "GRAFT_OPS(m, " + quoted(domain) + ") {\n";
    for (const size_t i : group) text += line(line_starts[i]) + lines[i];
    files.push_back(text + "}\n");
  }
  return files;
}

}  // namespace graft::fuse
