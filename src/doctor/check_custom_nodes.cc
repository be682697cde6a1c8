/// Nodes of the libraries' operators: are inputs, types, attributes and the provider what the library has?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/nearest.h"
#include "rewrite/expression.h"
#include "doctor/patient.h"
#include "doctor/providers.h"
#include "graph/names.h"

namespace graft::doctor {
namespace {

using graph::NodeId;
using graph::none;
using runtime::Arity;
using runtime::AttributeDescription;
using runtime::AttributeType;
using runtime::DataType;
using runtime::OperatorDescription;

/// Counts the inputs or outputs that must be there, and those that may be.
std::pair<int, int> counts(const std::vector<runtime::PortDescription>& ports) {
  int least = 0, most = 0;
  for (const auto& port : ports) {
    ++most;
    if (port.arity == Arity::required) least = most;
    if (port.arity == Arity::variadic) most = 1 << 20;
  }
  return {least, most};
}

std::string counts_text(std::pair<int, int> counts) {
  if (counts.first == counts.second) return std::to_string(counts.first);
  if (counts.second >= 1 << 20) return fmt::format("{} or more", counts.first);
  return fmt::format("{} to {}", counts.first, counts.second);
}

void check_counts(Patient& patient, NodeId node, const OperatorDescription& op) {
  const onnx::NodeProto& proto = patient.index.proto(node);
  std::vector<std::string> names;
  for (const auto& port : op.inputs) names.push_back(port.name);
  int given = proto.input_size();
  while (given > 0 && proto.input(given - 1).empty()) --given;
  const auto inputs = counts(op.inputs);
  if (given < inputs.first || given > inputs.second) {
    Finding& found = patient.add(Cause::input_count, patient.op_text(node));
    found.evidence.push_back(fmt::format("{} has {} inputs; the operator takes {} ({})",
                                         patient.node_text(node), given, counts_text(inputs),
                                         fmt::join(names, ", ")));
    found.cure.push_back(given < inputs.first ? "connect the inputs that are missing"
                                              : "take out the inputs that are too many");
    return;
  }
  for (int at = 0; at < given && at < static_cast<int>(op.inputs.size()); ++at) {
    if (!proto.input(at).empty() || op.inputs[static_cast<size_t>(at)].arity != Arity::required) continue;
    Finding& found = patient.add(Cause::input_count, patient.op_text(node));
    found.evidence.push_back(fmt::format("{} leaves out its input {}, which the operator requires",
                                         patient.node_text(node), names[static_cast<size_t>(at)]));
    found.cure.push_back("connect the input that is missing");
  }
  const auto outputs = counts(op.outputs);
  if (proto.output_size() < outputs.first || proto.output_size() > outputs.second) {
    Finding& found = patient.add(Cause::output_count, patient.op_text(node));
    found.evidence.push_back(fmt::format("{} has {} outputs; the operator gives {}", patient.node_text(node),
                                         proto.output_size(), counts_text(outputs)));
    found.cure.push_back("give the node as many outputs as the operator has");
  }
}

bool fits(DataType given, DataType wanted) {
  return given == DataType::undefined || wanted == DataType::undefined || given == wanted;
}

DataType wanted_type(const OperatorDescription& op, const runtime::Overload& overload, size_t input) {
  return overload.inputs[std::min(input, op.inputs.size() - 1)];
}

bool fits(const std::vector<DataType>& given, const OperatorDescription& op,
          const runtime::Overload& overload) {
  for (size_t at = 0; at < given.size(); ++at) {
    if (!fits(given[at], wanted_type(op, overload, at))) return false;
  }
  return true;
}

/// Tells whether each input for itself has a type that the operator takes: all that is sure of a recorded
/// operator, whose ports may be open, each for itself.
bool each_fits(const std::vector<DataType>& given, const OperatorDescription& op) {
  for (size_t at = 0; at < given.size(); ++at) {
    if (std::none_of(op.overloads.begin(), op.overloads.end(),
                     [&](const auto& overload) { return fits(given[at], wanted_type(op, overload, at)); }))
      return false;
  }
  return true;
}

std::string overload_text(const runtime::Overload& overload) {
  std::vector<std::string_view> names;
  for (const DataType type : overload.inputs)
    names.push_back(type == DataType::undefined ? "any" : type_name(type));
  const bool same = std::set<std::string_view>(names.begin(), names.end()).size() == 1;
  return same ? std::string(names[0]) : fmt::format("({})", fmt::join(names, ", "));
}

void check_types(Patient& patient, NodeId node, const std::vector<const OperatorDescription*>& operators) {
  std::vector<DataType> given;
  std::vector<std::string> names;
  for (const graph::ValueId input : patient.index.inputs(node)) {
    given.push_back(input == none ? DataType::undefined : patient.types.of(input));
    if (given.back() != DataType::undefined)
      names.push_back(fmt::format("{} is {}", patient.index.value(input).name, type_name(given.back())));
  }
  if (operators[0]->inputs.empty()) return;
  std::vector<std::string> wanted;
  for (const OperatorDescription* op : operators) {
    if (patient.libraries.is_recorded(*op) && each_fits(given, *op)) return;
    for (const auto& overload : op->overloads) {
      if (fits(given, *op, overload)) return;
      wanted.push_back(overload_text(overload));
    }
  }
  const onnx::NodeProto& proto = patient.index.proto(node);
  Finding& found = patient.add(Cause::dtype_not_supported, patient.op_text(node));
  found.evidence.push_back(fmt::format("{}: {}; the library has {} for {}", patient.node_text(node),
                                       fmt::join(names, ", "), patient.op_text(node),
                                       fmt::join(wanted, ", ")));
  if (found.cure.empty()) {
    found.cure.push_back(
        fmt::format("cast around it: before, {} to a type that the library has; behind, back again",
                    proto.input_size() ? proto.input(0) : "its input"));
    found.cure.push_back("or add the type to the operator in the library, with m.def<...>(..., types<...>)");
  }
}

std::string_view type_word(onnx::AttributeProto::AttributeType type) {
  switch (type) {
    case onnx::AttributeProto::FLOAT:
      return "float";
    case onnx::AttributeProto::INT:
      return "int";
    case onnx::AttributeProto::STRING:
      return "string";
    case onnx::AttributeProto::TENSOR:
      return "tensor";
    case onnx::AttributeProto::FLOATS:
      return "floats";
    case onnx::AttributeProto::INTS:
      return "ints";
    case onnx::AttributeProto::STRINGS:
      return "strings";
    case onnx::AttributeProto::UNDEFINED:
      return "no type";
    default:
      return "another type";
  }
}

/// Finds the change of an attribute to the wanted type that keeps its value, if there is one.
std::function<void()> conversion(onnx::AttributeProto& attribute, AttributeType wanted) {
  const bool integral = attribute.type() == onnx::AttributeProto::FLOAT && std::isfinite(attribute.f()) &&
                        std::nearbyint(attribute.f()) == attribute.f() && std::fabs(attribute.f()) < 1e15f;
  if (attribute.type() == onnx::AttributeProto::INT && wanted == AttributeType::float_ &&
      static_cast<int64_t>(static_cast<float>(attribute.i())) == attribute.i()) {
    return [&attribute] {
      attribute.set_f(static_cast<float>(attribute.i()));
      attribute.clear_i();
      attribute.set_type(onnx::AttributeProto::FLOAT);
    };
  }
  if (integral && wanted == AttributeType::int_) {
    return [&attribute] {
      attribute.set_i(static_cast<int64_t>(attribute.f()));
      attribute.clear_f();
      attribute.set_type(onnx::AttributeProto::INT);
    };
  }
  return nullptr;
}

void say_unknown(Patient& patient, NodeId node, const OperatorDescription& op, const std::string& name,
                 const std::string& near) {
  Finding& found = patient.add(Cause::attribute_unknown, patient.op_text(node) + "." + name);
  found.severity = Severity::warning;  // ONNX Runtime does not look at them
  std::vector<std::string> known;
  for (const auto& described : op.attributes) known.push_back(described.name);
  found.evidence.push_back(fmt::format(
      "{} has the attribute {}, which nothing reads; the operator has {}{}", patient.node_text(node), name,
      known.empty() ? "no attributes" : fmt::format("{}", fmt::join(known, ", ")),
      near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  const std::string attribute = fmt::format("next(a for a in n.attribute if a.name == '{}')", name);
  found.cure.push_back(
      near.empty() ? "take it out: " + patient.python(fmt::format("n = {}; n.attribute.remove({})",
                                                                  patient.python_node(node), attribute))
                   : "rename it: " + patient.python(fmt::format("n = {}; {}.name = '{}'",
                                                                patient.python_node(node), attribute, near)));
}

void say_missing(Patient& patient, NodeId node, const AttributeDescription& described,
                 const std::string& near) {
  Finding& found = patient.add(Cause::attribute_missing, patient.op_text(node) + "." + described.name);
  found.evidence.push_back(
      fmt::format("{} has no attribute {} ({}), which the operator requires{}", patient.node_text(node),
                  described.name, to_string(described.type),
                  near.empty() ? "" : fmt::format("; it has {}: did you mean {}?", near, described.name)));
  if (!near.empty()) {
    found.cure.push_back(
        "rename it: " +
        patient.python(fmt::format("n = {}; next(a for a in n.attribute if a.name == '{}').name = '{}'",
                                   patient.python_node(node), near, described.name)));
    return;
  }
  found.cure.push_back(fmt::format("give it, with your value, a {}: ", to_string(described.type)) +
                       patient.python(fmt::format("{}.attribute.append(helper.make_attribute('{}', VALUE))",
                                                  patient.python_node(node), described.name)));
}

void say_type(Patient& patient, NodeId node, onnx::AttributeProto& attribute, AttributeType wanted) {
  Finding& found = patient.add(Cause::attribute_type, patient.op_text(node) + "." + attribute.name());
  found.evidence.push_back(fmt::format("{}: its attribute {} is {}; the operator wants {}",
                                       patient.node_text(node), attribute.name(), type_word(attribute.type()),
                                       to_string(wanted)));
  if (auto convert = attribute.ref_attr_name().empty() ? conversion(attribute, wanted) : nullptr) {
    found.repairs.push_back({fmt::format("write the attribute {} of {} as {}, with the same value",
                                         attribute.name(), patient.node_text(node), to_string(wanted)),
                             std::move(convert)});
    return;
  }
  found.beyond_repair = true;
  found.cure.push_back(
      fmt::format("write it as {}: {}", to_string(wanted),
                  patient.python(fmt::format("n = {0}; a = next(a for a in n.attribute if a.name == '{1}'); "
                                             "a.CopyFrom(helper.make_attribute('{1}', VALUE))",
                                             patient.python_node(node), attribute.name()))));
}

void check_attributes(Patient& patient, NodeId node, const OperatorDescription& op) {
  onnx::NodeProto& proto = *patient.index.node(node).proto;
  const auto described_as = [&](const std::string& name) {
    return std::find_if(op.attributes.begin(), op.attributes.end(),
                        [&](const auto& known) { return known.name == name; });
  };
  std::set<std::string> absent, unknown;
  for (const auto& described : op.attributes) absent.insert(described.name);
  for (auto& attribute : *proto.mutable_attribute()) {
    absent.erase(attribute.name());
    const auto known = described_as(attribute.name());
    if (attribute.name().starts_with(rewrite::literal_prefix)) continue;  // a literal of the embedded function
    if (known == op.attributes.end()) {
      unknown.insert(attribute.name());
    } else if (static_cast<int>(attribute.type()) != static_cast<int>(known->type) && !patient.loads) {
      say_type(patient, node, attribute, known->type);
    }
  }
  // A misspelled attribute that is required is one cause, not two.
  for (const auto& described : op.attributes) {
    if (!described.required || !absent.count(described.name)) continue;
    const std::string near = graph::nearest(described.name, {unknown.begin(), unknown.end()});
    unknown.erase(near);
    if (!patient.loads) say_missing(patient, node, described, near);
  }
  for (const std::string& name : unknown)
    say_unknown(patient, node, op, name, graph::nearest(name, {absent.begin(), absent.end()}));
}

void check_provider(Patient& patient, NodeId node, const std::vector<const OperatorDescription*>& operators) {
  const std::vector<std::string> here = patient.prober.runtime().providers();
  std::set<std::string> wanted;
  for (const OperatorDescription* op : operators) {
    if (std::find(here.begin(), here.end(), op->provider) != here.end()) return;
    wanted.insert(op->provider);
  }
  Finding& found = patient.add(Cause::provider_missing, patient.op_text(node));
  found.evidence.push_back(fmt::format("the library has {} for {} only; ONNX Runtime {} has {}",
                                       patient.op_text(node), fmt::join(wanted, ", "),
                                       patient.prober.runtime().version(), fmt::join(here, ", ")));
  if (found.cure.empty()) found.cure = provider_cure(*wanted.begin());
}

}  // namespace

void check_custom_nodes(Patient& patient) {
  for (NodeId node = 0; node < patient.index.node_count(); ++node) {
    const onnx::NodeProto& proto = patient.index.proto(node);
    const auto operators = patient.libraries.find(proto.domain(), proto.op_type());
    if (operators.empty()) continue;
    if (!patient.libraries.is_recorded(*operators[0])) check_attributes(patient, node, *operators[0]);
    if (patient.loads) continue;
    check_counts(patient, node, *operators[0]);
    check_types(patient, node, operators);
    check_provider(patient, node, operators);
  }
}

}  // namespace graft::doctor
