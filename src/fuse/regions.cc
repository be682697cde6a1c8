#include "fuse/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace graft::fuse {
namespace {

/// Bounds how far apart in the order of the graph two groups may lie that become one.
constexpr size_t most_between = 20'000;

/// Lists what runtimes compute element by element with scalar code, or in several passes: worth replacing
/// alone.
bool slow_alone(const ViewNode& node) {
  static constexpr std::array<std::string_view, 9> slow = {"Softplus", "Mish", "HardSwish", "Elu", "Selu",
                                                           "Celu",     "Erf",  "Log",       "Gelu"};
  return std::find(slow.begin(), slow.end(), node.op) != slow.end();
}

/// Tells whether two sizes may be one, where one that is unknown counts as the same as any but 1.
bool alike(graph::Dim one, graph::Dim other) {
  if (one == other) return true;
  if (one == 1 || other == 1) return false;
  return one < 0 || other < 0;
}

/// Tells whether two values have one shape as far as is known. This decides what pays, not what is right.
bool alike(const graph::Type& one, const graph::Type& other) {
  if (!one.dims || !other.dims) return one.dims.has_value() == other.dims.has_value();
  return std::equal(one.dims->begin(), one.dims->end(), other.dims->begin(), other.dims->end(),
                    [](graph::Dim a, graph::Dim b) { return alike(a, b); });
}

bool is_one_element(const graph::Type& type) {
  return type.dims &&
         std::all_of(type.dims->begin(), type.dims->end(), [](graph::Dim dim) { return dim == 1; });
}

/// Tells whether integers of this shape are rather sizes and axes than data: what computes shapes stays where
/// the runtime can see through it.
bool computes_shapes(const graph::Type& type) {
  return type.type == DataType::int64 && (!type.dims || type.dims->size() <= 1);
}

class Search {
 public:
  Search(const View& view, const RegionOptions& options) : view_(view), options_(options) {}

  Regions run() {
    const int count = static_cast<int>(view_.nodes().size());
    why_.resize(static_cast<size_t>(count));
    reached_.resize(static_cast<size_t>(count));
    const std::vector<bool> read = find_read();
    for (int node = 0; node < count; ++node) {
      group_.push_back(node);
      groups_.push_back({node});
      position_.push_back(static_cast<int>(order_.size()));
      order_.push_back(node);
      std::string& why = why_[static_cast<size_t>(node)];
      why = why_not_elementwise(view_, node);
      if (why.empty() && computes_shapes(view_.value(output_of(node)).type)) why = "it computes a shape";
      if (why.empty() && !read[static_cast<size_t>(node)]) why = "nobody reads it";
      if (why.empty()) place(node);
    }
    Regions found;
    std::vector<std::pair<int, std::vector<int>>> sets;
    for (std::vector<int>& members : groups_) {
      if (!members.empty() && why_[static_cast<size_t>(members.front())].empty())
        split(std::move(members), sets);
    }
    std::sort(sets.begin(), sets.end());
    for (auto& [first, nodes] : sets) emit(std::move(nodes), found);
    for (const Region& region : found.regions) found.borders.push_back(borders_of(region));
    return found;
  }

 private:
  int output_of(int node) const { return view_.node(node).outputs[0]; }

  /// Tells of each node whether something comes of it. In a region, what nobody reads would bring its inputs
  /// along, and with them their shapes.
  std::vector<bool> find_read() const {
    std::vector<bool> read(view_.nodes().size());
    for (size_t node = read.size(); node-- > 0;) {
      for (const int output : view_.node(static_cast<int>(node)).outputs) {
        if (output < 0) continue;
        const ViewValue& value = view_.value(output);
        read[node] = read[node] || value.escapes ||
                     std::any_of(value.readers.begin(), value.readers.end(),
                                 [&](int reader) { return read[static_cast<size_t>(reader)]; });
      }
    }
    return read;
  }

