#pragma once
/// Lets you say whether a runtime has an execution provider, and what to do when it has not.
///
///   check_providers(runtime, {"cuda"}, findings);
#include <memory>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "runtime/runtime.h"

namespace graft::doctor {

/// Says how to get a provider.
std::vector<std::string> provider_cure(const std::string& provider);

/// Says what to do where a provider is there and does not start: the libraries that it needs are not there,
/// or the device is not.
std::vector<std::string> start_cure(const std::string& provider);

/// Adds a finding for each provider that is asked for and not there, or there and fails to start; "cuda"
/// stands for CUDAExecutionProvider.
void check_providers(const std::shared_ptr<runtime::Runtime>& runtime, const std::vector<std::string>& asked,
                     Findings& findings);

/// Adds a finding when several ONNX Runtime packages lie in the folder of Python packages of this one.
void check_packages(const runtime::Runtime& runtime, Findings& findings);

}  // namespace graft::doctor
