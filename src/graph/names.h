#pragma once
/// Lets you read and change the operator sets that a model or a function imports.
///
///   int64_t opset = imported_version(model.opset_import(), "");
///   import_domain(*model.mutable_opset_import(), "graft", 1);
#include <cstdint>
#include <string>
#include <string_view>

#include "onnx-ml.pb.h"

namespace graft::graph {

using Imports = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;

/// Tells whether a domain is ONNX's own: "" and "ai.onnx" are the same.
bool is_default_domain(std::string_view domain);

/// Tells whether two domains are the same.
bool same_domain(std::string_view one, std::string_view other);

/// Gives the imported version of a domain, 0 when it is not imported.
int64_t imported_version(const Imports& imports, std::string_view domain);

/// Adds the import of a domain, or raises it to `version`; never lowers it. True when something changed.
bool import_domain(Imports& imports, std::string_view domain, int64_t version);

/// Writes "my.ops:HardSwish", and "Add" for ONNX's own.
std::string qualified_name(std::string_view domain, std::string_view name);

/// Tells whether a user who writes `asked` means an operator: "HardSwish", "my.ops:HardSwish" or
/// "my.ops::HardSwish".
bool is_named(std::string_view asked, std::string_view domain, std::string_view name);

}  // namespace graft::graph
