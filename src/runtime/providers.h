#pragma once
/// Lets a session run on execution providers other than the CPU's.
///
///   append_providers(runtime, options, {"CUDA"});  // InputError: this ORT has no provider CUDA; it has
///   Azure, CPU
#include <string>
#include <string_view>
#include <vector>

struct OrtSessionOptions;

namespace graft::runtime {

class Runtime;

/// Finds the name that ORT has for a provider: "cuda" and "CUDA" are CUDAExecutionProvider. InputError when
/// this ORT has no such provider; it lists those that it has.
std::string find_provider(const Runtime& runtime, const std::string& name);

/// Writes a provider's name without the ending that all have.
std::string short_provider_name(std::string_view name);

/// Asks for providers in order of preference, with ORT's own settings for them; "CPU" may be named, and is
/// there without. InputError when this ORT lacks one, OrtError when it has it and cannot use it.
void append_providers(const Runtime& runtime, OrtSessionOptions* options,
                      const std::vector<std::string>& names);

}  // namespace graft::runtime
