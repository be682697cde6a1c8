/// Names of operators: does ONNX, the runtime, a library or a function of the model have the operator that a
/// node asks for, under the domain and at the version that are imported?
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/nearest.h"
#include "doctor/opset_choice.h"
#include "doctor/patient.h"
#include "graph/names.h"
#include "rewrite/opsets.h"

namespace graft::doctor {
namespace {

using graph::NodeId;
using graph::none;
using graph::ScopeId;

std::string said_near(const std::string& near) {
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

class OperatorNames {
 public:
  explicit OperatorNames(Patient& patient) : patient_(patient), index_(patient.index) {
    std::vector<std::tuple<std::string, std::string, int64_t>> asked;
    for (NodeId node = 0; node < index_.node_count(); ++node) {
      if (!has_function(node)) asked.emplace_back(key(node));
    }
    std::sort(asked.begin(), asked.end());
    asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
    patient_.prober.learn(asked);
  }

  void check(NodeId node) {
    if (has_function(node)) return;
    if (graph::is_default_domain(index_.proto(node).domain())) {
      check_standard(node);
    } else {
      check_custom(node);
    }
  }

 private:
  bool has_function(NodeId node) const {
    const onnx::NodeProto& proto = index_.proto(node);
    return index_.function(proto.domain(), proto.op_type(), proto.overload()) != none;
  }

  int64_t imported(NodeId node) const {
    const graph::Scope& root = index_.scope(index_.root(index_.node(node).scope));
    return graph::imported_version(
        root.function ? root.function->opset_import() : patient_.proto().opset_import(),
        index_.proto(node).domain());
  }

  std::tuple<std::string, std::string, int64_t> key(NodeId node) const {
    const onnx::NodeProto& proto = index_.proto(node);
    if (graph::is_default_domain(proto.domain())) return {"", proto.op_type(), patient_.opset_of(node)};
    return {proto.domain(), proto.op_type(), std::max<int64_t>(1, imported(node))};
  }

  void check_standard(NodeId node) {
    const onnx::NodeProto& proto = index_.proto(node);
    const int64_t opset = patient_.opset_of(node);
    const Schema schema = patient_.prober.schema("", proto.op_type(), opset);
    if (schema.known) return;
    if (schema.removed) {
      Finding& found = patient_.add(Cause::op_removed, proto.op_type());
      found.evidence.push_back(fmt::format("{}; {} does not exist any more at opset {}",
                                           patient_.node_text(node), proto.op_type(), opset));
      found.cure.push_back(
          proto.op_type() == "Upsample"
              ? "use Resize in its place, or export the model at opset 9"
              : "use the operator that took its place (https://onnx.ai/onnx/operators), or an older opset");
      return;
    }
    const std::set<std::string> homes = other_homes(proto.op_type());
    if (!homes.empty()) return say_default_domain(node, homes);
    const int64_t newest = patient_.prober.newest_version("");
    for (int64_t version = opset + 1; version <= newest; ++version) {
      if (patient_.prober.schema("", proto.op_type(), version).known) return say_newer(node, opset, version);
    }
    say_unknown(node, opset);
  }

  /// Lists the domains in which a library or a function of the model has an operator of the name.
  std::set<std::string> other_homes(const std::string& name) const {
    std::set<std::string> domains;
    for (const auto* op : patient_.libraries.find(name)) domains.insert(op->domain);
    for (const auto& function : patient_.proto().functions()) {
      if (function.name() == name) domains.insert(function.domain());
    }
    return domains;
  }

  void say_default_domain(NodeId node, const std::set<std::string>& homes) {
    const onnx::NodeProto& proto = index_.proto(node);
    const std::string& home = *homes.begin();
    Finding& found = patient_.add(Cause::op_in_default_domain, proto.op_type());
    found.evidence.push_back(fmt::format("{} has no domain; ONNX has no {}, but the domain {} has one",
                                         patient_.node_text(node), proto.op_type(),
                                         fmt::join(homes, " or ")));
    if (homes.size() > 1) {
      found.beyond_repair = true;
      found.cure.push_back("say which one is meant: " +
                           patient_.python(patient_.python_node(node) + ".domain = 'DOMAIN'"));
      return;
    }
    onnx::NodeProto* changed = index_.node(node).proto;
    graph::Imports& imports = imports_of(node);
    found.repairs.push_back(
        {fmt::format("set the domain of {} to {}, and import it", patient_.node_text(node), home),
         [changed, &imports, home] {
           changed->set_domain(home);
           graph::import_domain(imports, home, 1);
         }});
  }

  graph::Imports& imports_of(NodeId node) const {
    const graph::Scope& root = index_.scope(index_.root(index_.node(node).scope));
    return root.function ? *root.function->mutable_opset_import()
                         : *patient_.model.proto.mutable_opset_import();
  }

  void say_newer(NodeId node, int64_t opset, int64_t version) {
    const onnx::NodeProto& proto = index_.proto(node);
    Finding& found = patient_.add(Cause::op_newer_than_import, proto.op_type());
    const bool by_function = index_.scope(index_.root(index_.node(node).scope)).function &&
                             index_.opset(index_.node(node).scope) == opset;
    found.evidence.push_back(fmt::format("{}; {} came with opset {}, and {} imports opset {}",
                                         patient_.node_text(node), proto.op_type(), version,
                                         by_function ? "the function" : "the model", opset));
    const std::string obstacle = meaning_change(index_, opset, version);
    if (obstacle.empty()) {
      raise(found, node, version);
      return;
    }
    found.beyond_repair = true;
    found.evidence.push_back("the import cannot simply be raised: " + obstacle);
    found.cure.push_back(
        fmt::format("convert the model: python3 -c \"import onnx; from onnx import version_converter; "
                    "onnx.save(version_converter.convert_version(onnx.load('{}'), {}), 'fixed.onnx')\"",
                    patient_.model.file.string(), version));
    found.cure.push_back(fmt::format("or export it again at opset {} or higher", version));
  }

  void raise(Finding& found, NodeId node, int64_t version) const {
    graph::Imports& own = imports_of(node);
    graph::Imports& model = *patient_.model.proto.mutable_opset_import();
    found.repairs.push_back({fmt::format("raise the opset import to {}", version), [&own, &model, version] {
                               graph::import_domain(own, "", version);
                               graph::import_domain(model, "", version);
                             }});
  }

  void say_unknown(NodeId node, int64_t opset) {
    const onnx::NodeProto& proto = index_.proto(node);
    const std::string& op = proto.op_type();
    if (const int64_t first = rewrite::first_opset(op)) {
      Finding& found = patient_.add(Cause::op_unknown, op);
      found.evidence.push_back(fmt::format(
          "{}; {} came with opset {}, and ONNX Runtime {} knows opsets up to {}", patient_.node_text(node),
          op, first, patient_.prober.runtime().version(), patient_.prober.newest_version("")));
      found.cure.push_back("use a newer ONNX Runtime: pip install -U onnxruntime");
      return;
    }
    std::vector<std::string> custom;
    for (const std::string& domain : patient_.libraries.domains()) {
      for (const std::string& name : patient_.libraries.names(domain)) custom.push_back(domain + ":" + name);
    }
    const std::string standard = graph::nearest(op, rewrite::standard_operators());
    std::vector<std::string> names;
    for (const std::string& name : custom) names.push_back(name.substr(name.find(':') + 1));
    const std::string near = graph::nearest(op, names);
    if (!standard.empty() && near.empty()) {
      Finding& found = patient_.add(Cause::op_unknown, op);
      found.evidence.push_back(fmt::format("{}; ONNX has no {} at opset {}{}", patient_.node_text(node), op,
                                           opset, said_near(standard)));
      found.cure.push_back(
          patient_.python(fmt::format("{}.op_type = '{}'", patient_.python_node(node), standard)));
      return;
    }
    Finding& found = patient_.add(Cause::op_in_default_domain, op);
    found.beyond_repair = true;
    found.evidence.push_back(
        fmt::format("{} has no domain, and ONNX has no {}{}", patient_.node_text(node), op, said_near(near)));
    found.cure.push_back(
        "give the node the domain of the library that has the operator, and import that domain: " +
        patient_.python(fmt::format("n = {}; n.domain = 'DOMAIN'; m.opset_import.append("
                                    "helper.make_opsetid('DOMAIN', 1))",
                                    patient_.python_node(node))));
    if (patient_.libraries.all().empty())
      found.cure.push_back(fmt::format("and give that library: graft doctor {} --library LIBRARY.so",
                                       patient_.model.file.string()));
  }

  void check_custom(NodeId node) {
    const onnx::NodeProto& proto = index_.proto(node);
    const auto operators = patient_.libraries.find(proto.domain(), proto.op_type());
    if (!operators.empty()) return check_import(node, *operators[0]);
    const auto [domain, op, version] = key(node);
    if (patient_.prober.schema(domain, op, version).known) return;
    if (const int64_t other = other_version(domain, op); other) {
      Finding& found = patient_.add(Cause::import_version, patient_.op_text(node));
      found.evidence.push_back(fmt::format("{} is imported at version {}; {} exists at version {}", domain,
                                           imported(node), op, other));
      found.cure.push_back(patient_.python(
          fmt::format("next(i for i in m.opset_import if i.domain == '{}').version = {}", domain, other)));
      return;
    }
    const bool unknown_library =
        std::any_of(patient_.libraries.all().begin(), patient_.libraries.all().end(),
                    [](const Library& library) { return library.operators.empty(); });
    if (unknown_library)
      return;  // it may be the one that has the operator; why it is unknown is said already
    const std::string near = did_you_mean(node);
    if (near.empty() && !patient_.libraries.has_domain(domain) && !owns_domain(domain))
      return say_no_library(node);
    Finding& found = patient_.add(Cause::op_not_in_library, patient_.op_text(node));
    found.evidence.push_back(
        fmt::format("{}; {}{}", patient_.node_text(node), who_lacks(domain, op), said_near(near)));
    if (near.empty()) {
      found.cure.push_back(
          patient_.libraries.all().empty()
              ? fmt::format("give the library that has {}, or take a newer one", patient_.op_text(node))
              : fmt::format("give a library that has {}; `graft describe LIBRARY` lists what one has",
                            patient_.op_text(node)));
      return;
    }
    const size_t colon = near.rfind(':');
    std::string statement =
        fmt::format("n = {}; n.op_type = '{}'", patient_.python_node(node), near.substr(colon + 1));
    if (near.substr(0, colon) != domain) {
      statement += fmt::format("; n.domain = '{0}'; m.opset_import.append(helper.make_opsetid('{0}', 1))",
                               near.substr(0, colon));
    }
    found.cure.push_back(fmt::format("if {} is meant: {}", near, patient_.python(statement)));
  }

  /// Finds a version of a domain of the runtime's own at which it has an operator; 0 when there is none.
  int64_t other_version(const std::string& domain, const std::string& op) const {
    if (patient_.prober.newest_version(domain) >= 64)
      return 0;  // any version is accepted: not a domain of ONNX
    std::vector<std::tuple<std::string, std::string, int64_t>> all;
    for (int64_t version = patient_.prober.newest_version(domain); version >= 1; --version)
      all.emplace_back(domain, op, version);
    patient_.prober.learn(all);
    for (const auto& [name, known, version] : all) {
      if (patient_.prober.schema(name, known, version).known) return version;
    }
    return 0;
  }

  void check_import(NodeId node, const runtime::OperatorDescription& op) {
    const graph::Scope& root = index_.scope(index_.root(index_.node(node).scope));
    const auto& imports = root.function ? root.function->opset_import() : patient_.proto().opset_import();
    const bool is_imported = std::any_of(imports.begin(), imports.end(),
                                         [&](const auto& import) { return import.domain() == op.domain; });
    const int64_t version = imported(node);
    if (!is_imported || version >= op.since_version) return;  // a missing import is said elsewhere
    Finding& found = patient_.add(Cause::import_version, op.domain);
    found.evidence.push_back(fmt::format("{} imports {} at version {}; the library has {} from version {} on",
                                         root.function ? "the function" : "the model", op.domain, version,
                                         patient_.op_text(node), op.since_version));
    graph::Imports& changed = imports_of(node);
    const std::string domain = op.domain;
    found.repairs.push_back(
        {fmt::format("import {} at version {}", domain, op.since_version),
         [&changed, domain, since = op.since_version] { graph::import_domain(changed, domain, since); }});
  }

  /// Tells whether the model has functions in a domain, or the runtime operators.
  bool owns_domain(const std::string& domain) const {
    for (const auto& function : patient_.proto().functions()) {
      if (function.domain() == domain) return true;
    }
    return domain.starts_with("com.microsoft") || domain.starts_with("ai.onnx");
  }

  std::string who_lacks(const std::string& domain, const std::string& op) const {
    if (patient_.libraries.has_domain(domain)) {
      return fmt::format("the library has the domain {}, with {}, but no {}", domain,
                         fmt::join(patient_.libraries.names(domain), ", "), op);
    }
    if (domain.starts_with("com.microsoft") || domain.starts_with("ai.onnx"))
      return fmt::format("ONNX Runtime {} has no {}:{}", patient_.prober.runtime().version(), domain, op);
    if (owns_domain(domain)) return fmt::format("the model has functions in {}, but no {}", domain, op);
    return fmt::format("no library that was given has the domain {}", domain);
  }

  /// Gives the near operator, "my.ops:Gate".
  std::string did_you_mean(NodeId node) const {
    const onnx::NodeProto& proto = index_.proto(node);
    std::vector<std::string> names = patient_.libraries.names(proto.domain());
    for (const auto& function : patient_.proto().functions()) {
      if (function.domain() == proto.domain()) names.push_back(function.name());
    }
    if (const std::string near = graph::nearest(proto.op_type(), names); !near.empty())
      return proto.domain() + ":" + near;
    // The same operator in another domain, or a near one in a near domain.
    const std::set<std::string> homes = other_homes(proto.op_type());
    if (homes.size() == 1) return *homes.begin() + ":" + proto.op_type();
    const std::string domain = graph::nearest(proto.domain(), patient_.libraries.domains());
    if (domain.empty()) return "";
    const std::string near = graph::nearest(proto.op_type(), patient_.libraries.names(domain));
    return near.empty() ? "" : domain + ":" + near;
  }

  void say_no_library(NodeId node) {
    const std::string& domain = index_.proto(node).domain();
    Finding& found = patient_.add(Cause::library_not_registered, domain);
    const std::vector<std::string> domains = patient_.libraries.domains();
    found.evidence.push_back(
        fmt::format("{}; {} is neither ONNX's nor ONNX Runtime's, and {}", patient_.node_text(node),
                    patient_.op_text(node),
                    patient_.libraries.all().empty()
                        ? std::string("no library was given")
                        : fmt::format("the given library has the domain {} only", fmt::join(domains, ", "))));
    if (!found.cure.empty()) return;
    found.cure.push_back(
        fmt::format("give the library that has the domain {}: graft doctor {} --library LIBRARY.so", domain,
                    patient_.model.file.string()));
    found.cure.push_back(
        "in Python: options = onnxruntime.SessionOptions(); "
        "options.register_custom_ops_library('LIBRARY.so'); "
        "onnxruntime.InferenceSession('model.onnx', options)");
    if (domain == "ai.onnx.contrib")
      found.cure.push_back(
          "this domain is of onnxruntime-extensions: pip install onnxruntime-extensions, and register "
          "onnxruntime_extensions.get_library_path()");
  }

  Patient& patient_;
  const graph::Index& index_;
};

}  // namespace

void check_operators(Patient& patient) {
  if (patient.loads) return;
  OperatorNames names(patient);
  for (NodeId node = 0; node < patient.index.node_count(); ++node) names.check(node);
}

}  // namespace graft::doctor
