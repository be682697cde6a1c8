#include "rewrite/inline.h"

#include <fmt/format.h>

#include <unordered_map>

#include "error.h"
#include "graph/names.h"

namespace graft::rewrite {
namespace {

using Names = std::unordered_map<std::string, std::string>;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Names a call for messages: by its own name, else by what it makes.
std::string called(const onnx::NodeProto& call) {
  for (const std::string& output : call.output()) {
    if (call.name().empty() && !output.empty())
      return fmt::format("the node that makes `{}` ({})", output,
                         graph::qualified_name(call.domain(), call.op_type()));
  }
  return fmt::format("node `{}` ({})", call.name(), graph::qualified_name(call.domain(), call.op_type()));
}

class Inliner {
 public:
  Inliner(const onnx::NodeProto& call, const onnx::FunctionProto& function, FreshNames& fresh)
      : call_(call), function_(function), fresh_(fresh) {
    for (const std::string& output : call.output()) {
      if (prefix_.empty()) prefix_ = output;
    }
    if (prefix_.empty()) prefix_ = call.op_type();
  }

  std::vector<onnx::NodeProto> run() {
    if (call_.input_size() > function_.input_size())
      throw InputError(fmt::format("{} has {} inputs, its function {}", called(call_), call_.input_size(),
                                   function_.input_size()));
    if (call_.output_size() > function_.output_size())
      throw InputError(fmt::format("{} has {} outputs, its function {}", called(call_), call_.output_size(),
                                   function_.output_size()));
    Names names;
    for (int at = 0; at < function_.input_size(); ++at)
      names[function_.input(at)] = at < call_.input_size() ? call_.input(at) : "";
    std::vector<std::pair<std::string, std::string>> copies;  // of what the body gives on, or gives twice
    for (int at = 0; at < call_.output_size(); ++at) {
      if (call_.output(at).empty()) continue;
      const auto [place, added] = names.emplace(function_.output(at), call_.output(at));
      if (!added) copies.emplace_back(place->second, call_.output(at));
    }
    define(function_.node(), names);
    std::vector<onnx::NodeProto> nodes(function_.node().begin(), function_.node().end());
    for (onnx::NodeProto& node : nodes) {
      rewrite(node, names);
      node.set_name(fresh_.node(fmt::format("{}/{}", call_.name().empty() ? prefix_ : call_.name(),
                                            node.name().empty() ? node.op_type() : node.name())));
    }
    for (const auto& [from, to] : copies) {
      onnx::NodeProto& copy = nodes.emplace_back();
      copy.set_op_type("Identity");
      copy.set_name(fresh_.node(to + "/Identity"));
      copy.add_input(from);
      copy.add_output(to);
    }
    keep_notes(nodes);
    return nodes;
  }

 private:
  /// Gives fresh names to what the nodes make, unless the call has named it.
  void define(const Nodes& nodes, Names& names) {
    for (const onnx::NodeProto& node : nodes) {
      for (const std::string& output : node.output()) define(output, names);
    }
  }
  void define(const std::string& name, Names& names) {
    if (!name.empty() && !names.count(name)) names[name] = fresh_.value(fmt::format("{}/{}", prefix_, name));
  }

  void rewrite(onnx::NodeProto& node, const Names& names) {
    for (std::string& input : *node.mutable_input()) rename(input, names);
    for (std::string& output : *node.mutable_output()) rename(output, names);
    auto& attributes = *node.mutable_attribute();
    for (int at = 0; at < attributes.size();) {
      onnx::AttributeProto& attribute = attributes[at];
      if (!attribute.ref_attr_name().empty() && !bind(attribute)) {
        if (node.op_type() == "Constant" && graph::is_default_domain(node.domain()))
          throw InputError(fmt::format("{} lacks the attribute `{}`, which its function needs", called(call_),
                                       attribute.ref_attr_name()));
        attributes.DeleteSubrange(at, 1);
        continue;
      }
      if (attribute.has_g()) rewrite(*attribute.mutable_g(), names);
      for (onnx::GraphProto& graph : *attribute.mutable_graphs()) rewrite(graph, names);
      ++at;
    }
  }

  /// Renames what a subgraph makes, and what it reads of the body around it.
  void rewrite(onnx::GraphProto& graph, Names names) {
    const auto own = [&](const std::string& name) {
      if (!name.empty()) names[name] = fresh_.value(fmt::format("{}/{}", prefix_, name));
    };
    for (const auto& input : graph.input()) own(input.name());
    for (const auto& tensor : graph.initializer()) {
      if (!names.count(tensor.name())) own(tensor.name());
    }
    for (const auto& tensor : graph.sparse_initializer()) {
      if (!names.count(tensor.values().name())) own(tensor.values().name());
    }
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) own(output);
    }
    for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
      for (auto& value : *list) rename(*value.mutable_name(), names);
    }
    for (auto& tensor : *graph.mutable_initializer()) rename(*tensor.mutable_name(), names);
    for (auto& tensor : *graph.mutable_sparse_initializer())
      rename(*tensor.mutable_values()->mutable_name(), names);
    for (auto& annotation : *graph.mutable_quantization_annotation())
      rename(*annotation.mutable_tensor_name(), names);
    for (onnx::NodeProto& node : *graph.mutable_node()) rewrite(node, names);
  }

  static void rename(std::string& name, const Names& names) {
    const auto found = names.find(name);
    if (found != names.end()) name = found->second;
  }

  /// Gives an attribute the value that the call or the function has for it; false when neither has one.
  bool bind(onnx::AttributeProto& attribute) const {
    const std::string name = attribute.name();
    for (const auto* list : {&call_.attribute(), &function_.attribute_proto()}) {
      for (const onnx::AttributeProto& given : *list) {
        if (given.name() != attribute.ref_attr_name()) continue;
        attribute = given;
        attribute.set_name(name);
        return true;
      }
    }
    return false;
  }

  void keep_notes(std::vector<onnx::NodeProto>& nodes) const {
    for (onnx::NodeProto& node : nodes) {
      for (const auto& entry : call_.metadata_props()) *node.add_metadata_props() = entry;
      if (call_.output_size() && node.output_size() && node.output(0) == call_.output(0) &&
          !call_.doc_string().empty())
        node.set_doc_string(call_.doc_string());
    }
  }

  const onnx::NodeProto& call_;
  const onnx::FunctionProto& function_;
  FreshNames& fresh_;
  std::string prefix_;
};

}  // namespace

FreshNames::FreshNames(const onnx::ModelProto& model) {
  collect(model.graph());
  for (const auto& function : model.functions()) {
    values_.insert(function.input().begin(), function.input().end());
    collect(function.node());
  }
}

std::string FreshNames::take(std::unordered_set<std::string>& taken, const std::string& wanted) {
  std::string name = wanted;
  for (int number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}_{}", wanted, number);
  return name;
}

void FreshNames::collect(const onnx::GraphProto& graph) {
  for (const auto* list : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& value : *list) values_.insert(value.name());
  }
  for (const auto& tensor : graph.initializer()) values_.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) values_.insert(tensor.values().name());
  collect(graph.node());
}

void FreshNames::collect(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
  for (const auto& node : nodes) {
    nodes_.insert(node.name());
    values_.insert(node.input().begin(), node.input().end());
    values_.insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect(attribute.g());
      for (const auto& graph : attribute.graphs()) collect(graph);
    }
  }
}

std::vector<onnx::NodeProto> inline_call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                                         FreshNames& names) {
  return Inliner(call, function, names).run();
}

}  // namespace graft::rewrite
