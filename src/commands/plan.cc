#include "commands/plan.h"

#include <fmt/format.h>

#include <fstream>

#include "error.h"
#include "runtime/tensor.h"

namespace graft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* schema = "graft.plan/1";

/// Reads a word of a place; `where` is "places[3]".
std::string word(const json& place, const char* key, const std::string& where) {
  const auto found = place.find(key);
  if (found == place.end()) throw InputError(fmt::format("{} lacks \"{}\"", where, key));
  if (!found->is_string()) throw InputError(fmt::format("{}.{} is not a string", where, key));
  return found->get<std::string>();
}

}  // namespace

ordered_json json_of(const rewrite::Site& site) {
  ordered_json entry{{"scope", site.scope},
                     {"inputs", site.inputs},
                     {"output", site.output},
                     {"type", runtime::type_name(site.type)},
                     {"class", site.exact ? "equal" : "within_rounding"}};
  if (!site.attributes.empty()) entry["attributes"] = site.attributes;
  if (site.inner_value_read) entry["inner_value_read"] = true;
  return entry;
}

ordered_json plan_of(const std::string& model, const std::vector<std::string>& libraries,
                     const rewrite::Injection& injection) {
  ordered_json places = ordered_json::array(), misses = ordered_json::array();
  for (const rewrite::Site& site : injection.sites) {
    ordered_json place{{"apply", true}, {"op", site.op}};
    place.update(json_of(site));
    places.push_back(std::move(place));
  }
  for (const rewrite::NearMiss& miss : injection.misses)
    misses.push_back({{"op", miss.op},
                      {"scope", miss.scope},
                      {"output", miss.output},
                      {"reason", code(miss.reason)},
                      {"detail", miss.detail}});
  return {{"schema", schema},
          {"model", model},
          {"libraries", libraries},
          {"places", places},
          {"near_misses", misses}};
}

std::vector<rewrite::PlannedPlace> read_plan(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw InputError(fmt::format("{}: the plan cannot be read", file.string()));
  try {
    const json plan = json::parse(stream);
    if (!plan.is_object() || !plan.contains("schema")) throw InputError("it has no \"schema\"");
    if (plan.at("schema") != schema)
      throw InputError(fmt::format("its schema is {}, expected \"{}\"", plan.at("schema").dump(), schema));
    if (!plan.contains("places") || !plan.at("places").is_array())
      throw InputError("it has no list \"places\"");
    std::vector<rewrite::PlannedPlace> places;
    for (size_t at = 0; at < plan.at("places").size(); ++at) {
      const json& place = plan.at("places")[at];
      const std::string where = fmt::format("places[{}]", at);
      if (!place.is_object()) throw InputError(fmt::format("{} is not an object", where));
      const auto apply = place.find("apply");
      if (apply != place.end() && !apply->is_boolean())
        throw InputError(fmt::format("{}.apply is neither true nor false", where));
      if (apply != place.end() && !apply->get<bool>()) continue;
      places.push_back({word(place, "op", where), word(place, "scope", where), word(place, "output", where)});
    }
    return places;
  } catch (const json::exception& error) {
    throw InputError(fmt::format("{}: the plan is not valid JSON: {}", file.string(), error.what()));
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("{}: not a plan of `graft inject --dry-run`: {}", file.string(), error.what()));
  }
}

}  // namespace graft