  /// Puts a node into the groups of its producers as far as they can become one.
  void place(int node) {
    std::vector<int> beside;
    for (const int input : view_.node(node).inputs) {
      const int producer = input < 0 ? -1 : view_.value(input).producer;
      if (producer < 0 || !why_[static_cast<size_t>(producer)].empty()) continue;
      if (!alike(view_.value(input).type, view_.value(output_of(node)).type)) continue;
      const int group = group_[static_cast<size_t>(producer)];
      if (std::find(beside.begin(), beside.end(), group) == beside.end()) beside.push_back(group);
    }
    for (const int group : beside) join(group, group_[static_cast<size_t>(node)]);
  }

  template <class Visit> void for_each_producer(int group, Visit visit) const {
    for (const int node : groups_[static_cast<size_t>(group)]) {
      for (const auto* read : {&view_.node(node).inputs, &view_.node(node).captures}) {
        for (const int value : *read) {
          const int producer = value < 0 ? -1 : view_.value(value).producer;
          if (producer >= 0) visit(group_[static_cast<size_t>(producer)]);
        }
      }
    }
  }

  /// Makes one group of two unless a way leads from one out and into the other; what is joined already counts
  /// as one node. The order of the groups stays topological, so that only what lies between the two has to be
  /// looked at.
  void join(int one, int other) {
    if (one == other) return;
    if (position_[static_cast<size_t>(one)] > position_[static_cast<size_t>(other)]) std::swap(one, other);
    const auto begin = static_cast<size_t>(position_[static_cast<size_t>(one)]);
    const auto end = static_cast<size_t>(position_[static_cast<size_t>(other)]);
    if (end - begin > most_between) return;
    std::vector<int> behind;  // groups between that one leads to
    std::vector<int> before;
    const auto follows = [&](int group) {
      bool found = false;
      for_each_producer(
          group, [&](int producer) { found |= producer != one && reached_[static_cast<size_t>(producer)]; });
      return found;
    };
    const auto reads_one = [&](int group) {
      bool found = false;
      for_each_producer(group, [&](int producer) { found |= producer == one; });
      return found;
    };
    for (size_t at = begin + 1; at < end; ++at) {
      const int group = order_[at];
      if (reads_one(group) || follows(group)) {
        reached_[static_cast<size_t>(group)] = true;
        behind.push_back(group);
      } else {
        before.push_back(group);
      }
    }
    const bool convex = !follows(other);
    for (const int group : behind) reached_[static_cast<size_t>(group)] = false;
    if (!convex) return;
    size_t at = begin;
    const auto put = [&](int group) {
      order_[at] = group;
      position_[static_cast<size_t>(group)] = static_cast<int>(at++);
    };
    for (const int group : before) put(group);
    put(one);
    for (const int group : behind) put(group);
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(at));
    for (; at < order_.size(); ++at) position_[static_cast<size_t>(order_[at])] = static_cast<int>(at);
    std::vector<int>& members = groups_[static_cast<size_t>(one)];
    std::vector<int>& moved = groups_[static_cast<size_t>(other)];
    for (const int node : moved) group_[static_cast<size_t>(node)] = one;
    members.insert(members.end(), moved.begin(), moved.end());
    std::sort(members.begin(), members.end());
    moved.clear();
  }

  /// Lists the values that a set of nodes makes and something outside of it reads.
  std::vector<int> outputs_of(const std::vector<int>& nodes) const {
    std::vector<int> outputs;
    for (const int node : nodes) {
      const ViewValue& value = view_.value(output_of(node));
      const bool outside =
          value.escapes || std::any_of(value.readers.begin(), value.readers.end(), [&](int reader) {
            return !std::binary_search(nodes.begin(), nodes.end(), reader);
          });
      if (outside) outputs.push_back(output_of(node));
    }
    return outputs;
  }

