// Reads any bytes as a model, and asks of it what the command asks.
#include <cstdint>

#include "graph/infer.h"
#include "graph/model.h"
#include "graph/sort.h"
#include "rewrite/eject.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graft;
  graph::explain_not_a_model(reinterpret_cast<const char*>(data), size);
  onnx::ModelProto model;
  google::protobuf::SetLogHandler(nullptr);
  if (!model.ParseFromArray(data, static_cast<int>(size))) return 0;
  graph::external_data_files(model);
  {
    const graph::Index index(model);
    const graph::Constants constants(index);
    const graph::Types types(index, constants);
    for (graph::ValueId value = 0; value < index.value_count(); ++value) {
      constants.find(value);
      constants.integers(value);
      constants.elements(value, 1000);
      types.of(value);
    }
    for (graph::ScopeId scope = 0; scope < index.scope_count(); ++scope)
      graph::topological_order(index, scope);
  }
  try {
    rewrite::eject(model, {}, {});
  } catch (const InputError&) {
    return 0;
  }
  graph::sort_nodes(model);
  return 0;
}
