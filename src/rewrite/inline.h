#pragma once
/// Lets you put the body of a function in the place of a node that calls it.
///
///   FreshNames names(model);
///   std::vector<onnx::NodeProto> body = inline_call(call, function, names);
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "onnx-ml.pb.h"

namespace graft::rewrite {

/// Gives names of values and nodes that the model does not have yet, in any scope.
class FreshNames {
 public:
  explicit FreshNames(const onnx::ModelProto& model);

  /// Gives `wanted`, or `wanted_2`, `wanted_3`, ... when it is taken.
  std::string value(const std::string& wanted) { return take(values_, wanted); }
  std::string node(const std::string& wanted) { return take(nodes_, wanted); }

 private:
  static std::string take(std::unordered_set<std::string>& taken, const std::string& wanted);
  void collect(const onnx::GraphProto& graph);
  void collect(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes);

  std::unordered_set<std::string> values_, nodes_;
};

/// Writes out what `call` computes: the function's nodes with its values bound to those of the call,
/// everything inside under fresh names, references to attributes replaced by the call's values or the
/// function's defaults. Doc string and metadata of the call go to the node that makes its first output.
/// InputError names the call when the body cannot do without an attribute that the call lacks, or has more
/// inputs or outputs than the function.
std::vector<onnx::NodeProto> inline_call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                                         FreshNames& names);

}  // namespace graft::rewrite
