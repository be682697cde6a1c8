#pragma once
/// Lets names be chosen for what is generated: words that C++ takes, that no function of the SDK has, and
/// that say something.
///
///   as_identifier("batch_norm.w:0")     // "batch_norm_w_0"
#include <set>
#include <string>

#include "ops/fused/program.h"

namespace graft::fuse {

/// Makes a word that C++ takes as the name of a variable; empty when nothing is left.
std::string as_identifier(const std::string& text);
/// Gives the word, or the word with a number when it is taken or means something else in C++ or the SDK.
std::string unlike(const std::string& word, const std::set<std::string>& taken);
/// Says whether the SDK has a type of this name.
bool is_sdk_type(const std::string& name);
/// Turns "HardSwish" into "hard_swish".
std::string in_snake_case(const std::string& name);
/// Names what an operator is called in ONNX.
std::string onnx_name(fused::Op op);
/// Names an input after what is done with it first: "scale", "bias", "condition".
std::string role_of(const fused::Program& program, int input);

}  // namespace graft::fuse
