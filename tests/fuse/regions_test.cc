#include "fuse/regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace graft::fuse {
namespace {

using graph::Dim;

/// Builds views in a few words.
struct Builder {
  View view;

  int value(const std::string& name, std::vector<Dim> dims, DataType type = DataType::float32) {
    return view.add_value({.name = name, .type = {type, std::move(dims)}});
  }
  int number(double number, std::vector<Dim> dims = {}, DataType type = DataType::float32) {
    return view.add_value({.name = "k", .type = {type, std::move(dims)}, .scalar = number});
  }
  int node(const std::string& op, std::vector<int> inputs, std::vector<Dim> dims,
           DataType type = DataType::float32, bool escapes = false) {
    const int made = view.add_value({.name = op, .type = {type, std::move(dims)}, .escapes = escapes});
    view.add_node({.op = op, .opset = 17, .inputs = std::move(inputs), .outputs = {made}});
    return made;
  }
};

std::vector<Region> regions_of(const View& view, bool one_type = true) {
  return find_regions(view, {.one_output_type = one_type}).regions;
}

TEST(Regions, TakeAChainAndSayItAsAProgram) {
  Builder b;
  const int x = b.value("x", {2, 8});
  const int sum = b.node("Add", {x, b.number(3)}, {2, 8});
  const int gate = b.node("Clip", {sum, b.number(0), b.number(6)}, {2, 8});
  const int product = b.node("Mul", {x, gate}, {2, 8});
  b.node("Div", {product, b.number(6)}, {2, 8}, DataType::float32, true);
  const auto regions = regions_of(b.view);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions[0].nodes, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(
      fused::write_program(regions[0].program),
      "in f32; k f32 3; add f32 0 1; k f32 0; k f32 6; clamp f32 2 3 4; mul f32 0 5; div f32 6 4; out 7");
}

TEST(Regions, LeaveOneNodeUnlessItIsSlow) {
  Builder b;
  const int x = b.value("x", {8});
  b.node("Exp", {x}, {8}, DataType::float32, true);
  b.node("Softplus", {x}, {8}, DataType::float32, true);
  const auto regions = regions_of(b.view);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions[0].nodes, (std::vector<int>{1}));
}

TEST(Regions, DoNotCloseOverWhatLiesInBetween) {
  Builder b;
  const int x = b.value("x", {4, 4});
  const int a = b.node("Exp", {x}, {4, 4});
  const int s = b.node("Softmax", {a}, {4, 4});
  b.node("Add", {a, s}, {4, 4}, DataType::float32, true);
  EXPECT_TRUE(regions_of(b.view).empty());
}

TEST(Regions, DoNotCloseOverASubgraphThatReads) {
  Builder b;
  const int x = b.value("x", {4});
  const int a = b.node("Exp", {x}, {4});
  const int made = b.view.add_value({.name = "if", .type = {DataType::float32, std::vector<Dim>{4}}});
  b.view.add_node({.op = "If", .opset = 17, .inputs = {}, .outputs = {made}, .captures = {a}});
  b.node("Add", {a, made}, {4}, DataType::float32, true);
  EXPECT_TRUE(regions_of(b.view).empty());
}

TEST(Regions, KeepASmallFactorOutOfALargeProduct) {
  Builder b;
  const int x = b.value("x", {1, 8, 32, 32}), g = b.value("g", {1, 8, 1, 1});
  const int moved = b.node("Add", {g, b.number(1)}, {1, 8, 1, 1});
  const int gate = b.node("Exp", {moved}, {1, 8, 1, 1});
  const int product = b.node("Mul", {x, gate}, {1, 8, 32, 32});
  b.node("Add", {product, x}, {1, 8, 32, 32}, DataType::float32, true);
  const auto regions = regions_of(b.view);
  ASSERT_EQ(regions.size(), 2U);
  EXPECT_EQ(regions[0].nodes, (std::vector<int>{0, 1}));
  EXPECT_EQ(regions[1].nodes, (std::vector<int>{2, 3}));
}

TEST(Regions, HaveSeveralOutputsOfOneShape) {
  Builder b;
  const int x = b.value("x", {-1, 8});
  const int a = b.node("Exp", {x}, {-1, 8}, DataType::float32, true);
  b.node("Neg", {a}, {-1, 8}, DataType::float32, true);
  const auto regions = regions_of(b.view);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions[0].outputs.size(), 2U);
}

