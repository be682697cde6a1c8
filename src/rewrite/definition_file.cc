#include "rewrite/definition_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>

#include "graph/names.h"
#include "rewrite/definition.h"

namespace graft::rewrite {
namespace {

using runtime::AttributeDescription;
using runtime::AttributeType;

constexpr std::pair<std::string_view, AttributeType> attribute_types[] = {{"float", AttributeType::float_},
                                                                          {"int", AttributeType::int_},
                                                                          {"string", AttributeType::string},
                                                                          {"floats", AttributeType::floats},
                                                                          {"ints", AttributeType::ints}};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<WrittenDefinition> parse() {
    std::vector<WrittenDefinition> all;
    skip_space();
    if (at_end())
      fail(
          "a function is expected, `<domain: \"my.ops\", opset_import: [\"\": 17]> Name (x) => (y) { ... }`");
    while (!at_end()) {
      all.push_back(parse_function());
      skip_space();
    }
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    throw InputError(fmt::format("{}, line {}, column {}: {}", file_, line, before.size() - start + 1, what));
  }

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }

  void skip_space() {
    while (!at_end()) {
      if (peek() == '#') {
        while (!at_end() && peek() != '\n') ++at_;
      } else if (std::string_view(" \t\r\n").find(peek()) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string got() const { return at_end() ? "the file ends" : fmt::format("got `{}`", peek()); }

  bool take(std::string_view words) {
    skip_space();
    if (text_.substr(at_, words.size()) != words) return false;
    at_ += words.size();
    return true;
  }
  void expect(std::string_view words) {
    if (!take(words)) fail(fmt::format("`{}` is expected, {}", words, got()));
  }

  std::string parse_name(const char* what) {
    skip_space();
    const size_t start = at_;
    const auto is_part = [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
             (at_ > start && c >= '0' && c <= '9');
    };
    while (!at_end() && is_part(peek())) ++at_;
    if (at_ == start) fail(fmt::format("{} is expected, {}", what, got()));
    return std::string(text_.substr(start, at_ - start));
  }

  std::string parse_string(const char* what) {
    skip_space();
    if (peek() != '"') fail(fmt::format("{} in quotes is expected, {}", what, got()));
    const size_t start = ++at_;
    while (!at_end() && peek() != '"' && peek() != '\n') ++at_;
    if (peek() != '"') fail("this string does not end");
    return std::string(text_.substr(start, at_++ - start));
  }

  template <class T> T parse_number(const char* what) {
    skip_space();
    T value{};
    const auto result = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (result.ec != std::errc()) fail(fmt::format("{} is expected, {}", what, got()));
    at_ = static_cast<size_t>(result.ptr - text_.data());
    return value;
  }

  template <class T> std::vector<T> parse_numbers(const char* what) {
    std::vector<T> values;
    expect("[");
    while (!take("]")) {
      if (!values.empty()) expect(",");
      values.push_back(parse_number<T>(what));
    }
    return values;
  }

  std::vector<std::string> parse_names(const char* what) {
    std::vector<std::string> names;
    expect("(");
    while (!take(")")) {
      if (!names.empty()) expect(",");
      names.push_back(parse_name(what));
    }
    return names;
  }

  /// Reads `<domain: "my.ops", opset_import: ["": 17]>`.
  void parse_head(WrittenDefinition& definition) {
    expect("<");
    do {
      const std::string key = parse_name("`domain` or `opset_import`");
      expect(":");
      if (key == "domain") {
        definition.domain = parse_string("a domain");
      } else if (key == "opset_import") {
        expect("[");
        do {
          const std::string domain = parse_string("a domain");
          expect(":");
          const int64_t version = parse_number<int64_t>("a version");
          if (graph::is_default_domain(domain)) definition.text.opset = version;
        } while (take(","));
        expect("]");
      } else {
        fail(fmt::format("`{}` is neither `domain` nor `opset_import`", key));
      }
    } while (take(","));
    expect(">");
    if (definition.domain.empty()) fail("the head lacks `domain: \"...\"`");
    if (definition.text.opset < 1) fail("the head lacks `opset_import: [\"\": VERSION]`");
  }

  /// Reads `<alpha: float = 0.01, axis: int>`.
  void parse_attributes(WrittenDefinition& definition) {
    do {
      AttributeDescription attribute;
      attribute.name = parse_name("an attribute's name");
      expect(":");
      const std::string word = parse_name("a type");
      const auto type = std::find_if(std::begin(attribute_types), std::end(attribute_types),
                                     [&](const auto& known) { return known.first == word; });
      if (type == std::end(attribute_types))
        fail(fmt::format("`{}` is none of the types float, int, string, floats, ints", word));
      attribute.type = type->second;
      attribute.required = !take("=");
      if (!attribute.required) attribute.default_value = parse_value(attribute.type);
      definition.attributes.push_back(std::move(attribute));
    } while (take(","));
    expect(">");
  }

  runtime::AttributeValue parse_value(AttributeType type) {
    switch (type) {
      case AttributeType::float_:
        return parse_number<double>("a number");
      case AttributeType::int_:
        return parse_number<int64_t>("an integer");
      case AttributeType::floats:
        return parse_numbers<double>("a number");
      case AttributeType::ints:
        return parse_numbers<int64_t>("an integer");
      default:
        return parse_string("a value");
    }
  }

  /// Reads up to the brace that ends the body, past strings and comments.
  std::string parse_body() {
    expect("{");
    const size_t start = at_;
    char quote = '\0';
    for (; !at_end(); ++at_) {
      const char c = peek();
      if (quote != '\0') {
        if (c == '\\') {
          ++at_;
        } else if (c == quote || c == '\n') {
          quote = '\0';
        }
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '#') {
        while (!at_end() && peek() != '\n') ++at_;
      } else if (c == '}') {
        return std::string(text_.substr(start, at_++ - start));
      }
    }
    fail("`}` is expected, the file ends");
  }

  WrittenDefinition parse_function() {
    WrittenDefinition definition;
    parse_head(definition);
    definition.name = parse_name("the operator's name");
    if (take("<")) parse_attributes(definition);
    definition.inputs = parse_names("an input's name");
    expect("=>");
    definition.outputs = parse_names("an output's name");
    skip_space();
    definition.text.text = parse_body();
    // Trimmed, since it is shown and kept in models.
    const std::string& body = definition.text.text;
    const size_t first = body.find_first_not_of(" \t\r\n"), last = body.find_last_not_of(" \t\r\n");
    definition.text.text = first == std::string::npos ? "" : body.substr(first, last - first + 1);
    return definition;
  }

  std::string_view text_;
  std::string file_;
  size_t at_ = 0;
};

}  // namespace

std::vector<WrittenDefinition> parse_definitions(std::string_view text, const std::string& name) {
  std::vector<WrittenDefinition> all = Parser(text, name).parse();
  for (const WrittenDefinition& each : all) {
    Signature signature{each.domain, each.name, each.inputs, each.outputs, {}, {}};
    for (const auto& attribute : each.attributes) {
      signature.attributes.push_back(attribute.name);
      signature.attribute_types.push_back(static_cast<int32_t>(attribute.type));
    }
    try {
      parse_definition(each.text.text, each.text.opset, signature);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", name, error.what()));
    }
  }
  return all;
}

std::vector<WrittenDefinition> read_definitions(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw InputError(fmt::format("{}: the file of definitions cannot be read", file.string()));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return parse_definitions(text, file.string());
}

void complete(std::vector<runtime::LibraryDescription>& libraries,
              const std::vector<WrittenDefinition>& definitions) {
  std::map<const runtime::OperatorDescription*, bool> begun;
  for (const WrittenDefinition& definition : definitions) {
    const std::string name = graph::qualified_name(definition.domain, definition.name);
    bool found = false;
    for (auto& library : libraries) {
      for (auto& op : library.operators) {
        if (op.name != definition.name || !graph::same_domain(op.domain, definition.domain)) continue;
        found = true;
        if (op.inputs.size() != definition.inputs.size() || op.outputs.size() != definition.outputs.size())
          throw InputError(fmt::format(
              "the definition of {} has {} inputs and {} outputs, the library's operator {} and {}", name,
              definition.inputs.size(), definition.outputs.size(), op.inputs.size(), op.outputs.size()));
        for (size_t at = 0; at < op.inputs.size(); ++at) op.inputs[at].name = definition.inputs[at];
        for (size_t at = 0; at < op.outputs.size(); ++at) op.outputs[at].name = definition.outputs[at];
        op.attributes = definition.attributes;
        if (!begun[&op]) op.definitions.clear();
        begun[&op] = true;
        op.definitions.push_back(definition.text);
        std::sort(op.definitions.begin(), op.definitions.end(),
                  [](const auto& a, const auto& b) { return a.opset < b.opset; });
      }
    }
    if (!found)
      throw InputError(fmt::format("none of the libraries has the operator {} that is defined", name));
  }
}

}  // namespace graft::rewrite
