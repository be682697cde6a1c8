#include "fuse/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "error.h"
#include "runtime/library.h"

namespace graft::fuse {

Operators portable_operators(const Analysis& analysis, const std::filesystem::path& library,
                             const std::vector<size_t>& wanted) {
  const runtime::LibraryDescription described = runtime::describe_library(library);
  std::map<std::string, std::vector<std::string>> pool;  // by element type
  Operators operators{.library = library, .domain = "", .names = {}, .take_programs = true};
  for (const runtime::OperatorDescription& op : described.operators) {
    if (!op.name.starts_with("Fused_")) continue;
    const std::string type = op.name.substr(6, op.name.rfind('_') - 6);
    pool[type].push_back(op.name);
    operators.domain = op.domain;
  }
  if (pool.empty())
    throw InputError(fmt::format(
        "{}: it has no operators that run programs (Fused_f32_0, ...); libgraft_ops has", library.string()));
  for (auto& [type, names] : pool) std::reverse(names.begin(), names.end());
  operators.names.resize(analysis.kinds.size());
  for (const size_t kind : wanted) {
    const Site& site = analysis.sites[analysis.kinds[kind].sites.front()];
    const fused::Program& program = site.region.program;
    const fused::Type type = program.values[static_cast<size_t>(program.outputs.front())].type;
    std::vector<std::string>& names = pool[std::string(fused::kTypeNames[static_cast<size_t>(type)])];
    if (names.empty()) continue;
    operators.names[kind] = names.back();
    names.pop_back();
  }
  return operators;
}

Candidate make_candidate(const Analysis& analysis, const Operators& operators,
                         const std::vector<size_t>& chosen, const std::filesystem::path& output) {
  Candidate candidate;
  std::vector<Placed> places;
  for (const size_t at : chosen) {
    const Site& site = analysis.sites[at];
    const std::string& name = operators.names[site.kind];
    if (name.empty()) continue;
    places.push_back({.view = &analysis.views[site.view],
                      .region = &site.region,
                      .domain = operators.domain,
                      .op = name,
                      .parameters = analysis.kinds[site.kind].parameters,
                      .program = operators.take_programs ? fused::write_program(site.region.program) : "",
                      .node = fmt::format("{}/{}", name, site.output)});
    candidate.sites.push_back(at);
  }
  PutIn made =
      put_in(analysis.model.proto, std::filesystem::absolute(analysis.model.file).parent_path(), places);
  candidate.nodes = std::move(made.nodes);
  candidate.notes = std::move(made.notes);
  candidate.embedded = made.embedded;
  candidate.nodes_after = analysis.nodes;
  for (const size_t at : candidate.sites)
    candidate.nodes_after -= static_cast<int>(analysis.sites[at].region.nodes.size()) - 1;
  candidate.file = std::make_unique<graph::StagedModel>(analysis.model, output);
  candidate.file->write(made.model);
  return candidate;
}

std::vector<size_t> in_the_way(const std::shared_ptr<runtime::Runtime>& runtime, const Analysis& analysis,
                               const Operators& operators, const Candidate& candidate,
                               const std::vector<std::filesystem::path>& libraries) {
  std::vector<std::filesystem::path> all = libraries;
  all.push_back(operators.library);
  const Optimised after = ask_for_optimised(runtime, candidate.file->file(), all);
  std::set<std::string> changed;
  for (const OptimisedNode& node : undone(analysis.before, after, operators.domain))
    changed.insert(node.output);
  if (changed.empty()) return {};
  // A site is to blame when it touches what has changed, or reads or feeds a neighbour of it.
  std::vector<size_t> blamed;
  for (const size_t at : candidate.sites) {
    const Site& site = analysis.sites[at];
    const View& view = analysis.views[site.view].view;
    bool near = false;
    const auto check = [&](int value) {
      near = near || (value >= 0 && changed.count(view.value(value).name) > 0);
    };
    for (const int input : site.region.inputs) check(input);
    for (const int output : site.region.outputs) {
      check(output);
      for (const int reader : view.value(output).readers) {
        for (const int made : view.node(reader).outputs) check(made);
      }
    }
    if (near) blamed.push_back(at);
  }
  // Nobody is near: what changed lies further off, and all are suspects.
  return blamed.empty() ? candidate.sites : blamed;
}

}  // namespace graft::fuse
