/// IR version and opset imports: what the runtime reads, and what is used without being imported.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "doctor/opset_choice.h"
#include "doctor/patient.h"
#include "graph/names.h"

namespace graft::doctor {
namespace {

using graph::Imports;
using graph::NodeId;
using graph::ScopeId;

/// Gives the lowest IR version that has words for all element types of the model's own tensors; 8 has
/// functions.
int64_t needed_ir_version(const onnx::ModelProto& model) {
  int64_t needed = 8;
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.data_type() >= onnx::TensorProto::FLOAT8E4M3FN) needed = std::max<int64_t>(needed, 9);
    if (tensor.data_type() >= onnx::TensorProto::UINT4) needed = std::max<int64_t>(needed, 10);
  }
  return needed;
}

void check_ir_version(Patient& patient) {
  const int64_t version = patient.proto().ir_version();
  if (patient.loads && version > 0) return;
  const int64_t newest = patient.prober.newest_ir_version();
  if (version > 0 && version <= newest) return;
  const std::string runtime = patient.prober.runtime().version();
  auto& model = patient.model.proto;
  if (version <= 0) {
    const int64_t target = std::min(newest, needed_ir_version(model));
    Finding& found = patient.add(Cause::ir_version_missing, "");
    found.evidence.push_back(patient.proto().has_ir_version()
                                 ? fmt::format("the field ir_version is {}", version)
                                 : "the field ir_version is not there");
    if (patient.loads) found.evidence.push_back("this ONNX Runtime does not mind; others refuse the model");
    found.repairs.push_back({fmt::format("set the IR version to {}", target),
                             [&model, target] { model.set_ir_version(target); }});
    return;
  }
  Finding& found = patient.add(Cause::ir_version_too_new, "");
  found.evidence.push_back(fmt::format(
      "the model says IR version {}; ONNX Runtime {} reads versions up to {}", version, runtime, newest));
  found.cure.push_back("use a newer ONNX Runtime: pip install -U onnxruntime");
  found.repairs.push_back(
      {fmt::format("set the IR version to {}", newest), [&model, newest] { model.set_ir_version(newest); }});
}

/// Is the main graph or a function: what imports domains.
struct Importer {
  Imports& imports;
  std::string text;  ///< "the model" or "the function blocks:Wrap"
  ScopeId scope;
};

std::vector<Importer> importers(Patient& patient) {
  std::vector<Importer> all;
  all.push_back({*patient.model.proto.mutable_opset_import(), "the model", 0});
  for (auto& function : *patient.model.proto.mutable_functions()) {
    all.push_back({*function.mutable_opset_import(),
                   "the function " + graph::qualified_name(function.domain(), function.name()),
                   patient.index.function(function.domain(), function.name(), function.overload())});
  }
  return all;
}

void set_version(Imports& imports, const std::string& domain, int64_t version) {
  for (auto& import : imports) {
    if (graph::same_domain(import.domain(), domain)) import.set_version(version);
  }
}

/// Gives the standard operators a version where the model imports none that exists.
void check_zero(Patient& patient, Importer& importer, int64_t version) {
  Finding& found = patient.add(Cause::import_version, "");
  found.evidence.push_back(fmt::format("{} imports the standard operators at version {}; versions begin at 1",
                                       importer.text, version));
  const int64_t target = patient.model_opset;
  Imports& imports = importer.imports;
  found.repairs.push_back(
      {fmt::format("set the import of the standard operators in {} to {}", importer.text, target),
       [&imports, target] { set_version(imports, "", target); }});
}

