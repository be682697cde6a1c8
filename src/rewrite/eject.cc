#include "rewrite/eject.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>

#include "graph/infer.h"
#include "graph/names.h"
#include "graph/sort.h"
#include "rewrite/fallback.h"
#include "rewrite/inline.h"

namespace graft::rewrite {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Bounds how deep functions may call functions.
constexpr int most_depth = 64;

/// Names a function; overloads are from IR 10 on.
std::string key_of(const std::string& domain, const std::string& name, const std::string& overload) {
  return overload.empty() ? graph::qualified_name(domain, name)
                          : fmt::format("{}:{}", graph::qualified_name(domain, name), overload);
}
std::string key_of(const onnx::FunctionProto& function) {
  return key_of(function.domain(), function.name(), function.overload());
}
std::string key_of(const onnx::NodeProto& node) {
  return key_of(node.domain(), node.op_type(), node.overload());
}

bool is_fallback(const onnx::FunctionProto& function) {
  return function.doc_string().starts_with(fallback_mark);
}

/// Calls visit(nodes) for a list of nodes and those of the subgraphs within.
template <class List, class Visit> void for_each_list(List& nodes, const Visit& visit) {
  visit(nodes);
  for (auto& node : nodes) {
    if constexpr (std::is_const_v<List>) {
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) for_each_list(attribute.g().node(), visit);
        for (const auto& graph : attribute.graphs()) for_each_list(graph.node(), visit);
      }
    } else {
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) for_each_list(*attribute.mutable_g()->mutable_node(), visit);
        for (auto& graph : *attribute.mutable_graphs()) for_each_list(*graph.mutable_node(), visit);
      }
    }
  }
}

class Ejector {
 public:
  Ejector(onnx::ModelProto& model, const std::vector<runtime::LibraryDescription>& libraries,
          const EjectOptions& options)
      : model_(model), options_(options), names_(model) {
    for (const onnx::FunctionProto& function : model.functions()) {
      own_.insert(key_of(function));
      if (asked_for(function.domain(), function.name()) ||
          (options.operators.empty() && is_fallback(function)))
        bodies_[key_of(function)] = function;
    }
    graph::Index index(model);
    const graph::Constants constants(index);
    const graph::Types types(index, constants);
    write_bodies(libraries, index, types);
    note_types(index, types);
    refuse_unknown();
  }

  Ejection run() {
    result_.nodes_before = count_nodes();
    expand_all(*model_.mutable_graph()->mutable_node());
    for (onnx::FunctionProto& function : *model_.mutable_functions()) {
      if (!bodies_.count(key_of(function))) expand_all(*function.mutable_node());
    }
    remove_functions();
    if (result_.changed()) remove_imports();
    find_left();
    result_.nodes_after = count_nodes();
    return std::move(result_);
  }

 private:
  bool asked_for(const std::string& domain, const std::string& name) const {
    return std::any_of(options_.operators.begin(), options_.operators.end(),
                       [&](const std::string& asked) { return graph::is_named(asked, domain, name); });
  }

  /// Writes the functions of library operators that the model calls and has no function for, for the types
  /// that they are called with.
  void write_bodies(const std::vector<runtime::LibraryDescription>& libraries, const graph::Index& index,
                    const graph::Types& types) {
    for (const auto& library : libraries) {
      for (const auto& op : library.operators) {
        const std::string key = graph::qualified_name(op.domain, op.name);
        if (own_.count(key)) continue;
        if (!options_.operators.empty() && !asked_for(op.domain, op.name)) continue;
        for (graph::NodeId node = 0; node < index.node_count(); ++node) {
          const onnx::NodeProto& proto = index.proto(node);
          if (proto.op_type() != op.name || !graph::same_domain(proto.domain(), op.domain)) continue;
          if (op.definitions.empty()) {
            undefined_.insert(key);
            break;
          }
          const DataType type = type_of_call(index, types, node, op);
          onnx::FunctionProto& body = written_[{key, type}];
          if (body.name().empty()) {
            try {
              body = write_body(op, type, index.opset(0));
            } catch (const OpsetError& error) {
              throw InputError(error.what());
            }
          }
          written_calls_[&proto] = &body;
        }
      }
    }
  }

