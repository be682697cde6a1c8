// A library that describes one operator; a build may give it another description.
#include <graft/describe_abi.h>

#ifndef DESCRIPTION
#define DESCRIPTION one_operator
#endif

[[maybe_unused]] constexpr const char* one_operator = R"json({
  "graft": {"version": "0.1.0", "abi": 1},
  "operators": [{
    "domain": "t", "name": "Double", "since_version": 1, "kind": "elementwise", "provider": "CPUExecutionProvider",
    "inputs": [{"name": "x", "arity": "required"}], "outputs": [{"name": "y", "arity": "required"}],
    "overloads": [{"inputs": ["float"], "outputs": ["float"]}], "attributes": [], "shape": "broadcast",
    "definitions": [{"opset": 7, "text": "y = Add(x, x)", "traced": true}]
  }]
})json";

extern "C" const graft_library* graft_describe(uint32_t abi) {
  static const graft_library library = {sizeof(graft_library), GRAFT_ABI, DESCRIPTION, nullptr, 0};
  return abi == GRAFT_ABI ? &library : nullptr;
}
