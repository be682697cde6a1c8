#pragma once
/// Lets the search for regions see a graph: nodes, attributes, types and shapes, whatever holds them. The
/// command fills a view from a model (model_view.h); an execution provider fills it from the graph that a
/// runtime hands it.
///
///   View view;
///   const int x = view.add_value({.name = "x", .type = {DataType::float32, std::vector<graph::Dim>{1, 8}}});
///   const int y = view.add_value({.name = "y"});
///   view.add_node({.op = "Relu", .opset = 17, .inputs = {x}, .outputs = {y}});
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/types.h"

namespace graft::fuse {

using runtime::DataType;

/// Holds an attribute; monostate is one of a kind that no elementwise operator has.
using Attribute = std::variant<std::monostate, double, int64_t, std::string>;

struct ViewValue {
  std::string name;
  graph::Type type = {};              ///< each part possibly unknown
  std::optional<double> scalar = {};  ///< a constant of one element that no caller can change
  bool escapes = false;  ///< read by something that is no node of this graph: it is an output of the graph,
                         ///< or a subgraph reads it
  int producer = -1;     ///< node, -1 for inputs and constants
  std::vector<int> readers = {};  ///< nodes, each once
};

struct ViewNode {
  std::string op;  ///< of ONNX's own domain; any other text stands for an operator that is never fused
  int64_t opset = 0;
  std::map<std::string, Attribute> attributes = {};
  std::vector<int> inputs = {};    ///< values, -1 where one is left out
  std::vector<int> outputs = {};   ///< values, -1 where one is left out
  std::vector<int> captures = {};  ///< values that its subgraphs read; they escape
  std::string kept = {};           ///< why it must stay as it is; empty when it may be fused
};

/// Is one graph (a scope), its nodes in topological order.
class View {
 public:
  int add_value(ViewValue value);

  /// Adds a node behind those that it reads, and notes it with its values.
  int add_node(ViewNode node);

  const std::vector<ViewNode>& nodes() const { return nodes_; }
  const std::vector<ViewValue>& values() const { return values_; }
  const ViewNode& node(int id) const { return nodes_[static_cast<size_t>(id)]; }
  const ViewValue& value(int id) const { return values_[static_cast<size_t>(id)]; }

  void set_kept(int node, std::string why) { nodes_[static_cast<size_t>(node)].kept = std::move(why); }

 private:
  std::vector<ViewNode> nodes_;
  std::vector<ViewValue> values_;
};

}  // namespace graft::fuse
