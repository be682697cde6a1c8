#include "rewrite/neighbourhood.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/sort.h"
#include "rewrite/expression.h"

namespace graft::rewrite {
namespace {

constexpr size_t cannot_run = static_cast<size_t>(-1);

bool refers_to_attributes(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& attribute) {
    return !attribute.ref_attr_name().empty() || attribute.has_g() || attribute.graphs_size() > 0;
  });
}

}  // namespace

void Neighbourhoods::note(const std::string& op, NodeId node, ValueId root, const Match& match) {
  // What a place looks like: its nodes in their order, what its constants hold, and what is read.
  std::string looks = op;
  std::vector<NodeId> nodes(match.nodes);
  std::sort(nodes.begin(), nodes.end());
  for (const NodeId used : nodes) {
    looks += '|';
    looks += index_.proto(used).op_type();
    for (const auto& attribute : index_.proto(used).attribute()) looks += attribute.SerializeAsString();
  }
  for (const ValueId value : match.constants) {
    const graph::Constant* constant = constants_.find(value);
    if (constant)
      looks += fmt::format("|{}:{}:{}", static_cast<int>(constant->type), constant->value, constant->count);
  }
  for (const ValueId input : match.inputs) {
    if (input == none) {
      looks += "|-";
    } else {
      looks += fmt::format("|{}[{}]", static_cast<int>(types_.of(input).type), types_.of(input).rank());
    }
  }
  const auto [place, fresh] = known_.emplace(std::move(looks), cannot_run);
  if (fresh) {
    Entry entry;
    entry.root = node;
    entry.pair.op = op;
    entry.pair.scope = index_.scope_name(index_.value(root).scope);
    entry.pair.output = index_.value(root).name;
    if (copy(match, root, *entry.pair.before.mutable_graph())) {
      place->second = entries_.size();
      entries_.push_back(std::move(entry));
    }
  }
  if (place->second == cannot_run) {
    ++impossible_;
  } else {
    ++entries_[place->second].pair.places;
  }
}

bool Neighbourhoods::copy(const Match& match, ValueId root, onnx::GraphProto& graph) const {
  graph.set_name("neighbourhood");
  std::set<NodeId> nodes(match.nodes.begin(), match.nodes.end());
  std::set<ValueId> made;
  for (const NodeId node : nodes) {
    if (refers_to_attributes(index_.proto(node))) return false;
    *graph.add_node() = index_.proto(node);
    for (const ValueId output : index_.outputs(node)) made.insert(output);
  }
  std::set<ValueId> given;
  const auto give = [&](ValueId value) {
    if (value == none || made.count(value) || !given.insert(value).second) return true;
    const bool is_input = std::find(match.inputs.begin(), match.inputs.end(), value) != match.inputs.end();
    if (!is_input && constants_.find(value)) return copy_constant(value, graph);
    if (types_.of(value).type == DataType::undefined) return false;
    declare(value, *graph.add_input());
    return true;
  };
  for (const ValueId input : match.inputs) {
    if (!give(input)) return false;
  }
  for (const NodeId node : nodes) {
    for (const ValueId input : index_.inputs(node)) {
      if (!give(input)) return false;
    }
  }
  declare(root, *graph.add_output());
  return true;
}

bool Neighbourhoods::copy_constant(ValueId value, onnx::GraphProto& graph) const {
  const graph::Constant& constant = *constants_.find(value);
  onnx::TensorProto& tensor = *graph.add_initializer();
  if (constant.scalar() && constant.type != DataType::undefined) {
    set_scalar(tensor, constant.type, constant.value);
    for (const int64_t size : constant.dims) tensor.add_dims(size);
  } else if (constant.tensor && constant.tensor->data_location() != onnx::TensorProto::EXTERNAL) {
    tensor = *constant.tensor;
  } else {
    return false;
  }
  tensor.set_name(std::string(index_.value(value).name));
  return true;
}

void Neighbourhoods::declare(ValueId value, onnx::ValueInfoProto& info) const {
  info.set_name(std::string(index_.value(value).name));
  types_.symbols().write(types_.of(value), *info.mutable_type());
}

std::vector<Neighbourhood> Neighbourhoods::finish(const onnx::ModelProto& model) {
  std::vector<Neighbourhood> pairs;
  for (Entry& entry : entries_) {
    onnx::ModelProto& before = entry.pair.before;
    before.set_ir_version(model.ir_version());
    *before.mutable_opset_import() = model.opset_import();
    graph::sort_nodes(before);
    onnx::ModelProto& after = entry.pair.after;
    after = before;
    const onnx::NodeProto& node = index_.proto(entry.root);  // by now the new one
    after.mutable_graph()->clear_node();
    *after.mutable_graph()->add_node() = node;
    for (const onnx::FunctionProto& function : model.functions()) {
      if (function.domain() == node.domain() && function.name() == node.op_type())
        *after.add_functions() = function;
    }
    pairs.push_back(std::move(entry.pair));
  }
  return pairs;
}

}  // namespace graft::rewrite
