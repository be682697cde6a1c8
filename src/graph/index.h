#pragma once
/// Lets you walk a model as a graph: who makes a value, who reads it, in which scope, with everything
/// numbered.
///
///   Index index(model.proto);
///   for (NodeId node = 0; node < index.node_count(); ++node)
///     for (ValueId input : index.inputs(node)) fmt::print("{}\n", index.value(input).name);
///
/// The index views the protos: it is good until a name or a list of nodes changes.
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx-ml.pb.h"

namespace graft::graph {

using ValueId = int32_t;
using NodeId = int32_t;
using ScopeId = int32_t;
constexpr int32_t none = -1;

/// Is the main graph (scope 0), a subgraph of an If, Loop or Scan, or a model-local function: one space of
/// names.
struct Scope {
  onnx::GraphProto* graph = nullptr;        ///< of the main graph and of subgraphs
  onnx::FunctionProto* function = nullptr;  ///< of functions
  ScopeId parent = none;                    ///< the scope that a subgraph reads values of
  NodeId owner = none;                      ///< the node that holds the subgraph
  std::string_view attribute;               ///< the owner's attribute that holds the subgraph
  std::vector<NodeId> nodes;                ///< in the order of the file
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::unordered_map<std::string_view, ValueId> names;
};

struct Value {
  std::string_view name;
  ScopeId scope = none;
  NodeId producer = none;
  int32_t slot = 0;  ///< which output of the producer
  const onnx::TensorProto* initializer = nullptr;
  const onnx::SparseTensorProto* sparse = nullptr;
  const onnx::ValueInfoProto* declared = nullptr;  ///< as input, output or value_info
  bool is_input = false;                           ///< of its graph or function
  bool is_output = false;    ///< of its graph or function, or of a subgraph that names it
  bool overridable = false;  ///< an initializer that a caller may replace (also an input, IR 4 or later)
};

/// Names one place where a value is read.
struct Use {
  NodeId node;
  int32_t slot;
};

struct Node {
  onnx::NodeProto* proto = nullptr;
  ScopeId scope = none;
  int32_t first_input = 0, input_count = 0;
  int32_t first_output = 0, output_count = 0;
  NodeId owner = none;  ///< of a node that only spells out what `owner` means: the node of the file
};

class Index {
 public:
  explicit Index(onnx::ModelProto& model);

  /// Indexes one function alone, such as a definition.
  explicit Index(onnx::FunctionProto& function);

  int64_t ir_version() const { return ir_version_; }
  int32_t node_count() const { return static_cast<int32_t>(nodes_.size()); }
  int32_t value_count() const { return static_cast<int32_t>(values_.size()); }
  int32_t scope_count() const { return static_cast<int32_t>(scopes_.size()); }

  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  const onnx::NodeProto& proto(NodeId id) const { return *node(id).proto; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  const Scope& scope(ScopeId id) const { return scopes_[static_cast<size_t>(id)]; }

  /// Gives a node's inputs; an input that is left out is `none`.
  std::span<const ValueId> inputs(NodeId id) const {
    return {slots_.data() + node(id).first_input, static_cast<size_t>(node(id).input_count)};
  }
  std::span<const ValueId> outputs(NodeId id) const {
    return {slots_.data() + node(id).first_output, static_cast<size_t>(node(id).output_count)};
  }

  /// Gives an input, `none` when the node has fewer.
  ValueId input(NodeId id, int32_t slot) const {
    return slot < node(id).input_count ? inputs(id)[static_cast<size_t>(slot)] : none;
  }
  ValueId output(NodeId id, int32_t slot = 0) const {
    return slot < node(id).output_count ? outputs(id)[static_cast<size_t>(slot)] : none;
  }

  /// Lists the places that read a value, those in subgraphs too.
  std::span<const Use> uses(ValueId id) const;

  /// Finds a value by the name that a scope knows it under, its own or an outer one's.
  ValueId find(ScopeId scope, std::string_view name) const;

  /// Finds a model-local function.
  ScopeId function(std::string_view domain, std::string_view name, std::string_view overload = {}) const;

  /// Gives the version of ONNX's operators that a scope may use.
  int64_t opset(ScopeId scope) const;

  /// Gives the outermost scope of a scope: the main graph or a function.
  ScopeId root(ScopeId scope) const;

  /// Writes "main", "main/z:then_branch" (the subgraph of the node that makes z) or "function:blocks:Act".
  std::string scope_name(ScopeId scope) const;

  /// Lists what a node's subgraphs read of the scopes around them.
  std::span<const ValueId> captures(NodeId node) const;

  /// Adds nodes that spell out what `owner` means: `body` with its inputs bound to `arguments`. Gives the
  /// values of the body's outputs. They belong to no list of nodes and read nothing, as far as uses() says.
  std::vector<ValueId> spell_out(NodeId owner, onnx::FunctionProto body, std::span<const ValueId> arguments);

 private:
  ScopeId add_scope(onnx::GraphProto* graph, onnx::FunctionProto* function, ScopeId parent, NodeId owner,
                    std::string_view attribute);
  ValueId add_value(ScopeId scope, std::string_view name);
  void add_nodes(ScopeId scope, google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes);
  void resolve(ScopeId scope);
  void finish();

  int64_t ir_version_ = 0;
  const onnx::ModelProto* model_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::deque<Scope> scopes_;
  std::vector<ValueId> slots_;
  std::vector<Use> uses_;
  std::vector<int32_t> first_use_;
  std::unordered_map<std::string, ScopeId> functions_;
  std::unordered_map<NodeId, std::vector<ValueId>> captures_;
  std::deque<onnx::FunctionProto> spelled_out_;
};

}  // namespace graft::graph
