#pragma once
/// Lets you turn a model into one that computes the same in float64.
///
///   widen(model, folder_of_the_model, float64_operators());
///   round_around(model, "LSTM");  // where ORT has no float64 kernel: its inputs are rounded to float32
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace onnx {
class ModelProto;
}

namespace graft::verify {

/// Makes every floating tensor of the model float64: inputs, outputs, weights (external ones are read),
/// constants, casts, in subgraphs and functions too. Nodes of ONNX's domain whose type is among `operators`
/// move to `graft.float64`. std::runtime_error says what cannot be widened.
void widen(onnx::ModelProto& model, const std::filesystem::path& folder,
           const std::set<std::string>& operators);

/// Lists the values of the main graph that nodes compute in a 16-bit type, with the operator that rounds to it. To be
/// asked before the model is widened.
std::map<std::string, std::string> half_values(onnx::ModelProto& model);

/// Rounds these values of a widened model where they are made, as the standard says that 16-bit nodes do.
void round_halves(onnx::ModelProto& model, const std::map<std::string, std::string>& values);

/// Puts casts to float32 before, and to float64 behind, every node of a type; tells whether there was one.
bool round_around(onnx::ModelProto& model, const std::string& type);

}  // namespace graft::verify
