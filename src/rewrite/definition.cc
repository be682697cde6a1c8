#include "rewrite/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

namespace graft::rewrite {
namespace {

/// Bounds what a text may ask of the reader.
constexpr int most_depth = 100;
constexpr size_t most_expressions = 500;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, int64_t opset, const Signature& signature) : text_(text) {
    definition_.signature = signature;
    definition_.opset = opset;
  }

  Definition parse() {
    for (const std::string& input : definition_.signature.inputs) {
      Expression expression;
      expression.kind = ExpressionKind::input;
      expression.name = input;
      names_[input] = {add(std::move(expression)), 0};
    }
    skip_breaks();
    if (at_end()) fail("an assignment is expected");
    while (!at_end()) {
      parse_assignment();
      skip_blanks();
      if (!at_end() && peek() != ';' && peek() != '\n') fail("`;` or a new line is expected");
      skip_breaks();
    }
    for (const std::string& output : definition_.signature.outputs) {
      const auto place = assigned_.find(output);
      if (place == assigned_.end()) fail(fmt::format("output `{}` is never assigned", output));
      definition_.outputs.push_back(place->second);
    }
    return std::move(definition_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    size_t line = 1, column = 1;
    for (size_t at = 0; at < std::min(at_, text_.size()); ++at) {
      if (text_[at] == '\n') {
        ++line;
        column = 1;
      } else if ((static_cast<unsigned char>(text_[at]) & 0xc0) != 0x80) {
        ++column;
      }
    }
    throw InputError(fmt::format("definition of {}::{}, line {}, column {}: {}", definition_.signature.domain,
                                 definition_.signature.name, line, column, what));
  }

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }

  void skip_comment() {
    if (peek() == '#')
      while (!at_end() && peek() != '\n') ++at_;
  }
  void skip_blanks() {
    while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\r')) ++at_;
    skip_comment();
  }
  /// Skips blanks and, between brackets, line ends too.
  void skip_space() {
    while (!at_end() &&
           (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == '\n' || peek() == '#')) {
      if (peek() == '#') {
        skip_comment();
      } else {
        ++at_;
      }
    }
  }
  void skip_breaks() {
    do {
      skip_space();
      if (peek() != ';') break;
      ++at_;
    } while (!at_end());
    skip_space();
  }

  void expect(char c) {
    skip_space();
    if (peek() != c)
      fail(at_end() ? fmt::format("`{}` is expected, the text ends", c)
                    : fmt::format("`{}` is expected, got `{}`", c, got()));
    ++at_;
  }
  std::string got() const {
    size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
    const std::string_view shown = text_.substr(at_, end - at_);
    return static_cast<unsigned char>(shown[0]) < 0x20 ? "a control character" : std::string(shown);
  }

