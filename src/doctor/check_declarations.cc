/// What the model declares of its values, against what its nodes make.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/patient.h"
#include "graph/names.h"

namespace graft::doctor {
namespace {

using graph::none;
using graph::Scope;
using graph::ScopeId;
using graph::ValueId;
using runtime::DataType;
using Declarations = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

/// Adds a finding where the declared type is not the one that is made; gives the type that is.
DataType differs(Patient& patient, ScopeId scope, const onnx::ValueInfoProto& known) {
  if (!known.type().has_tensor_type()) return DataType::undefined;
  const auto& names = patient.index.scope(scope).names;
  const auto place = names.find(known.name());
  if (place == names.end() || patient.index.value(place->second).producer == none) return DataType::undefined;
  const auto declared = static_cast<DataType>(known.type().tensor_type().elem_type());
  const DataType made = patient.types.of(place->second);
  if (declared == DataType::undefined || made == declared) return DataType::undefined;
  return made;
}

Finding& add(Patient& patient, ScopeId scope, const onnx::ValueInfoProto& known, DataType made) {
  const ValueId value = patient.index.scope(scope).names.at(known.name());
  Finding& found = patient.add(Cause::stale_value_info, known.name());
  found.evidence.push_back(
      fmt::format("{} is declared {}, and {} makes {}", known.name(),
                  type_name(static_cast<DataType>(known.type().tensor_type().elem_type())),
                  patient.node_text(patient.index.value(value).producer), type_name(made)));
  return found;
}

void drop(Declarations& declarations, const std::string& name) {
  declarations.erase(std::remove_if(declarations.begin(), declarations.end(),
                                    [&](const auto& known) { return known.name() == name; }),
                     declarations.end());
}

}  // namespace

void check_declarations(Patient& patient) {
  if (patient.loads) return;
  for (ScopeId id = 0; id < patient.index.scope_count(); ++id) {
    const Scope& scope = patient.index.scope(id);
    Declarations& declarations = scope.graph ? *scope.graph->mutable_value_info() : *scope.function->mutable_value_info();
    for (const auto& known : declarations) {
      const DataType made = differs(patient, id, known);
      if (made == DataType::undefined) continue;
      const std::string name = known.name();
      add(patient, id, known, made)
          .repairs.push_back({fmt::format("drop the declaration of {}, which nothing needs", name),
                              [&declarations, name] { drop(declarations, name); }});
    }
    if (!scope.graph) continue;
    for (auto& output : *scope.graph->mutable_output()) {
      const DataType made = differs(patient, id, output);
      if (made == DataType::undefined) continue;
      add(patient, id, output, made)
          .repairs.push_back({fmt::format("declare the output {} as {}, which it is", output.name(), type_name(made)),
                              [&output, made] {
                                output.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(made));
                              }});
    }
  }
}

}  // namespace graft::doctor
