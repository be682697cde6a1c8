#include "doctor/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <regex>

#include "graph/names.h"
#include "verify/compare.h"
#include "verify/inputs.h"

namespace graft::doctor {
namespace {

using runtime::ChildEnd;
using runtime::ChildResult;
using runtime::run_in_child;
using runtime::Say;

constexpr std::chrono::minutes patience{10};
constexpr int64_t probe_ir_version = 7;
constexpr int64_t probe_opset = 15;
constexpr int64_t most_versions = 64;  ///< no IR or opset version is looked for beyond this one

const std::string loaded_mark = "+";

std::string end_text(const ChildResult& result) {
  switch (result.end) {
    case ChildEnd::killed:
      return fmt::format("the process died of signal {}, {}", result.number, strsignal(result.number));
    case ChildEnd::left:
      return fmt::format("the process was ended with exit code {}", result.number);
    default:
      return "it did not come to an end";
  }
}

/// Does some work in a session's place and says how it went.
void say_outcome(const Say& say, const std::function<void()>& work) {
  try {
    work();
    say(loaded_mark);
  } catch (const runtime::OrtError& error) {
    say("-" + error.text);
  } catch (const std::exception& error) {
    say(std::string("-") + error.what());
  }
}

Attempt read_outcome(const std::string& message) {
  if (message == loaded_mark) return {.loaded = true};
  return {.text = message.substr(1)};
}

onnx::ModelProto empty_model(int64_t opset) {
  onnx::ModelProto model;
  model.set_ir_version(probe_ir_version);
  add_import(model, "", opset);
  model.mutable_graph()->set_name("probe");
  auto* output = model.mutable_graph()->add_output();
  output->set_name("y");
  output->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  return model;
}

/// Makes a model that every runtime loads: y = Identity(x).
onnx::ModelProto identity_model(int64_t opset) {
  onnx::ModelProto model = empty_model(opset);
  auto* input = model.mutable_graph()->add_input();
  *input = model.graph().output(0);
  input->set_name("x");
  auto* node = model.mutable_graph()->add_node();
  node->set_op_type("Identity");
  node->add_input("x");
  node->add_output("y");
  return model;
}

int64_t largest_loaded(const std::vector<Attempt>& attempts, int64_t first) {
  for (size_t at = attempts.size(); at-- > 0;) {
    if (attempts[at].loaded) return first + static_cast<int64_t>(at);
  }
  return 0;
}

}  // namespace

void add_import(onnx::ModelProto& model, const std::string& domain, int64_t version) {
  auto* import = model.add_opset_import();
  import->set_domain(domain);
  import->set_version(version);
}

Attempt Prober::attempt(const std::function<void(const runtime::SessionOptions&)>& load) const {
  runtime::SessionOptions options;
  options.libraries = libraries_;
  const ChildResult result =
      run_in_child([&](const Say& say) { say_outcome(say, [&] { load(options); }); }, patience);
  if (result.messages.empty()) return {.died = true, .text = end_text(result)};
  return read_outcome(result.messages[0]);
}

Attempt Prober::load_file(const std::filesystem::path& model) const {
  return attempt([&](const runtime::SessionOptions& options) { runtime::Session(runtime_, model, options); });
}

Attempt Prober::load_model(const onnx::ModelProto& model) const {
  return attempt([&](const runtime::SessionOptions& options) {
    runtime::Session::from_bytes(runtime_, model.SerializePartialAsString(), options);
  });
}

Attempt Prober::start_provider(const std::string& provider) const {
  return attempt([&](runtime::SessionOptions options) {
    options.providers = {provider};
    runtime::Session::from_bytes(runtime_, identity_model(probe_opset).SerializeAsString(), options);
  });
}

std::vector<Attempt> Prober::load(const std::vector<onnx::ModelProto>& models, bool with_libraries) const {
  std::vector<Attempt> attempts;
  runtime::SessionOptions options;
  if (with_libraries) options.libraries = libraries_;
  while (attempts.size() < models.size()) {
    const size_t first = attempts.size();
    const ChildResult result = run_in_child(
        [&](const Say& say) {
          for (size_t at = first; at < models.size(); ++at) {
            say_outcome(say, [&] {
              runtime::Session::from_bytes(runtime_, models[at].SerializePartialAsString(), options);
            });
          }
        },
        patience);
    for (const std::string& message : result.messages) attempts.push_back(read_outcome(message));
    if (attempts.size() < models.size()) attempts.push_back({.died = true, .text = end_text(result)});
  }
  return attempts;
}

std::string Prober::difference_made_by_libraries(const onnx::ModelProto& model) const {
  const ChildResult result = run_in_child(
      [&](const Say& say) {
        try {
          const std::string bytes = model.SerializePartialAsString();
          runtime::SessionOptions options;
          runtime::Session without = runtime::Session::from_bytes(runtime_, bytes, options);
          options.libraries = libraries_;
          runtime::Session with = runtime::Session::from_bytes(runtime_, bytes, options);
          const verify::InputPlan plan = verify::settle(without, {});
          // Far wider than any rounding: only another meaning is out of it.
          const verify::Comparison comparison =
              verify::compare(without, with, verify::make_inputs(without, plan),
                              verify::Tolerance{.absolute = 0.01, .relative = 0.05});
          for (const verify::Difference& difference : comparison.outputs) {
            if (!difference.mismatch.empty()) {
              say(difference.mismatch);
            } else if (difference.largest_excess > 1 && difference.worst) {
              say(fmt::format("on random inputs the function gives {} where the library gives {}",
                              difference.worst->reference, difference.worst->candidate));
            }
          }
        } catch (const std::exception&) {
          // One of the two does not run: other checks say why.
        }
      },
      patience);
  return result.messages.empty() ? "" : result.messages[0];
}

int64_t Prober::newest_ir_version() const {
  if (newest_ir_) return newest_ir_;
  std::vector<onnx::ModelProto> models;
  for (int64_t version = 3; version <= most_versions; ++version) {
    models.push_back(identity_model(probe_opset));
    models.back().set_ir_version(version);
  }
  return newest_ir_ = largest_loaded(load(models, false), 3);
}

bool Prober::accepts_import(const std::string& domain, int64_t version) const {
  onnx::ModelProto model = identity_model(graph::is_default_domain(domain) ? version : probe_opset);
  if (!graph::is_default_domain(domain)) add_import(model, domain, version);
  return load({model}, false)[0].loaded;
}

int64_t Prober::newest_version(const std::string& domain) const {
  int64_t& newest = newest_[domain];
  if (newest) return newest;
  std::vector<onnx::ModelProto> models;
  for (int64_t version = 1; version <= most_versions; ++version) {
    models.push_back(identity_model(graph::is_default_domain(domain) ? version : probe_opset));
    if (!graph::is_default_domain(domain)) add_import(models.back(), domain, version);
  }
  return newest = largest_loaded(load(models, false), 1);
}

Schema Prober::schema(const std::string& domain, const std::string& op, int64_t version) const {
  const auto key = std::make_tuple(domain, op, version);
  if (!schemas_.count(key)) learn({key});
  return schemas_.at(key);
}

void Prober::learn(const std::vector<std::tuple<std::string, std::string, int64_t>>& operators) const {
  std::vector<onnx::ModelProto> models;
  for (const auto& [domain, op, version] : operators) {
    onnx::ModelProto model = empty_model(graph::is_default_domain(domain) ? version : probe_opset);
    if (!graph::is_default_domain(domain)) add_import(model, domain, version);
    // A node without inputs: the runtime looks the operator up before it looks at them, and then complains of
    // them.
    auto* node = model.mutable_graph()->add_node();
    node->set_domain(domain);
    node->set_op_type(op);
    node->add_output("y");
    models.push_back(std::move(model));
  }
  const std::vector<Attempt> attempts = load(models, false);
  static const std::regex with_schema("schema\\([^)]*:(\\d+)\\)");
  for (size_t at = 0; at < operators.size(); ++at) {
    const std::string& text = attempts[at].text;
    Schema schema;
    schema.removed = text.find("is deprecated in domain_version") != std::string::npos;
    schema.known = !schema.removed && text.find("No Op registered for") == std::string::npos &&
                   text.find("is not a registered function/op") == std::string::npos;
    std::smatch since;
    if (std::regex_search(text, since, with_schema)) schema.since = std::stoll(since[1]);
    schemas_[operators[at]] = schema;
  }
}

}  // namespace graft::doctor
