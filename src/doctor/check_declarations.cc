/// What the model declares of its values, against what its nodes make.
#include <fmt/format.h>

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

/// Gives the type that is made where it is not the declared one; undefined where they agree or it is not
/// known.
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

/// The declaration is corrected, not dropped: behind a function, ONNX Runtime may have no other way to know
/// the type.
void check(Patient& patient, ScopeId scope, Declarations& declarations) {
  for (auto& known : declarations) {
    const DataType made = differs(patient, scope, known);
    if (made == DataType::undefined) continue;
    const ValueId value = patient.index.scope(scope).names.at(known.name());
    Finding& found = patient.add(Cause::stale_value_info, known.name());
    found.evidence.push_back(
        fmt::format("{} is declared {}, and {} makes {}", known.name(),
                    type_name(static_cast<DataType>(known.type().tensor_type().elem_type())),
                    patient.node_text(patient.index.value(value).producer), type_name(made)));
    found.repairs.push_back(
        {fmt::format("declare {} as {}, which it is", known.name(), type_name(made)), [&known, made] {
           known.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(made));
         }});
  }
}

}  // namespace

void check_declarations(Patient& patient) {
  if (patient.loads) return;
  for (ScopeId id = 0; id < patient.index.scope_count(); ++id) {
    const Scope& scope = patient.index.scope(id);
    if (scope.graph) {
      check(patient, id, *scope.graph->mutable_value_info());
      check(patient, id, *scope.graph->mutable_output());
    } else {
      check(patient, id, *scope.function->mutable_value_info());
    }
  }
}

}  // namespace graft::doctor
