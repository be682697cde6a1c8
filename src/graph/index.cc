#include "graph/index.h"

#include <algorithm>

#include "graph/names.h"

namespace graft::graph {
namespace {

std::string function_key(std::string_view domain, std::string_view name, std::string_view overload) {
  return std::string(is_default_domain(domain) ? "" : domain) + "\n" + std::string(name) + "\n" +
         std::string(overload);
}

}  // namespace

Index::Index(onnx::ModelProto& model) : ir_version_(model.ir_version()), model_(&model) {
  add_scope(model.mutable_graph(), nullptr, none, none, "");
  for (auto& function : *model.mutable_functions()) {
    const ScopeId scope = add_scope(nullptr, &function, none, none, "");
    functions_.emplace(function_key(function.domain(), function.name(), function.overload()), scope);
  }
  finish();
}

Index::Index(onnx::FunctionProto& function) {
  add_scope(nullptr, &function, none, none, "");
  finish();
}

ValueId Index::add_value(ScopeId scope, std::string_view name) {
  auto& names = scopes_[static_cast<size_t>(scope)].names;
  const auto [place, added] = names.emplace(name, value_count());
  if (added) {
    Value value;
    value.name = name;
    value.scope = scope;
    values_.push_back(value);
  }
  return place->second;
}

ScopeId Index::add_scope(onnx::GraphProto* graph, onnx::FunctionProto* function, ScopeId parent, NodeId owner,
                         std::string_view attribute) {
  const ScopeId id = scope_count();
  scopes_.emplace_back();
  Scope& scope = scopes_.back();
  scope.graph = graph;
  scope.function = function;
  scope.parent = parent;
  scope.owner = owner;
  scope.attribute = attribute;
  if (graph) {
    for (const auto& input : graph->input()) {
      const ValueId value = add_value(id, input.name());
      values_[static_cast<size_t>(value)].is_input = true;
      values_[static_cast<size_t>(value)].declared = &input;
      scope.inputs.push_back(value);
    }
    for (const auto& tensor : graph->initializer()) {
      Value& value = values_[static_cast<size_t>(add_value(id, tensor.name()))];
      value.initializer = &tensor;
      value.overridable = value.is_input && ir_version_ >= 4;
    }
    for (const auto& sparse : graph->sparse_initializer()) {
      Value& value = values_[static_cast<size_t>(add_value(id, sparse.values().name()))];
      value.sparse = &sparse;
      value.overridable = value.is_input && ir_version_ >= 4;
    }
    add_nodes(id, *graph->mutable_node());
  } else {
    for (const auto& input : function->input()) {
      const ValueId value = add_value(id, input);
      values_[static_cast<size_t>(value)].is_input = true;
      scope.inputs.push_back(value);
    }
    add_nodes(id, *function->mutable_node());
  }
  return id;
}

void Index::add_nodes(ScopeId scope, google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
  for (auto& proto : nodes) {
    const NodeId id = node_count();
    Node node;
    node.proto = &proto;
    node.scope = scope;
    node.output_count = proto.output_size();
    node.first_output = static_cast<int32_t>(slots_.size());
    for (int slot = 0; slot < proto.output_size(); ++slot) {
      if (proto.output(slot).empty()) {
        slots_.push_back(none);
        continue;
      }
      const ValueId made = add_value(scope, proto.output(slot));
      Value& value = values_[static_cast<size_t>(made)];
      if (value.producer == none && !value.is_input && !value.initializer) {
        value.producer = id;
        value.slot = slot;
      }
      slots_.push_back(made);
    }
    nodes_.push_back(node);
    scopes_[static_cast<size_t>(scope)].nodes.push_back(id);
  }
}

/// Resolves the names that a scope's nodes read, adding the scopes of their subgraphs on the way.
void Index::resolve(ScopeId id) {
  const size_t count = scopes_[static_cast<size_t>(id)].nodes.size();
  for (size_t position = 0; position < count; ++position) {
    const NodeId node = scopes_[static_cast<size_t>(id)].nodes[position];
    onnx::NodeProto& proto = *nodes_[static_cast<size_t>(node)].proto;
    nodes_[static_cast<size_t>(node)].input_count = proto.input_size();
    nodes_[static_cast<size_t>(node)].first_input = static_cast<int32_t>(slots_.size());
    for (const std::string& name : proto.input()) {
      ValueId read = none;
      if (!name.empty()) {
        read = find(id, name);
        if (read == none) read = add_value(id, name);
      }
      slots_.push_back(read);
    }
    for (auto& attribute : *proto.mutable_attribute()) {
      if (attribute.has_g()) resolve(add_scope(attribute.mutable_g(), nullptr, id, node, attribute.name()));
      for (auto& graph : *attribute.mutable_graphs())
        resolve(add_scope(&graph, nullptr, id, node, attribute.name()));
    }
  }
  Scope& scope = scopes_[static_cast<size_t>(id)];
  if (scope.graph) {
    for (const auto& output : scope.graph->output()) {
      const ValueId value = find(id, output.name());
      scope.outputs.push_back(value);
      if (value == none) continue;
      values_[static_cast<size_t>(value)].is_output = true;
      if (values_[static_cast<size_t>(value)].scope == id && !values_[static_cast<size_t>(value)].declared)
        values_[static_cast<size_t>(value)].declared = &output;
    }
    for (const auto& known : scope.graph->value_info()) {
      const auto place = scope.names.find(known.name());
      if (place != scope.names.end() && !values_[static_cast<size_t>(place->second)].declared)
        values_[static_cast<size_t>(place->second)].declared = &known;
    }
  } else {
    for (const auto& output : scope.function->output()) {
      const ValueId value = find(id, output);
      scope.outputs.push_back(value);
      if (value != none) values_[static_cast<size_t>(value)].is_output = true;
    }
    for (const auto& known : scope.function->value_info()) {
      const auto place = scope.names.find(known.name());
      if (place != scope.names.end() && !values_[static_cast<size_t>(place->second)].declared)
        values_[static_cast<size_t>(place->second)].declared = &known;
    }
  }
}

void Index::finish() {
  const ScopeId roots = scope_count();
  for (ScopeId scope = 0; scope < roots; ++scope) resolve(scope);

  first_use_.assign(static_cast<size_t>(value_count()) + 1, 0);
  for (NodeId id = 0; id < node_count(); ++id) {
    for (const ValueId read : inputs(id)) {
      if (read != none) ++first_use_[static_cast<size_t>(read) + 1];
    }
  }
  for (size_t value = 1; value < first_use_.size(); ++value) first_use_[value] += first_use_[value - 1];
  uses_.resize(static_cast<size_t>(first_use_.back()));
  std::vector<int32_t> next(first_use_.begin(), first_use_.end() - 1);
  for (NodeId id = 0; id < node_count(); ++id) {
    int32_t slot = 0;
    for (const ValueId read : inputs(id)) {
      if (read != none) uses_[static_cast<size_t>(next[static_cast<size_t>(read)]++)] = {id, slot};
      ++slot;
    }
  }

  const auto capture = [this](ScopeId scope, ValueId read) {
    const ScopeId home = value(read).scope;
    for (ScopeId at = scope; at != home && at != none; at = this->scope(at).parent) {
      const NodeId owner = this->scope(at).owner;
      if (owner == none) break;
      auto& list = captures_[owner];
      if (list.empty() || list.back() != read) list.push_back(read);
    }
  };
  for (NodeId id = 0; id < node_count(); ++id) {
    if (scope(node(id).scope).owner == none) continue;
    for (const ValueId read : inputs(id)) {
      if (read != none && value(read).scope != node(id).scope) capture(node(id).scope, read);
    }
  }
  for (ScopeId id = 0; id < scope_count(); ++id) {
    for (const ValueId output : scope(id).outputs) {
      if (output != none && value(output).scope != id) capture(id, output);
    }
  }
  for (auto& [owner, list] : captures_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

std::span<const Use> Index::uses(ValueId id) const {
  if (static_cast<size_t>(id) + 1 >= first_use_.size()) return {};
  const auto first = static_cast<size_t>(first_use_[static_cast<size_t>(id)]);
  const auto last = static_cast<size_t>(first_use_[static_cast<size_t>(id) + 1]);
  return {uses_.data() + first, last - first};
}

ValueId Index::find(ScopeId scope, std::string_view name) const {
  for (ScopeId at = scope; at != none; at = this->scope(at).parent) {
    const auto& names = this->scope(at).names;
    const auto place = names.find(name);
    if (place != names.end()) return place->second;
  }
  return none;
}

ScopeId Index::function(std::string_view domain, std::string_view name, std::string_view overload) const {
  const auto place = functions_.find(function_key(domain, name, overload));
  return place == functions_.end() ? none : place->second;
}

ScopeId Index::root(ScopeId scope) const {
  while (this->scope(scope).parent != none) scope = this->scope(scope).parent;
  return scope;
}

int64_t Index::opset(ScopeId scope) const {
  const Scope& outer = this->scope(root(scope));
  if (outer.function) {
    const int64_t version = imported_version(outer.function->opset_import(), "");
    if (version > 0 || !model_) return version;
  }
  if (!model_) return 0;
  const int64_t version = imported_version(model_->opset_import(), "");
  return version > 0 ? version : 1;
}

std::string Index::scope_name(ScopeId id) const {
  std::vector<ScopeId> path;
  for (ScopeId at = id; at != none; at = scope(at).parent) path.push_back(at);
  const Scope& outer = scope(path.back());
  std::string name =
      outer.function ? "function:" + outer.function->domain() + ":" + outer.function->name() : "main";
  for (auto at = path.rbegin() + 1; at != path.rend(); ++at) {
    const Scope& inner = scope(*at);
    const onnx::NodeProto& owner = proto(inner.owner);
    name += "/" + (owner.output_size() ? owner.output(0) : owner.name()) + ":" + std::string(inner.attribute);
  }
  return name;
}

std::span<const ValueId> Index::captures(NodeId node) const {
  const auto place = captures_.find(node);
  if (place == captures_.end()) return {};
  return place->second;
}

std::vector<ValueId> Index::spell_out(NodeId owner, onnx::FunctionProto body,
                                      std::span<const ValueId> arguments) {
  spelled_out_.push_back(std::move(body));
  onnx::FunctionProto& kept = spelled_out_.back();
  std::unordered_map<std::string_view, ValueId> names;
  for (int position = 0; position < kept.input_size(); ++position) {
    names.emplace(kept.input(position), static_cast<size_t>(position) < arguments.size()
                                            ? arguments[static_cast<size_t>(position)]
                                            : none);
  }
  for (auto& proto : *kept.mutable_node()) {
    const NodeId id = node_count();
    Node made;
    made.proto = &proto;
    made.scope = node(owner).scope;
    made.owner = owner;
    made.first_input = static_cast<int32_t>(slots_.size());
    made.input_count = proto.input_size();
    for (const std::string& name : proto.input()) {
      const auto place = names.find(name);
      slots_.push_back(place == names.end() ? none : place->second);
    }
    made.first_output = static_cast<int32_t>(slots_.size());
    made.output_count = proto.output_size();
    for (int slot = 0; slot < proto.output_size(); ++slot) {
      Value value;
      value.name = proto.output(slot);
      value.scope = made.scope;
      value.producer = id;
      value.slot = slot;
      names[proto.output(slot)] = value_count();
      slots_.push_back(value_count());
      values_.push_back(value);
    }
    nodes_.push_back(made);
  }
  std::vector<ValueId> outputs;
  for (const std::string& name : kept.output()) outputs.push_back(names.at(name));
  return outputs;
}

}  // namespace graft::graph
