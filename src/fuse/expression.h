#pragma once
/// Lets a program be written in other words: constants folded, equal values one, and x * sigmoid(x) called
/// silu.
///
///   Graph graph = simplify(program);
///   for (int output : graph.outputs) fmt::print("{}\n", graph.nodes[output].type);
#include <array>
#include <string>
#include <vector>

#include "ops/fused/program.h"

namespace graft::fuse {

struct Graph {
  std::vector<fused::Value> nodes;  ///< operands before their users; inputs first
  std::vector<int> outputs;
  std::vector<int> uses;  ///< of each node, by live nodes and outputs; 0: dead
};

/// Reads a program: folds what is constant, makes equal values one, resolves conditions that are known, and
/// joins what the SDK has a function for.
Graph simplify(const fused::Program& program);

/// Is a part of a computation that has a name of its own.
struct Idiom {
  std::string name;           ///< "HardSwish"
  std::vector<int> interior;  ///< the other nodes that it consists of, constants left out
};

/// Finds what a node completes: HardSwish, HardSigmoid, LeakyRelu, ...; without a name: nothing known.
Idiom find_idiom(const Graph& graph, int node);

}  // namespace graft::fuse
