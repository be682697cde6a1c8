#pragma once
/// Lets you find what can be computed in one pass over memory: maximal connected regions of elementwise
/// nodes.
///
///   Regions found = find_regions(view, {});
///   for (const Region& region : found.regions) fmt::print("{}\n", fused::write_program(region.program));
#include <cstdint>
#include <string>
#include <vector>

#include "fuse/translate.h"
#include "fuse/view.h"

namespace graft::fuse {

struct RegionOptions {
  bool one_output_type = true;  ///< all outputs of a region have one element type
  int most_inputs = 16;
  int most_values = 100;  ///< of a region's program
};

/// Is a set of nodes that may become one. It is convex: nothing outside lies on a way from one of its nodes
/// to another. All its outputs have the shape that its inputs broadcast to.
struct Region {
  std::vector<int> nodes;    ///< of the view, in topological order
  std::vector<int> inputs;   ///< values of the view, in the order of the program's inputs
  std::vector<int> outputs;  ///< values of the view, in the order of the program's outputs
  fused::Program program;
  std::vector<std::vector<int>> literals;  ///< by the program's value, as Translation has them
};

/// Says what ended a region: a value on its border, and why the node on the other side is no part of it.
struct Border {
  int value = -1;
  std::string why;
};

struct Regions {
  std::vector<Region> regions;               ///< in topological order
  std::vector<std::vector<Border>> borders;  ///< of each region
};

/// Finds the regions of a graph that are worth a node of their own: of two nodes or more, or of one that is
/// slow as runtimes compute it. Time is linear in the graph for all but the search for ways around, which is
/// bounded.
Regions find_regions(const View& view, const RegionOptions& options);

}  // namespace graft::fuse
