#pragma once
/// Lets you turn ONNX's TensorProto into a tensor and back.
///
///   Tensor weights = tensor_from_proto(model.graph().initializer(0), folder_of_the_model);
#include <onnx-ml.pb.h>

#include <filesystem>

#include "runtime/tensor.h"

namespace graft::runtime {

/// Reads a TensorProto, whichever field holds its elements; external data come from files in `folder`.
/// std::runtime_error says what is wrong with it.
Tensor tensor_from_proto(const onnx::TensorProto& proto, const std::filesystem::path& folder = {});

/// Writes type, shape and elements, and leaves the name and the rest of the proto as they are.
void tensor_to_proto(const Tensor& tensor, onnx::TensorProto& proto);

}  // namespace graft::runtime
