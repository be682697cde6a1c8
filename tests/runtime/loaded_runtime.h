#pragma once
/// Lets the tests of one executable share one loaded ONNX Runtime.
#include <memory>

#include "runtime/runtime.h"

namespace graft::testing {

inline std::shared_ptr<runtime::Runtime> loaded_runtime() {
  static const std::shared_ptr<runtime::Runtime> runtime = runtime::Runtime::load(runtime::find_runtime(""));
  return runtime;
}

}  // namespace graft::testing