  /// Gives the element type of a call: of its first input that is known, its output, or the first kernel's.
  static DataType type_of_call(const graph::Index& index, const graph::Types& types, graph::NodeId node,
                               const runtime::OperatorDescription& op) {
    for (const graph::ValueId input : index.inputs(node)) {
      if (input != graph::none && types.of(input).type != DataType::undefined) return types.of(input).type;
    }
    const graph::ValueId output = index.output(node);
    if (output != graph::none && types.of(output).type != DataType::undefined) return types.of(output).type;
    return op.overloads.front().outputs.front();
  }

  /// Notes the element type that each call is made with, where it is known.
  void note_types(const graph::Index& index, const graph::Types& types) {
    for (graph::NodeId node = 0; node < index.node_count(); ++node) {
      const graph::ValueId input = index.input(node, 0);
      if (input != graph::none && body_of(index.proto(node)))
        call_types_[&index.proto(node)] = types.of(input).type;
    }
  }

  void refuse_unknown() const {
    for (const std::string& asked : options_.operators) {
      const auto is_asked = [&](const onnx::FunctionProto& body) {
        return graph::is_named(asked, body.domain(), body.name());
      };
      bool found = false;
      for (const auto& [key, body] : bodies_) found |= is_asked(body);
      for (const auto& [key, body] : written_) found |= is_asked(body);
      if (found) continue;
      std::vector<std::string> known(own_.begin(), own_.end());
      throw InputError(fmt::format(
          "--op {}: the model has no function of that name{}", asked,
          known.empty() ? " (it has none at all)" : fmt::format("; it has {}", fmt::join(known, ", "))));
    }
  }

  const onnx::FunctionProto* body_of(const onnx::NodeProto& node) const {
    const auto written = written_calls_.find(&node);
    if (written != written_calls_.end()) return written->second;
    const auto found = bodies_.find(key_of(node));
    return found == bodies_.end() ? nullptr : &found->second;
  }

  void expand_all(Nodes& nodes) {
    for_each_list(nodes, [this](Nodes& list) { expand(list); });
  }

  /// Replaces the calls of one list of nodes, and those in what they became.
  void expand(Nodes& nodes) {
    if (std::none_of(nodes.begin(), nodes.end(),
                     [this](const auto& node) { return body_of(node) != nullptr; }))
      return;
    std::vector<onnx::NodeProto*> all(static_cast<size_t>(nodes.size()));
    nodes.UnsafeArenaExtractSubrange(0, nodes.size(), all.data());
    for (onnx::NodeProto* node : all) {
      const onnx::FunctionProto* body = body_of(*node);
      if (!body) {
        nodes.UnsafeArenaAddAllocated(node);
        continue;
      }
      const std::unique_ptr<onnx::NodeProto> call(node);
      ++result_.places[graph::qualified_name(call->domain(), call->op_type())];
      const auto type = call_types_.find(node);
      expand_call(*call, *body, type == call_types_.end() ? DataType::undefined : type->second, 0, nodes);
    }
  }

  void expand_call(const onnx::NodeProto& call, const onnx::FunctionProto& body, DataType type, int depth,
                   Nodes& nodes) {
    if (depth > most_depth)
      throw InputError(fmt::format("function {} calls itself, or functions are nested more than {} deep",
                                   key_of(body), most_depth));
    std::vector<onnx::NodeProto> written = inline_call(call, body, names_);
    if (type != DataType::undefined) settle_literals(written, call.input(0), type);
    for (onnx::NodeProto& node : written) {
      if (const onnx::FunctionProto* inner = body_of(node)) {
        expand_call(node, *inner, DataType::undefined, depth + 1, nodes);
      } else {
        *nodes.Add() = std::move(node);
      }
    }
  }

