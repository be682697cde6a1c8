#include "fuse/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "fuse/surgery.h"
#include "rewrite/fallback.h"

namespace graft::fuse {
namespace {

/// Writes the operators of a region in their order, equal neighbours once: "Add Clip Mul Div".
std::string what_of(const View& view, const Region& region) {
  std::vector<std::string> ops;
  for (const int node : region.nodes) ops.push_back(view.node(node).op);
  constexpr size_t most = 8;
  if (ops.size() > most) {
    const size_t more = ops.size() - (most - 1);
    ops.resize(most - 1);
    ops.push_back(fmt::format("(and {} more)", more));
  }
  return fmt::format("{}", fmt::join(ops, " "));
}

/// Tells whether ORT leaves a node; one whose value an Identity gives on makes that itself once the Identity
/// is gone.
bool survives(const Optimised& optimised, const View& view, const ViewNode& node) {
  const ViewValue& made = view.value(node.outputs[0]);
  if (optimised.survives(made.name, node.op)) return true;
  return std::any_of(made.readers.begin(), made.readers.end(), [&](int reader) {
    const ViewNode& copy = view.node(reader);
    return copy.op == "Identity" && optimised.survives(view.value(copy.outputs[0]).name, node.op);
  });
}

constexpr int64_t value_float_opset = 12;

/// Lists the literals of a region that may be attributes: float32 ones that the model spells as constants.
/// Before opset 12 a function's body cannot make a constant of an attribute.
std::vector<Parameter> possible_parameters(const Region& region, int64_t opset) {
  std::vector<Parameter> list;
  if (opset < value_float_opset) return list;
  for (size_t value = 0; value < region.program.values.size(); ++value) {
    if (!region.literals[value].empty() && region.program.values[value].type == fused::Type::f32)
      list.push_back({static_cast<int>(value), fmt::format("k{}", list.size())});
  }
  return list;
}

/// Gives a program with its parameters' numbers taken out.
fused::Program without(fused::Program program, const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters)
    program.values[static_cast<size_t>(parameter.value)].number = 0;
  return program;
}

/// Makes literals of the parameters that are the same in all places of a kind.
void keep_what_differs(Kind& kind, const std::vector<Site>& sites) {
  const auto number = [&](size_t site, const Parameter& parameter) {
    return sites[site].region.program.values[static_cast<size_t>(parameter.value)].number;
  };
  std::erase_if(kind.parameters, [&](const Parameter& parameter) {
    return std::all_of(kind.sites.begin(), kind.sites.end(), [&](size_t site) {
      return std::bit_cast<uint64_t>(number(site, parameter)) ==
             std::bit_cast<uint64_t>(number(kind.sites.front(), parameter));  // -0 is not 0, NaN is NaN
    });
  });
  for (size_t i = 0; i < kind.parameters.size(); ++i) kind.parameters[i].name = fmt::format("k{}", i);
}

}  // namespace

Analysis analyse(const std::shared_ptr<runtime::Runtime>& runtime, const std::filesystem::path& model,
                 const std::vector<std::filesystem::path>& libraries, const RegionOptions& options,
                 runtime::Optimisation level) {
  Analysis found;
  found.model = graph::read_model(model);
  found.before = ask_for_optimised(runtime, model, libraries, level);
  found.level = level;
  const std::filesystem::path folder = std::filesystem::absolute(model).parent_path();
  const graph::Index index(found.model.proto);
  const graph::Constants constants(index, folder);
  const graph::Types types(index, constants);
  found.views = views_of(index, constants, types);

  std::unordered_map<std::string, size_t> kinds;
  for (size_t at = 0; at < found.views.size(); ++at) {
    ModelView& scope = found.views[at];
    View& view = scope.view;
    found.nodes += static_cast<int>(view.nodes().size());
    for (int node = 0; node < static_cast<int>(view.nodes().size()); ++node) {
      if (!why_not_elementwise(view, node).empty()) continue;
      ++found.elementwise;
      const ViewNode& candidate = view.node(node);
      if (survives(found.before, view, candidate)) {
        ++found.left_by_ort;
      } else {
        view.set_kept(node, fmt::format("ORT itself takes the {} into another node", candidate.op));
      }
    }
    Regions regions = find_regions(view, options);
    for (size_t i = 0; i < regions.regions.size(); ++i) {
      Site site{.view = at,
                .region = std::move(regions.regions[i]),
                .borders = std::move(regions.borders[i]),
                .scope = index.scope_name(scope.scope),
                .output = {}};
      site.output = view.value(site.region.outputs.back()).name;
      const std::vector<Parameter> possible = possible_parameters(site.region, index.opset(scope.scope));
      const onnx::FunctionProto body = function_of({.view = &scope,
                                                    .region = &site.region,
                                                    .domain = {},
                                                    .op = {},
                                                    .parameters = possible,
                                                    .program = {},
                                                    .node = {}},
                                                   index, constants);
      const auto [place, fresh] = kinds.try_emplace(
          fused::write_program(without(site.region.program, possible)) + "\n" + body.SerializeAsString(),
          found.kinds.size());
      if (fresh) {
        found.kinds.push_back({.program = fused::write_program(site.region.program),
                               .what = what_of(view, site.region),
                               .parameters = possible,
                               .sites = {}});
      }
      site.kind = place->second;
      found.kinds[site.kind].sites.push_back(found.sites.size());
      found.sites.push_back(std::move(site));
    }
  }
  for (Kind& kind : found.kinds) keep_what_differs(kind, found.sites);
  return found;
}

}  // namespace graft::fuse
