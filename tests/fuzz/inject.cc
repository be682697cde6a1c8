// Injects operators into any model, and checks that a second time changes nothing and that all comes out
// again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "graph/index.h"
#include "rewrite/eject.h"
#include "rewrite/inject.h"

namespace {

using namespace graft;

/// Describes operators of the kinds that models have, with the definitions that people write.
runtime::LibraryDescription describe() {
  using runtime::DataType;
  const std::pair<const char*, const char*> operators[] = {
      {"HardSwish", "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)"},
      {"HardSigmoid", "y = Div(Clip(Add(x, 3), 0, 6), 6)"},
      {"Silu", "y = Mul(x, Sigmoid(x))"},
      {"Gelu", "y = Mul(Mul(0.5, x), Add(1, Erf(Div(x, 1.4142135623730951))))"},
      {"Mish", "y = Mul(x, Tanh(Log(Add(1, Exp(x)))))"},
      {"Leaky", "y = Where(Greater(x, 0), x, Mul(@alpha, x))"},
      {"Norm",
       "c = Sub(x, ReduceMean<axes=[-1]>(x)); y = Div(c, Sqrt(Add(ReduceMean<axes=[-1]>(Mul(c, c)), "
       "@alpha)))"}};
  runtime::LibraryDescription library;
  for (const auto& [name, text] : operators) {
    runtime::OperatorDescription& op = library.operators.emplace_back();
    op.domain = "my.ops";
    op.name = name;
    op.provider = "CPUExecutionProvider";
    op.inputs = {{"x", {}}};
    op.outputs = {{"y", {}}};
    for (const DataType type : {DataType::float32, DataType::float64, DataType::float16})
      op.overloads.push_back({{type}, {type}});
    if (std::string_view(text).find("@alpha") != std::string_view::npos)
      op.attributes = {{"alpha", runtime::AttributeType::float_, true, {}}};
    op.definitions = {{13, text, false}};
  }
  return library;
}

/// Tells whether every value has one maker; ONNX Runtime takes no other model.
bool is_single_assignment(onnx::ModelProto& model) {
  const graph::Index index(model);
  for (graph::ScopeId scope = 0; scope < index.scope_count(); ++scope) {
    std::set<std::string> made;
    for (const graph::NodeId node : index.scope(scope).nodes) {
      for (const std::string& output : index.proto(node).output()) {
        if (!output.empty() && !made.insert(output).second) return false;
      }
    }
  }
  return true;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<runtime::LibraryDescription> libraries{describe()};
  onnx::ModelProto model;
  google::protobuf::SetLogHandler(nullptr);
  if (!model.ParseFromArray(data, static_cast<int>(size)) || !model.has_graph() ||
      !is_single_assignment(model))
    return 0;
  try {
    const auto injection = rewrite::inject(model, libraries, {.neighbourhoods = true});
    if (!injection.changed()) return 0;
    const std::string once = model.SerializeAsString();
    const auto again = rewrite::inject(model, libraries, {});
    for (const auto& site : again.sites)
      std::fprintf(stderr, "again: %s at %s in %s\n", site.op.c_str(), site.output.c_str(),
                   site.scope.c_str());
    require(!again.changed(), "injecting again finds nothing");
    require(model.SerializeAsString() == once, "injecting again changes nothing");
    const auto ejection = rewrite::eject(model, libraries, {});
    require(ejection.places.size() > 0, "what was injected is ejected");
  } catch (const InputError&) {}
  return 0;
}
