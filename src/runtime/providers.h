#pragma once
/// Lets a session run on execution providers other than the CPU's.
///
///   append_providers(runtime, options, {"CUDA"});  // InputError: this ORT has no provider CUDA; it has Azure, CPU
#include <string>
#include <string_view>
#include <vector>

struct OrtSessionOptions;

namespace graft::runtime {

class Runtime;

/// Writes a provider's name as ORT's profile does: "CUDA" becomes "CUDAExecutionProvider".
std::string full_provider_name(std::string_view name);

/// Writes it without the ending.
std::string short_provider_name(std::string_view name);

/// Lists the providers that this ORT was built with, by their full names.
std::vector<std::string> available_providers(const Runtime& runtime);

/// Asks for providers in order of preference, with ORT's own settings for them; "CPU" may be named, and is there
/// without. InputError when this ORT lacks one, OrtError when it has it and cannot use it.
void append_providers(const Runtime& runtime, OrtSessionOptions* options, const std::vector<std::string>& names);

}  // namespace graft::runtime
