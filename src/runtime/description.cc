#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/library.h"

namespace graft::runtime {
namespace {

using nlohmann::json;

constexpr std::pair<OperatorKind, std::string_view> kinds[] = {{OperatorKind::elementwise, "elementwise"},
                                                               {OperatorKind::tensor, "tensor"}};
constexpr std::pair<Arity, std::string_view> arities[] = {
    {Arity::required, "required"}, {Arity::optional, "optional"}, {Arity::variadic, "variadic"}};
constexpr std::pair<ShapeRule, std::string_view> rules[] = {{ShapeRule::broadcast, "broadcast"},
                                                            {ShapeRule::same, "same"},
                                                            {ShapeRule::function, "function"},
                                                            {ShapeRule::computed, "computed"}};
constexpr std::pair<AttributeType, std::string_view> attribute_types[] = {
    {AttributeType::float_, "float"},   {AttributeType::int_, "int"},      {AttributeType::string, "string"},
    {AttributeType::tensor, "tensor"},  {AttributeType::floats, "floats"}, {AttributeType::ints, "ints"},
    {AttributeType::strings, "strings"}};

template <class T, size_t N>
std::string_view word(const std::pair<T, std::string_view> (&words)[N], T value) {
  for (const auto& [key, text] : words) {
    if (key == value) return text;
  }
  return "";
}

/// Walks the JSON and remembers the way, so that an error says where it is: "operators[2].inputs[0].arity".
class Reader {
 public:
  Reader(const json& value, std::string where) : value_(value), where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(fmt::format("{} {}", where_, what));
  }

  Reader at(const char* key) const {
    if (!value_.is_object()) fail("is not an object");
    const auto found = value_.find(key);
    if (found == value_.end()) fail(fmt::format("lacks \"{}\"", key));
    return {*found, where_ == "the description" ? key : fmt::format("{}.{}", where_, key)};
  }
  bool has(const char* key) const {
    return value_.is_object() && value_.contains(key) && !value_.at(key).is_null();
  }

  std::string text() const {
    if (!value_.is_string()) fail("is not a string");
    return value_.get<std::string>();
  }
  std::string filled_text() const {
    std::string found = text();
    if (found.empty()) fail("is empty");
    return found;
  }
  int64_t integer() const {
    if (!value_.is_number_integer()) fail("is not an integer");
    return value_.get<int64_t>();
  }
  bool boolean() const {
    if (!value_.is_boolean()) fail("is neither true nor false");
    return value_.get<bool>();
  }
  /// Takes a number, or "inf", "-inf" or "nan", for which JSON has no numbers.
  double number() const {
    if (value_.is_number()) return value_.get<double>();
    const std::string word = value_.is_string() ? value_.get<std::string>() : "";
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    fail("is not a number");
  }

  template <class Read> auto list(Read read) const {
    if (!value_.is_array()) fail("is not a list");
    std::vector<decltype(read(*this))> items;
    for (size_t i = 0; i < value_.size(); ++i)
      items.push_back(read(Reader(value_[i], fmt::format("{}[{}]", where_, i))));
    return items;
  }