TEST(Regions, SplitWhereAnOutputMayBeSmaller) {
  // y may be [1, 8] while z is [n, 8]: one operator has one shape.
  Builder b;
  const int x = b.value("x", {-1, 8}), other = b.value("other", {-1, 8});
  const int a = b.node("Exp", {x}, {-1, 8});
  const int y = b.node("Neg", {a}, {-1, 8}, DataType::float32, true);
  const int sum = b.node("Add", {y, other}, {-1, 8});
  b.node("Neg", {sum}, {-1, 8}, DataType::float32, true);
  const auto regions = regions_of(b.view);
  ASSERT_EQ(regions.size(), 2U);
  EXPECT_EQ(regions[0].outputs.size(), 1U);
  EXPECT_EQ(regions[1].outputs.size(), 1U);
}

TEST(Regions, LeaveWhatNobodyReads) {
  // The dead sum may be larger: its input would give the operator its shape.
  Builder b;
  const int x = b.value("x", {-1, 8}), other = b.value("other", {-1, 8});
  const int y = b.node("Neg", {b.node("Exp", {x}, {-1, 8})}, {-1, 8}, DataType::float32, true);
  const int dead = b.node("Add", {y, other}, {-1, 8});
  b.node("Mul", {dead, dead}, {-1, 8});
  const auto regions = regions_of(b.view);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions[0].nodes, (std::vector<int>{0, 1}));
  EXPECT_EQ(regions[0].inputs, (std::vector<int>{x}));
}

TEST(Regions, SplitByTypeOnlyWhereAskedTo) {
  Builder b;
  const int x = b.value("x", {8});
  const int a = b.node("Add", {x, x}, {8}, DataType::float32, true);
  const int c = b.node("Abs", {a}, {8});
  b.node("Sqrt", {c}, {8}, DataType::float32, true);
  b.node("Greater", {c, x}, {8}, DataType::boolean, true);
  EXPECT_EQ(regions_of(b.view, false).size(), 1U);
  const auto regions = regions_of(b.view, true);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions[0].nodes, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(regions[0].outputs.size(), 3U) << "the comparison reads Abs";
}

TEST(Regions, LeaveWhatComputesShapes) {
  Builder b;
  const int shape = b.value("shape", {4}, DataType::int64);
  const int twice = b.node("Mul", {shape, b.number(2, {}, DataType::int64)}, {4}, DataType::int64);
  b.node("Add", {twice, b.number(1, {}, DataType::int64)}, {4}, DataType::int64, true);
  EXPECT_TRUE(regions_of(b.view).empty());
}

TEST(Regions, LeaveWhatIsMarked) {
  Builder b;
  const int x = b.value("x", {8});
  const int a = b.node("Exp", {x}, {8});
  b.node("Neg", {a}, {8}, DataType::float32, true);
  b.view.set_kept(1, "for a reason");
  const Regions found = find_regions(b.view, {});
  EXPECT_TRUE(found.regions.empty());
}

TEST(Regions, SayWhatEndsThem) {
  Builder b;
  const int x = b.value("x", {8, 8});
  const int a = b.node("Exp", {x}, {8, 8});
  const int c = b.node("Neg", {a}, {8, 8});
  b.node("MatMul", {c, x}, {8, 8}, DataType::float32, true);
  const Regions found = find_regions(b.view, {});
  ASSERT_EQ(found.borders.size(), 1U);
  ASSERT_EQ(found.borders[0].size(), 1U);
  EXPECT_EQ(found.borders[0][0].why, "MatMul is not elementwise");
}

// ---- random graphs ----

