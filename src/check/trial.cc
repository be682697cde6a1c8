#include "check/trial.h"

#include <algorithm>
#include <cstdint>

namespace graft::check {
using runtime::Session;

Session Trial::open(const Case& one, const AttributeSet& other, const ModelForm& form, int threads) const {
  const std::string bytes = node_model(subject, one, other, form).SerializeAsString();
  return Session::from_bytes(runtime, bytes, {.threads = threads, .libraries = {library}},
                             to_string(subject));
}

Session Trial::open(const Case& one, const ModelForm& form, int threads) const {
  return open(one, attributes, form, threads);
}

int64_t Trial::usual_opset() const {
  int64_t first = INT64_MAX;
  for (const runtime::DefinitionText& definition : subject.op.definitions)
    first = std::min(first, definition.opset);
  return first == INT64_MAX ? 17 : std::max<int64_t>(first, 17);
}

bool Trial::has_time() {
  if (std::chrono::steady_clock::now() < end) return true;
  report.cut_short = true;
  return false;
}

void Trial::add(const char* code, const std::string& what, const Case& one, const std::string& expected,
                const std::string& got, const std::string& inputs) {
  report.add({code, what, shapes_text(subject, one), inputs, expected, got, attributes.text});
}

}  // namespace graft::check
