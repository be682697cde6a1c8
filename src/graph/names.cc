#include "graph/names.h"

namespace graft::graph {

bool is_default_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

bool same_domain(std::string_view one, std::string_view other) {
  return one == other || (is_default_domain(one) && is_default_domain(other));
}

int64_t imported_version(const Imports& imports, std::string_view domain) {
  for (const auto& import : imports) {
    if (same_domain(import.domain(), domain)) return import.version();
  }
  return 0;
}

bool import_domain(Imports& imports, std::string_view domain, int64_t version) {
  for (auto& import : imports) {
    if (!same_domain(import.domain(), domain)) continue;
    if (import.version() >= version) return false;
    import.set_version(version);
    return true;
  }
  auto* added = imports.Add();
  added->set_domain(std::string(domain));
  added->set_version(version);
  return true;
}

std::string qualified_name(std::string_view domain, std::string_view name) {
  if (is_default_domain(domain)) return std::string(name);
  return std::string(domain) + ":" + std::string(name);
}

bool is_named(std::string_view asked, std::string_view domain, std::string_view name) {
  if (asked == name) return true;
  if (!asked.starts_with(domain) || !asked.ends_with(name)) return false;
  const std::string_view between = asked.substr(domain.size());
  return between == ":" + std::string(name) || between == "::" + std::string(name);
}

}  // namespace graft::graph