  /// Gives literals their type where it is known by now: CastLike of a Constant becomes a Constant.
  static void settle_literals(std::vector<onnx::NodeProto>& nodes, const std::string& like, DataType type) {
    std::unordered_map<std::string, onnx::NodeProto*> literals;
    std::unordered_map<std::string, int> readers;
    for (onnx::NodeProto& node : nodes) {
      for (const std::string& input : node.input()) ++readers[input];
      if (node.op_type() == "Constant" && node.attribute_size() == 1 && node.attribute(0).has_t())
        literals[node.output(0)] = &node;
    }
    for (onnx::NodeProto& node : nodes) {
      if (node.op_type() != "CastLike" || !graph::is_default_domain(node.domain()) || node.input(1) != like)
        continue;
      const auto literal = literals.find(node.input(0));
      if (literal == literals.end() || readers[node.input(0)] != 1) continue;
      const onnx::TensorProto& tensor = literal->second->attribute(0).t();
      std::vector<double> values;
      for (int64_t at = 0; at < graph::count_elements(tensor); ++at) {
        if (const auto value = graph::read_element(tensor, at)) values.push_back(*value);
      }
      if (static_cast<int64_t>(values.size()) != graph::count_elements(tensor)) continue;
      onnx::NodeProto& made = *literal->second;
      set_numbers(*made.mutable_attribute(0)->mutable_t(), type, values, tensor.dims_size() > 0);
      made.set_output(0, node.output(0));
      node.clear_op_type();
    }
    std::erase_if(nodes, [](const onnx::NodeProto& node) { return node.op_type().empty(); });
  }

  void remove_functions() {
    auto& functions = *model_.mutable_functions();
    for (int at = functions.size() - 1; at >= 0; --at) {
      if (!bodies_.count(key_of(functions[at]))) continue;
      result_.removed.push_back(key_of(functions[at]));
      functions.DeleteSubrange(at, 1);
    }
    std::reverse(result_.removed.begin(), result_.removed.end());
  }

  /// Removes the imports of the ejected operators' domains where nothing needs them any more.
  void remove_imports() {
    std::set<std::string> domains;
    for (const auto& [key, body] : bodies_) domains.insert(body.domain());
    for (const auto& [key, body] : written_) domains.insert(body.domain());
    std::set<std::string> functions;
    for (const auto& function : model_.functions()) functions.insert(function.domain());
    const auto clean = [&](graph::Imports& imports, const Nodes& nodes, bool is_model) {
      std::set<std::string> used;
      for_each_list(nodes, [&](const Nodes& list) {
        for (const auto& node : list) used.insert(node.domain());
      });
      for (int at = imports.size() - 1; at >= 0; --at) {
        const std::string& domain = imports[at].domain();
        if (!domains.count(domain) || graph::is_default_domain(domain) || used.count(domain)) continue;
        if (is_model && functions.count(domain)) continue;
        imports.DeleteSubrange(at, 1);
      }
    };
    for (onnx::FunctionProto& function : *model_.mutable_functions())
      clean(*function.mutable_opset_import(), function.node(), false);
    clean(*model_.mutable_opset_import(), model_.graph().node(), true);
  }

  /// Lists what is neither of ONNX's own nor written out by a function of the model.
  void find_left() {
    const auto look = [this](const Nodes& nodes) {
      for_each_list(nodes, [this](const Nodes& list) {
        for (const auto& node : list) {
          const std::string& domain = node.domain();
          if (graph::is_default_domain(domain) || domain.starts_with("ai.onnx.") || own_.count(key_of(node)))
            continue;
          ++result_.left[graph::qualified_name(domain, node.op_type())];
        }
      });
    };
    look(model_.graph().node());
    for (const auto& function : model_.functions()) look(function.node());
    for (const std::string& key : undefined_)
      result_.notes.push_back(
          fmt::format("{} is in the library without a definition, so it cannot be written out", key));
  }

  int count_nodes() const {
    int count = 0;
    const auto add = [&](const Nodes& nodes) {
      for_each_list(nodes, [&](const Nodes& list) { count += list.size(); });
    };
    add(model_.graph().node());
    for (const auto& function : model_.functions()) {
      if (!bodies_.count(key_of(function)) && !is_fallback(function)) add(function.node());
    }
    return count;
  }

  onnx::ModelProto& model_;
  const EjectOptions& options_;
  FreshNames names_;
  std::set<std::string> own_;  ///< the model's functions
  std::set<std::string> undefined_;
  std::unordered_map<std::string, onnx::FunctionProto> bodies_;  ///< of the model's functions to write out
  std::map<std::pair<std::string, DataType>, onnx::FunctionProto>
      written_;  ///< from the libraries' definitions
  std::unordered_map<const onnx::NodeProto*, const onnx::FunctionProto*> written_calls_;
  std::unordered_map<const onnx::NodeProto*, DataType> call_types_;
  Ejection result_;
};

}  // namespace

Ejection eject(onnx::ModelProto& model, const std::vector<runtime::LibraryDescription>& libraries,
               const EjectOptions& options) {
  return Ejector(model, libraries, options).run();
}

}  // namespace graft::rewrite
