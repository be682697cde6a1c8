#include "check/subject.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

namespace graft::check {
using nlohmann::json;
using runtime::DataType;

namespace {

double number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  const double infinity = std::numeric_limits<double>::infinity();
  return value == "-inf" ? -infinity : infinity;
}

Limits read_limits(const json& attribute) {
  Limits limits;
  if (attribute.contains("at_least")) limits.least = number_of(attribute["at_least"]);
  if (attribute.contains("at_most")) limits.most = number_of(attribute["at_most"]);
  if (attribute.contains("one_of")) limits.words = attribute["one_of"].get<std::vector<std::string>>();
  return limits;
}

/// Settles "any": the first type of the list that the overload gives, else float.
DataType settled(DataType type, const json& overload) {
  if (type != DataType::undefined) return type;
  const auto any = overload.find("any");
  if (any == overload.end() || any->empty()) return DataType::float32;
  return runtime::type_from_name((*any)[0].get<std::string>());
}

std::string names(const std::vector<DataType>& types) {
  std::vector<std::string_view> all;
  for (const DataType type : types) all.push_back(runtime::type_name(type));
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

std::vector<Subject> subjects_of(const runtime::LibraryDescription& library) {
  const json described = json::parse(library.json)["operators"];
  std::vector<Subject> subjects;
  std::set<std::string> pools;
  for (size_t at = 0; at < library.operators.size(); ++at) {
    const runtime::OperatorDescription& op = library.operators[at];
    if (!op.pool.empty() && !pools.insert(op.pool).second) continue;  // the same under another name
    for (size_t overload = 0; overload < op.overloads.size(); ++overload) {
      Subject& subject = subjects.emplace_back();
      subject.op = op;
      subject.overload = overload;
      for (const DataType type : op.overloads[overload].inputs)
        subject.inputs.push_back(settled(type, described[at]["overloads"][overload]));
      subject.outputs = op.overloads[overload].outputs;
      for (const json& input : described[at]["inputs"])
        subject.constant.push_back(input.value("constant", false));
      for (const json& attribute : described[at]["attributes"])
        subject.limits.push_back(read_limits(attribute));
      subject.limits.resize(
          op.attributes.size());  // a definition from a file brings attributes that have no limits
    }
  }
  return subjects;
}

std::string types_text(const Subject& subject) {
  std::set<DataType> types(subject.inputs.begin(), subject.inputs.end());
  types.insert(subject.outputs.begin(), subject.outputs.end());
  if (types.size() == 1) return std::string(runtime::type_name(*types.begin()));
  return fmt::format("({} -> {})", names(subject.inputs), names(subject.outputs));
}

std::string to_string(const Subject& subject) {
  return fmt::format("{}:{} {}", subject.op.domain, subject.op.name, types_text(subject));
}

}  // namespace graft::check