  std::string parse_name(const char* what) {
    skip_space();
    if (!is_letter(peek()))
      fail(at_end() ? fmt::format("{} is expected, the text ends", what)
                    : fmt::format("{} is expected, got `{}`", what, got()));
    const size_t start = at_;
    while (!at_end() && (is_letter(peek()) || is_digit(peek()))) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  int32_t add(Expression expression) {
    if (definition_.expressions.size() >= most_expressions) fail("the definition is too long");
    definition_.expressions.push_back(std::move(expression));
    return static_cast<int32_t>(definition_.expressions.size()) - 1;
  }

  void parse_assignment() {
    std::vector<std::string> targets;
    std::vector<size_t> places;
    do {
      if (!targets.empty()) ++at_;
      skip_space();
      places.push_back(at_);
      targets.push_back(parse_name("a name"));
      skip_space();
    } while (peek() == ',');
    expect('=');
    const Operand value = parse_expression(0);
    if (value.expression < 0) fail("an expression is expected");
    Expression& expression = definition_.expressions[static_cast<size_t>(value.expression)];
    if (targets.size() > 1) {
      if (expression.kind != ExpressionKind::call) {
        at_ = places[1];
        fail("only a call can give several values");
      }
      expression.outputs = std::max(expression.outputs, static_cast<int32_t>(targets.size()));
    }
    for (size_t slot = 0; slot < targets.size(); ++slot) {
      if (std::find(definition_.signature.inputs.begin(), definition_.signature.inputs.end(),
                    targets[slot]) != definition_.signature.inputs.end()) {
        at_ = places[slot];
        fail(fmt::format("`{}` is an input and cannot be assigned", targets[slot]));
      }
      const Operand assigned =
          targets.size() == 1 ? value : Operand{value.expression, static_cast<int32_t>(slot)};
      names_[targets[slot]] = assigned;
      assigned_[targets[slot]] = assigned;
    }
  }

  bool at_number() const {
    return is_digit(peek()) ||
           ((peek() == '-' || peek() == '+' || peek() == '.') && at_ + 1 < text_.size() &&
            (is_digit(text_[at_ + 1]) || text_[at_ + 1] == '.' || text_.substr(at_ + 1, 3) == "inf"));
  }

  Number parse_number() {
    const size_t start = at_;
    Number number;
    const bool negative = peek() == '-';
    if (negative || peek() == '+') ++at_;
    if (text_.substr(at_, 3) == "inf") {
      at_ += 3;
      number.value = negative ? -INFINITY : INFINITY;
      return number;
    }
    const char* begin = text_.data() + at_;
    const auto result = std::from_chars(begin, text_.data() + text_.size(), number.value);
    if (result.ec != std::errc() || result.ptr == begin) {
      at_ = start;
      fail("this number cannot be read, or is too large");
    }
    const std::string_view digits(begin, static_cast<size_t>(result.ptr - begin));
    number.integral = digits.find_first_not_of("0123456789") == std::string_view::npos &&
                      number.value <= 9007199254740992.0;
    if (negative) number.value = -number.value;
    at_ += digits.size();
    if (is_letter(peek()) || peek() == '.') fail(fmt::format("`{}` cannot follow a number", got()));
    return number;
  }

  NumberList parse_list() {
    expect('[');
    NumberList list;
    skip_space();
    while (peek() != ']') {
      skip_space();
      if (!at_number())
        fail(at_end() ? "`]` is expected, the text ends"
                      : fmt::format("a number is expected, got `{}`", got()));
      list.push_back(parse_number());
      skip_space();
      if (peek() == ',') {
        ++at_;
        skip_space();
      } else if (peek() != ']') {
        fail(at_end() ? "`]` is expected, the text ends"
                      : fmt::format("`,` or `]` is expected, got `{}`", got()));
      }
    }
    ++at_;
    return list;
  }

  std::string parse_string() {
    const char quote = peek();
    const size_t start = at_++;
    std::string text;
    while (!at_end() && peek() != quote && peek() != '\n') {
      if (peek() == '\\' && at_ + 1 < text_.size()) ++at_;
      text += text_[at_++];
    }
    if (peek() != quote) {
      at_ = start;
      fail("this string does not end");
    }
    ++at_;
    return text;
  }

  AttributeReference parse_reference() {
    ++at_;
    const size_t start = at_;
    AttributeReference reference{parse_name("an attribute's name")};
    const auto& known = definition_.signature.attributes;
    if (std::find(known.begin(), known.end(), reference.name) == known.end()) {
      at_ = start;
      fail(fmt::format("the operator has no attribute `{}`{}", reference.name, listed(known)));
    }
    return reference;
  }

  static std::string listed(const std::vector<std::string>& names) {
    if (names.empty()) return "";
    return fmt::format(" (it has {})", fmt::join(names, ", "));
  }

  /// Reads an expression; one that is left out gives expression -1.
  Operand parse_expression(int depth) {
    if (depth > most_depth) fail("the expression is nested too deeply");
    skip_space();
    const char c = peek();
    if (c == ',' || c == ')') return {};
    Expression expression;
    if (at_number()) {
      expression.kind = ExpressionKind::number;
      expression.numbers = {parse_number()};
      return {add(std::move(expression)), 0};
    }
    if (c == '[') {
      expression.kind = ExpressionKind::list;
      expression.numbers = parse_list();
      return {add(std::move(expression)), 0};
    }
    if (c == '"' || c == '\'') {
      expression.kind = ExpressionKind::string;
      expression.name = parse_string();
      return {add(std::move(expression)), 0};
    }
    if (c == '@') {
      expression.kind = ExpressionKind::attribute;
      expression.name = parse_reference().name;
      return {add(std::move(expression)), 0};
    }
    const size_t start = at_;
    std::string name = parse_name("an expression");
    std::string domain;
    while (peek() == '.' || peek() == ':') {
      if (text_.substr(at_, 2) == "::") {
        at_ += 2;
        domain = name;
        name = parse_name("an operator");
        break;
      }
      if (peek() != '.') break;
      ++at_;
      name += "." + parse_name("a domain");
    }
    skip_blanks();
    if (peek() != '(' && peek() != '<') {
      const auto place = names_.find(name);
      if (place == names_.end() || !domain.empty()) {
        at_ = start;
        fail(fmt::format("`{}` is neither an input nor assigned before{}", name,
                         listed(definition_.signature.inputs)));
      }
      return place->second;
    }
    expression.kind = ExpressionKind::call;
    expression.name = name;
    expression.domain = domain;
    if (peek() == '<') parse_attributes(expression);
    expect('(');
    skip_space();
    if (peek() == ')') {
      ++at_;
    } else {
      while (true) {
        expression.operands.push_back(parse_expression(depth + 1));
        skip_space();
        if (peek() == ')') {
          ++at_;
          break;
        }
        if (peek() != ',')
          fail(at_end() ? "`)` is expected, the text ends"
                        : fmt::format("`,` or `)` is expected, got `{}`", got()));
        ++at_;
      }
    }
    while (!expression.operands.empty() && expression.operands.back().expression < 0)
      expression.operands.pop_back();
    return {add(std::move(expression)), 0};
  }

  void parse_attributes(Expression& call) {
    expect('<');
    while (true) {
      skip_space();
      const size_t start = at_;
      CallAttribute attribute;
      attribute.name = parse_name("an attribute's name");
      for (const CallAttribute& earlier : call.attributes) {
        if (earlier.name != attribute.name) continue;
        at_ = start;
        fail(fmt::format("attribute `{}` is given twice", attribute.name));
      }
      expect('=');
      skip_space();
      if (peek() == '[') {
        attribute.value = parse_list();
      } else if (peek() == '"' || peek() == '\'') {
        attribute.value = parse_string();
      } else if (peek() == '@') {
        attribute.value = parse_reference();
      } else if (at_number()) {
        attribute.value = parse_number();
      } else {
        fail(at_end() ? "a value is expected, the text ends"
                      : fmt::format("a value is expected, got `{}`", got()));
      }
      call.attributes.push_back(std::move(attribute));
      skip_space();
      if (peek() == '>') break;
      if (peek() != ',')
        fail(at_end() ? "`>` is expected, the text ends"
                      : fmt::format("`,` or `>` is expected, got `{}`", got()));
      ++at_;
    }
    ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  Definition definition_;
  std::unordered_map<std::string, Operand> names_;
  std::unordered_map<std::string, Operand> assigned_;
};

}  // namespace

Definition parse_definition(std::string_view text, int64_t opset, const Signature& signature) {
  return Parser(text, opset, signature).parse();
}

Signature signature_of(const runtime::OperatorDescription& op) {
  Signature signature;
  signature.domain = op.domain;
  signature.name = op.name;
  for (const auto& input : op.inputs) signature.inputs.push_back(input.name);
  for (const auto& output : op.outputs) signature.outputs.push_back(output.name);
  for (const auto& attribute : op.attributes) {
    signature.attributes.push_back(attribute.name);
    signature.attribute_types.push_back(static_cast<int32_t>(attribute.type));
  }
  return signature;
}

}  // namespace graft::rewrite
