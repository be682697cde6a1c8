#pragma once
/// Lets ORT compute in float64 what it has no float64 kernel for: operators of the domain `graft.float64`,
/// which mean what ONNX's operators of the same names mean.
///
///   Session session = Session::from_bytes(runtime, bytes, {.operators = {register_float64_operators}});
#include <set>
#include <string>

struct OrtApiBase;
struct OrtSessionOptions;
struct OrtStatus;

namespace graft::verify {

inline constexpr const char* float64_domain = "graft.float64";

/// Name operators of that domain that are none of ONNX's: they round to a 16-bit type and keep float64.
inline constexpr const char* round_to_float16 = "RoundToFloat16";
inline constexpr const char* round_to_bfloat16 = "RoundToBfloat16";

/// Registers the operators with a session's options, as a library's RegisterCustomOps does.
OrtStatus* register_float64_operators(OrtSessionOptions* options, const OrtApiBase* base);

/// Lists the names of the operators.
std::set<std::string> float64_operators();

}  // namespace graft::verify