/// Makes a graph in which a third of the nodes is not elementwise, with skips over any distance.
View random_view(std::mt19937_64& random, int nodes) {
  View view;
  const std::vector<std::vector<Dim>> shapes = {{2, 4}, {-1, 4}, {2, 1}, {}};
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<uint64_t>(below)); };
  const auto add_value = [&](const std::vector<Dim>& dims) {
    return view.add_value(
        {.name = "v" + std::to_string(view.values().size()), .type = {DataType::float32, dims}});
  };
  for (int i = 0; i < 3; ++i) add_value(shapes[static_cast<size_t>(draw(3))]);
  for (int i = 0; i < nodes; ++i) {
    const auto pick = [&] {
      const int count = static_cast<int>(view.values().size());
      return draw(3) ? count - 1 - draw(std::min(count, 6)) : draw(count);
    };
    const int first = pick(), second = pick();
    const std::vector<int> both = {first, second};
    const graph::Type* const types[] = {&view.value(first).type, &view.value(second).type};
    const bool opaque = draw(3) == 0;
    const auto dims = opaque ? view.value(first).type.dims : graph::broadcast(types);
    const int made = view.add_value({.name = "v" + std::to_string(view.values().size()),
                                     .type = {DataType::float32, dims},
                                     .escapes = draw(12) == 0 || i + 1 == nodes});
    view.add_node({.op = opaque    ? "Opaque"
                         : draw(2) ? "Add"
                                   : "Mul",
                   .opset = 17,
                   .inputs = both,
                   .outputs = {made}});
  }
  return view;
}

/// Tells whether the graph is one still when each region is one node.
bool is_acyclic(const View& view, const std::vector<Region>& regions) {
  std::vector<int> unit(view.nodes().size());
  for (size_t node = 0; node < unit.size(); ++node) unit[node] = static_cast<int>(regions.size() + node);
  for (size_t region = 0; region < regions.size(); ++region) {
    for (const int node : regions[region].nodes) unit[static_cast<size_t>(node)] = static_cast<int>(region);
  }
  std::vector<std::set<int>> after(regions.size() + unit.size());
  std::vector<int> before(after.size(), 0);
  for (size_t node = 0; node < unit.size(); ++node) {
    for (const int input : view.node(static_cast<int>(node)).inputs) {
      const int producer = view.value(input).producer;
      if (producer < 0 || unit[static_cast<size_t>(producer)] == unit[node]) continue;
      if (after[static_cast<size_t>(unit[static_cast<size_t>(producer)])].insert(unit[node]).second)
        ++before[static_cast<size_t>(unit[node])];
    }
  }
  std::vector<int> ready;
  for (size_t at = 0; at < before.size(); ++at) {
    if (before[at] == 0) ready.push_back(static_cast<int>(at));
  }
  size_t done = 0;
  while (!ready.empty()) {
    const int at = ready.back();
    ready.pop_back();
    ++done;
    for (const int next : after[static_cast<size_t>(at)]) {
      if (--before[static_cast<size_t>(next)] == 0) ready.push_back(next);
    }
  }
  return done == before.size();
}

TEST(Regions, OfRandomGraphsNeverMakeACycleAndGiveAllThatIsRead) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const View view = random_view(random, 4 + static_cast<int>(seed % 60));
    const auto regions = regions_of(view);
    ASSERT_TRUE(is_acyclic(view, regions));
    std::set<int> taken;
    for (const Region& region : regions) {
      EXPECT_EQ(fused::fault_of(region.program), "");
      EXPECT_EQ(static_cast<size_t>(region.program.input_count()), region.inputs.size());
      std::set<int> made, read;
      for (const int node : region.nodes) {
        EXPECT_TRUE(taken.insert(node).second);
        EXPECT_NE(view.node(node).op, "Opaque");
        made.insert(view.node(node).outputs[0]);
        read.insert(view.node(node).inputs.begin(), view.node(node).inputs.end());
      }
      for (const int value : made) {
        const auto& readers = view.value(value).readers;
        const bool outside =
            view.value(value).escapes || std::any_of(readers.begin(), readers.end(), [&](int reader) {
              return !std::binary_search(region.nodes.begin(), region.nodes.end(), reader);
            });
        const bool given =
            std::find(region.outputs.begin(), region.outputs.end(), value) != region.outputs.end();
        EXPECT_EQ(outside, given);
      }
      for (const int value : read) {
        const bool is_input =
            std::find(region.inputs.begin(), region.inputs.end(), value) != region.inputs.end();
        EXPECT_NE(is_input, made.count(value) > 0);
      }
    }
  }
}

TEST(Regions, OfALongGraphAreFoundInTime) {
  std::mt19937_64 random(1);
  const View view = random_view(random, 20'000);
  EXPECT_FALSE(regions_of(view).empty());
}

}  // namespace
}  // namespace graft::fuse
