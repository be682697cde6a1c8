#pragma once
/// Lets a user decide place by place: `inject --dry-run` prints a plan, `inject --plan` applies what is left
/// of it.
///
///   print_json(plan_of("model.onnx", {"libgraft_ops.so"}, injection));
///   options.plan = read_plan("plan.json");
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rewrite/inject.h"

namespace graft {

/// Writes a place as reports and plans have it.
nlohmann::ordered_json json_of(const rewrite::Site& site);

/// Writes all places, each with "apply": true, and the near misses, which are there to be read only.
nlohmann::ordered_json plan_of(const std::string& model, const std::vector<std::string>& libraries,
                               const rewrite::Injection& injection);

/// Reads the places whose "apply" is not false. InputError names the file and what is wrong in it.
std::vector<rewrite::PlannedPlace> read_plan(const std::filesystem::path& file);

}  // namespace graft
