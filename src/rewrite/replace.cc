#include "rewrite/replace.h"

#include <fmt/format.h>

#include <unordered_map>

#include "graph/sort.h"

namespace graft::rewrite {

using graph::NodeId;
using graph::none;
using graph::ValueId;

Replacement::Replacement(const graph::Index& index, const graph::Constants& constants)
    : index_(index), constants_(constants) {
  readers_.resize(static_cast<size_t>(index.value_count()), 0);
  gone_.resize(static_cast<size_t>(index.node_count()), false);
  replaced_.resize(static_cast<size_t>(index.node_count()), false);
  for (ValueId value = 0; value < index.value_count(); ++value)
    readers_[static_cast<size_t>(value)] = static_cast<int32_t>(index.uses(value).size());
}

bool Replacement::read(ValueId value) const {
  return value != none && (readers_[static_cast<size_t>(value)] > 0 || index_.value(value).is_output);
}

/// Tells whether a value still has to be made by the node that makes it.
bool Replacement::needed(ValueId value) const { return read(value) && !provided_.count(value); }

bool Replacement::replace(NewNode made, const std::vector<NodeId>& nodes,
                          const std::vector<ValueId>& constants) {
  const auto drop = [this](NodeId node) {
    for (const ValueId input : index_.inputs(node)) {
      if (input != none) --readers_[static_cast<size_t>(input)];
    }
  };
  for (const ValueId input : made.inputs) {
    if (input != none) ++readers_[static_cast<size_t>(input)];
  }
  drop(made.root);
  replaced_[static_cast<size_t>(made.root)] = true;
  gone_[static_cast<size_t>(made.root)] = true;
  std::unordered_set<NodeId> inner(nodes.begin(), nodes.end());
  for (const ValueId constant : constants) {
    touched_constants_.insert(constant);
    touched_constants_.insert(constants_.behind_identity(constant));
    std::vector<NodeId> makers;
    constants_.nodes(constant, makers);
    inner.insert(makers.begin(), makers.end());
  }
  inner.erase(made.root);
  provided_.insert(made.outputs.begin(), made.outputs.end());
  made_.push_back(std::move(made));
  bool dropped = true;
  while (dropped) {
    dropped = false;
    for (auto node = inner.begin(); node != inner.end();) {
      bool unread = !gone_[static_cast<size_t>(*node)];
      for (const ValueId output : index_.outputs(*node)) unread = unread && !needed(output);
      if (!unread) {
        ++node;
        continue;
      }
      gone_[static_cast<size_t>(*node)] = true;
      drop(*node);
      node = inner.erase(node);
      dropped = true;
    }
  }
  for (const NodeId node : nodes) {
    if (!gone_[static_cast<size_t>(node)]) return true;
  }
  return false;
}

void Replacement::apply(onnx::ModelProto& model, const graph::Types& types) {
  // Everything that views the model's names is copied before the first change.
  struct Plan {
    onnx::NodeProto* node;
    std::vector<std::string> inputs, outputs;
    const NewNode* made;
  };
  std::vector<Plan> plans;
  for (const NewNode& made : made_) {
    Plan plan{index_.node(made.root).proto, {}, {}, &made};
    for (const ValueId input : made.inputs)
      plan.inputs.emplace_back(input == none ? std::string_view() : index_.value(input).name);
    for (const ValueId output : made.outputs) plan.outputs.emplace_back(index_.value(output).name);
    plans.push_back(std::move(plan));
  }
  std::unordered_set<std::string> node_names;
  for (NodeId node = 0; node < index_.node_count(); ++node) {
    if (index_.node(node).owner == none &&
        (!gone_[static_cast<size_t>(node)] || replaced_[static_cast<size_t>(node)]))
      node_names.insert(index_.proto(node).name());
  }
  std::unordered_set<const onnx::NodeProto*> dropped;
  std::vector<std::unordered_set<std::string>> gone_values(static_cast<size_t>(index_.scope_count()));
  for (NodeId node = 0; node < index_.node_count(); ++node) {
    if (!gone_[static_cast<size_t>(node)] || replaced_[static_cast<size_t>(node)]) continue;
    dropped.insert(&index_.proto(node));
    for (const ValueId output : index_.outputs(node)) {
      if (output != none && !provided_.count(output))
        gone_values[static_cast<size_t>(index_.node(node).scope)].insert(
            std::string(index_.value(output).name));
    }
  }
  for (const ValueId value : touched_constants_) {
    const graph::Value& constant = index_.value(value);
    if (constant.initializer && !constant.is_input && !read(value))
      gone_values[static_cast<size_t>(constant.scope)].insert(std::string(constant.name));
  }
  // Types of the new nodes' values, for the tools that come after and do not know the operator.
  for (const NewNode& made : made_) {
    const graph::Scope& scope = index_.scope(index_.node(made.root).scope);
    if (!scope.graph) continue;
    const std::vector<ValueId> outputs =
        made.outputs.empty() ? std::vector<ValueId>{index_.output(made.root)} : made.outputs;
    for (const ValueId output : outputs) {
      if (index_.value(output).declared || index_.value(output).is_output) continue;
      graph::Type type = types.of(output);
      if (made.type != graph::DataType::undefined) type.type = made.type;
      onnx::ValueInfoProto& added = *scope.graph->add_value_info();
      added.set_name(std::string(index_.value(output).name));
      types.symbols().write(type, *added.mutable_type());
    }
  }
  int number = 0;
  for (const Plan& plan : plans) {
    onnx::NodeProto& node = *plan.node;
    node.set_op_type(plan.made->op);
    node.set_domain(plan.made->domain);
    node.clear_input();
    node.clear_overload();
    node.clear_attribute();
    for (const std::string& input : plan.inputs) node.add_input(input);
    if (!plan.outputs.empty()) {
      node.clear_output();
      for (const std::string& output : plan.outputs) node.add_output(output);
    }
    while (node.input_size() && node.input(node.input_size() - 1).empty()) node.mutable_input()->RemoveLast();
    for (const onnx::AttributeProto& attribute : plan.made->attributes) *node.add_attribute() = attribute;
    if (!plan.made->name.empty()) node.set_name(plan.made->name);
    if (!node.name().empty()) continue;
    std::string name;
    do {
      name = fmt::format("{}_{}", plan.made->op, number++);
    } while (!node_names.insert(name).second);
    node.set_name(name);
  }
  for (graph::ScopeId id = 0; id < index_.scope_count(); ++id) {
    const graph::Scope& scope = index_.scope(id);
    auto& nodes = scope.graph ? *scope.graph->mutable_node() : *scope.function->mutable_node();
    bool changed = false;
    for (const auto& node : nodes) changed |= dropped.count(&node) > 0;
    if (changed) {
      std::vector<onnx::NodeProto*> all(static_cast<size_t>(nodes.size()));
      nodes.UnsafeArenaExtractSubrange(0, nodes.size(), all.data());
      for (onnx::NodeProto* node : all) {
        if (dropped.count(node)) {
          delete node;
        } else {
          nodes.UnsafeArenaAddAllocated(node);
        }
      }
    }
    const auto& gone = gone_values[static_cast<size_t>(id)];
    if (gone.empty()) continue;
    const auto keep = [&gone](auto& list, const auto& name_of) {
      std::vector<bool> stays;
      for (const auto& entry : list) stays.push_back(!gone.count(name_of(entry)));
      int kept = 0;
      for (int at = 0; at < list.size(); ++at) {
        if (!stays[static_cast<size_t>(at)]) continue;
        if (at != kept) list.SwapElements(at, kept);
        ++kept;
      }
      list.DeleteSubrange(kept, list.size() - kept);
    };
    const auto name = [](const auto& entry) -> const std::string& { return entry.name(); };
    keep(scope.graph ? *scope.graph->mutable_value_info() : *scope.function->mutable_value_info(), name);
    if (scope.graph) {
      keep(*scope.graph->mutable_initializer(), name);
      keep(*scope.graph->mutable_quantization_annotation(),
           [](const auto& entry) -> const std::string& { return entry.tensor_name(); });
    }
  }
  graph::sort_nodes(model);
}

}  // namespace graft::rewrite