void check_newest(Patient& patient, Importer& importer) {
  for (const auto& import : importer.imports) {
    const std::string domain = import.domain();
    const int64_t version = import.version();
    if (version <= 0 && graph::is_default_domain(domain)) check_zero(patient, importer, version);
    if (version <= 1 || patient.prober.accepts_import(domain, version)) continue;
    const int64_t newest = patient.prober.newest_version(domain);
    if (version <= newest) continue;
    const bool standard = graph::is_default_domain(domain);
    const int64_t target = standard ? patient.model_opset : newest;
    const std::string name = standard ? "ai.onnx (the standard operators)" : domain;
    Finding& found = patient.add(Cause::opset_too_new, domain);
    found.evidence.push_back(
        fmt::format("{} imports {} at version {}; ONNX Runtime {} knows versions up to {}", importer.text,
                    name, version, patient.prober.runtime().version(), newest));
    found.cure.push_back("use a newer ONNX Runtime: pip install -U onnxruntime");
    if (standard && target < newest) {
      const OpsetChoice choice = choose_opset(patient);
      found.evidence.push_back(
          fmt::format("its operators are spelled as opset {} to {} has them", choice.oldest, target));
      if (const std::string change = meaning_change(patient.index, choice.oldest, target); !change.empty()) {
        found.beyond_repair = true;
        found.evidence.push_back("which of them is meant cannot be seen: " + change);
        found.cure.push_back(patient.python(fmt::format(
            "next(i for i in m.opset_import if i.domain in ('', 'ai.onnx')).version = {}", target)));
        continue;
      }
    }
    Imports& imports = importer.imports;
    found.repairs.push_back({fmt::format("set the import of {} in {} to {}", name, importer.text, target),
                             [&imports, domain, target] { set_version(imports, domain, target); }});
  }
}

/// Gives the version at which a domain should be imported, 0 when that cannot be known.
int64_t version_to_import(const Patient& patient, const std::string& domain,
                          const std::set<std::string>& ops) {
  if (graph::is_default_domain(domain)) return patient.model_opset;
  int64_t version = graph::imported_version(patient.proto().opset_import(), domain);
  for (const std::string& op : ops) {
    for (const auto* found : patient.libraries.find(domain, op))
      version = std::max(version, found->since_version);
  }
  return std::max<int64_t>(version, 1);
}

void check_missing(Patient& patient, Importer& importer) {
  std::map<std::string, std::set<std::string>> used;
  for (NodeId node = 0; node < patient.index.node_count(); ++node) {
    const onnx::NodeProto& proto = patient.index.proto(node);
    if (patient.index.root(patient.index.node(node).scope) == importer.scope)
      used[graph::is_default_domain(proto.domain()) ? "" : proto.domain()].insert(proto.op_type());
  }
  for (const auto& [domain, ops] : used) {
    const auto imported = [&, &name = domain](const auto& import) {
      return graph::same_domain(import.domain(), name);
    };
    if (std::any_of(importer.imports.begin(), importer.imports.end(), imported)) continue;
    const std::string name = domain.empty() ? "ai.onnx (the standard operators)" : domain;
    Finding& found = patient.add(Cause::import_missing, domain);
    found.evidence.push_back(fmt::format("{} uses {}, and has no opset import for {}", importer.text,
                                         graph::qualified_name(domain, *ops.begin()), name));
    if (patient.loads)
      found.evidence.push_back("this ONNX Runtime adds it by itself; others refuse the model");
    if (domain.empty() && importer.scope == 0) {
      found.beyond_repair = true;
      found.cure.push_back(
          "add the opset that the model was made for, which the program that made it knows: " +
          patient.python("m.opset_import.append(helper.make_opsetid('', VERSION))"));
      continue;
    }
    const int64_t version = version_to_import(patient, domain, ops);
    Imports& imports = importer.imports;
    found.repairs.push_back(
        {fmt::format("import {} at version {} in {}", name, version, importer.text),
         [&imports, domain = domain, version] { graph::import_domain(imports, domain, version); }});
  }
}

}  // namespace

void check_versions(Patient& patient) {
  check_ir_version(patient);
  for (Importer& importer : importers(patient)) {
    if (!patient.loads) check_newest(patient, importer);
    check_missing(patient, importer);
  }
}

}  // namespace graft::doctor