  /// Gives what a value is computed from: the nodes of the set on the way, and the inputs that can change its
  /// shape.
  struct Cone {
    std::vector<int> nodes;
    std::set<int> shaping;
  };
  Cone cone_of(int value, const std::vector<int>& nodes) const {
    Cone cone;
    std::unordered_set<int> seen;
    std::vector<int> stack = {view_.value(value).producer};
    while (!stack.empty()) {
      const int node = stack.back();
      stack.pop_back();
      if (!seen.insert(node).second) continue;
      cone.nodes.push_back(node);
      for (const int input : view_.node(node).inputs) {
        if (input < 0) continue;
        const int producer = view_.value(input).producer;
        if (producer >= 0 && std::binary_search(nodes.begin(), nodes.end(), producer)) {
          stack.push_back(producer);
        } else if (!view_.value(input).scalar || !is_one_element(view_.value(input).type) ||
                   view_.value(input).type.dims->size() >
                       view_.value(value).type.dims.value_or(std::vector<graph::Dim>{}).size()) {
          cone.shaping.insert(input);
        }
      }
    }
    std::sort(cone.nodes.begin(), cone.nodes.end());
    return cone;
  }

  /// Tells whether two values surely have one shape.
  bool same_shape(int one, const Cone& cone_one, int other, const Cone& cone_other) const {
    if (cone_one.shaping == cone_other.shaping) return true;
    const graph::Type &a = view_.value(one).type, &b = view_.value(other).type;
    return a.dims && b.dims && *a.dims == *b.dims &&
           std::find(a.dims->begin(), a.dims->end(), graph::unknown) == a.dims->end();
  }