  template <class T, size_t N> T one_of(const std::pair<T, std::string_view> (&words)[N]) const {
    const std::string found = text();
    std::string known;
    for (const auto& [key, name] : words) {
      if (found == name) return key;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
    fail(fmt::format("is \"{}\", not one of {}", found, known));
  }

 private:
  const json& value_;
  std::string where_;
};

DataType read_type(const Reader& reader) {
  const std::string name = reader.text();
  const DataType type = type_from_name(name);
  if (type == DataType::undefined) reader.fail(fmt::format("is \"{}\", which is no element type", name));
  return type;
}

/// Reads the type of an input; "any", for tensors that each have their own, is undefined.
DataType read_input_type(const Reader& reader) {
  return reader.text() == "any" ? DataType::undefined : read_type(reader);
}

AttributeValue read_value(const Reader& reader, AttributeType type) {
  switch (type) {
    case AttributeType::float_:
      return reader.number();
    case AttributeType::int_:
      return reader.integer();
    case AttributeType::string:
      return reader.text();
    case AttributeType::floats:
      return reader.list([](const Reader& item) { return item.number(); });
    case AttributeType::ints:
      return reader.list([](const Reader& item) { return item.integer(); });
    case AttributeType::tensor:
      reader.fail("is the default of a tensor attribute, which has none");
    case AttributeType::strings:
      return reader.list([](const Reader& item) { return item.text(); });
  }
  return {};
}

PortDescription read_port(const Reader& reader) {
  return {reader.at("name").filled_text(), reader.at("arity").one_of(arities)};
}

Overload read_overload(const Reader& reader) {
  return {reader.at("inputs").list(read_input_type), reader.at("outputs").list(read_type)};
}

AttributeDescription read_attribute(const Reader& reader) {
  AttributeDescription attribute;
  attribute.name = reader.at("name").filled_text();
  attribute.type = reader.at("type").one_of(attribute_types);
  attribute.required = reader.at("required").boolean();
  if (reader.has("default")) attribute.default_value = read_value(reader.at("default"), attribute.type);
  if (reader.has("example")) attribute.example = read_value(reader.at("example"), attribute.type);
  if (attribute.required && reader.has("default")) reader.fail("is required and has a default");
  return attribute;
}

DefinitionText read_definition(const Reader& reader) {
  return {reader.at("opset").integer(), reader.at("text").filled_text(), reader.at("traced").boolean()};
}

void require_distinct(const Reader& reader, const std::vector<std::string>& names, const char* what) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) reader.fail(fmt::format("has two {} named \"{}\"", what, name));
  }
}

template <class Items> std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

OperatorDescription read_operator(const Reader& reader) {
  OperatorDescription op;
  op.domain = reader.at("domain").filled_text();
  op.name = reader.at("name").filled_text();
  op.since_version = reader.at("since_version").integer();
  if (reader.has("pool")) op.pool = reader.at("pool").filled_text();
  op.kind = reader.at("kind").one_of(kinds);
  op.provider = reader.at("provider").filled_text();
  op.inputs = reader.at("inputs").list(read_port);
  op.outputs = reader.at("outputs").list(read_port);
  op.overloads = reader.at("overloads").list(read_overload);
  op.attributes = reader.at("attributes").list(read_attribute);
  op.shape = reader.at("shape").one_of(rules);
  op.definitions = reader.at("definitions").list(read_definition);

  if (op.outputs.empty()) reader.fail("has no output");
  if (op.overloads.empty()) reader.fail("has no overload");
  for (const Overload& overload : op.overloads) {
    if (overload.inputs.size() != op.inputs.size() || overload.outputs.size() != op.outputs.size()) {
      reader.fail("has an overload whose types do not match its inputs and outputs in number");
    }
  }
  require_distinct(reader, names_of(op.inputs), "inputs");
  require_distinct(reader, names_of(op.outputs), "outputs");
  require_distinct(reader, names_of(op.attributes), "attributes");
  for (size_t i = 1; i < op.definitions.size(); ++i) {
    if (op.definitions[i].opset <= op.definitions[i - 1].opset)
      reader.fail("has definitions whose opsets do not ascend");
  }
  return op;
}

}  // namespace

LibraryDescription parse_description(std::string_view text, const std::filesystem::path& file) {
  LibraryDescription library;
  library.file = file;
  library.json = text;
  try {
    const json parsed = json::parse(text);
    const Reader root(parsed, "the description");
    const Reader graft = root.at("graft");
    if (const int64_t abi = graft.at("abi").integer(); abi != 1)
      graft.fail(fmt::format("is of ABI {}, not 1", abi));
    library.graft_version = graft.at("version").text();
    library.operators = root.at("operators").list(read_operator);
  } catch (const std::exception& error) {
    throw InputError(fmt::format("{}: its description is not valid: {}", file.string(), error.what()));
  }
  return library;
}

std::string_view to_string(OperatorKind kind) { return word(kinds, kind); }
std::string_view to_string(Arity arity) { return word(arities, arity); }
std::string_view to_string(ShapeRule rule) { return word(rules, rule); }
std::string_view to_string(AttributeType type) { return word(attribute_types, type); }

}  // namespace graft::runtime