  /// Splits a convex set until all outputs of each part surely have one shape and, if asked for, one type,
  /// and the parts are small enough. A part that holds all that its nodes read of the set is convex, and so
  /// is the rest.
  void split(std::vector<int> nodes, std::vector<std::pair<int, std::vector<int>>>& sets) const {
    const std::vector<int> outputs = outputs_of(nodes);
    if (outputs.empty()) return;  // nobody reads it
    std::vector<Cone> cones;
    for (const int output : outputs) cones.push_back(cone_of(output, nodes));
    const std::vector<size_t> alike = largest_class(outputs, cones);
    if (alike.size() < outputs.size()) {
      std::vector<int> part;
      for (const size_t at : alike) part.insert(part.end(), cones[at].nodes.begin(), cones[at].nodes.end());
      std::sort(part.begin(), part.end());
      part.erase(std::unique(part.begin(), part.end()), part.end());
      if (part.size() ==
          nodes.size()) {  // the other outputs are made on the way: what leads to one of them comes off
        for (size_t at = 0; at < outputs.size(); ++at) {
          if (std::find(alike.begin(), alike.end(), at) == alike.end()) part = cones[at].nodes;
        }
      }
      halve(nodes, part, sets);
      return;
    }
    if (nodes.size() > 1 && is_too_large(nodes, outputs)) {
      halve(nodes, {nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2)}, sets);
      return;
    }
    connected(nodes, sets);
  }

  void halve(const std::vector<int>& nodes, const std::vector<int>& part,
             std::vector<std::pair<int, std::vector<int>>>& sets) const {
    std::vector<int> rest;
    std::set_difference(nodes.begin(), nodes.end(), part.begin(), part.end(), std::back_inserter(rest));
    split(part, sets);
    if (!rest.empty()) split(std::move(rest), sets);
  }

  /// Gives the outputs that can be those of one region, of the choices that which takes most nodes.
  std::vector<size_t> largest_class(const std::vector<int>& outputs, const std::vector<Cone>& cones) const {
    std::vector<size_t> best;
    size_t most = 0;
    for (size_t first = 0; first < outputs.size(); ++first) {
      std::vector<size_t> members;
      std::unordered_set<int> covered;
      for (size_t at = 0; at < outputs.size(); ++at) {
        const bool typed = !options_.one_output_type ||
                           view_.value(outputs[at]).type.type == view_.value(outputs[first]).type.type;
        if (at != first && !(typed && same_shape(outputs[first], cones[first], outputs[at], cones[at])))
          continue;
        members.push_back(at);
        covered.insert(cones[at].nodes.begin(), cones[at].nodes.end());
      }
      if (covered.size() > most) {
        most = covered.size();
        best = std::move(members);
      }
    }
    return best;
  }

  bool is_too_large(const std::vector<int>& nodes, const std::vector<int>& outputs) const {
    ProgramBuilder builder(view_);
    for (const int node : nodes) builder.add(node);
    const Translation found = builder.finish(outputs);
    return static_cast<int>(found.inputs.size()) > options_.most_inputs ||
           static_cast<int>(found.program.values.size()) > options_.most_values;
  }

  /// Splitting can leave parts that have nothing to do with each other: each is a set of its own.
  void connected(const std::vector<int>& nodes, std::vector<std::pair<int, std::vector<int>>>& sets) const {
    std::unordered_map<int, int> part;
    for (const int node : nodes) part[node] = node;
    const auto find = [&](int node) {
      while (part[node] != node) node = part[node] = part[part[node]];
      return node;
    };
    for (const int node : nodes) {
      for (const int input : view_.node(node).inputs) {
        const int producer = input < 0 ? -1 : view_.value(input).producer;
        if (producer >= 0 && part.count(producer)) part[find(node)] = find(producer);
      }
    }
    std::map<int, std::vector<int>> parts;
    for (const int node : nodes) parts[find(node)].push_back(node);
    for (auto& [root, members] : parts) sets.emplace_back(members.front(), std::move(members));
  }

  void emit(std::vector<int> nodes, Regions& found) const {
    if (nodes.size() < 2 && !slow_alone(view_.node(nodes.front()))) return;
    ProgramBuilder builder(view_);
    for (const int node : nodes) builder.add(node);
    Region region;
    region.outputs = outputs_of(nodes);
    Translation translation = builder.finish(region.outputs);
    if (region.outputs.empty()) return;      // nobody reads it
    if (translation.inputs.empty()) return;  // all is constant: the runtime folds it
    region.nodes = std::move(nodes);
    region.inputs = std::move(translation.inputs);
    region.program = std::move(translation.program);
    region.literals = std::move(translation.literals);
    found.regions.push_back(std::move(region));
  }

  std::vector<Border> borders_of(const Region& region) const {
    std::vector<Border> borders;
    const auto note = [&](int value, int node) {
      const std::string& why = why_[static_cast<size_t>(node)];
      if (!why.empty()) {
        borders.push_back({value, why});
      } else if (!alike(view_.value(value).type, view_.value(output_of(node)).type) ||
                 !alike(view_.value(output_of(region.nodes[0])).type, view_.value(output_of(node)).type)) {
        borders.push_back({value, view_.node(node).op + " has another shape"});
      } else {
        borders.push_back({value, view_.node(node).op + " reads of what is computed in between"});
      }
    };
    for (const int input : region.inputs) {
      if (view_.value(input).producer >= 0) note(input, view_.value(input).producer);
    }
    for (const int output : region.outputs) {
      for (const int reader : view_.value(output).readers) {
        if (!std::binary_search(region.nodes.begin(), region.nodes.end(), reader)) note(output, reader);
      }
    }
    return borders;
  }

  const View& view_;
  const RegionOptions& options_;
  std::vector<int> group_;                ///< of each node; one that is no candidate is a group of its own
  std::vector<std::vector<int>> groups_;  ///< nodes in topological order; empty: joined to another
  std::vector<int> order_;                ///< groups in topological order, each one node
  std::vector<int> position_;             ///< of each group in it
  std::vector<bool> reached_;             ///< marks of join()
  std::vector<std::string> why_;          ///< each node is no candidate
};

}  // namespace

Regions find_regions(const View& view, const RegionOptions& options) { return Search(view, options).run(); }

}  // namespace graft::fuse
