// Reads any text as a definition, writes it as a function for several opsets, and looks for it in itself.
#include <cstdint>

#include "rewrite/definition.h"
#include "rewrite/definition_file.h"
#include "rewrite/match.h"
#include "rewrite/pattern.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graft;
  using namespace graft::rewrite;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Signature signature{"my.ops",          "Op",
                            {"x", "w"},        {"y"},
                            {"alpha", "axes"}, {onnx::AttributeProto::FLOAT, onnx::AttributeProto::INTS}};
  try {
    parse_definitions(text, "fuzz");
  } catch (const InputError&) {}
  try {
    const Definition definition = parse_definition(text, 17, signature);
    for (const int64_t opset : {7, 11, 13, 17, 22}) {
      for (const bool follows : {false, true}) {
        try {
          write_function(definition, {DataType::float64, follows, opset});
        } catch (const OpsetError&) {}
      }
    }
    const Pattern pattern(definition);
    onnx::FunctionProto function = write_function(definition, {});
    graph::Index index(function);
    const graph::Constants constants(index);
    const Spellings spellings(index);
    const NormalForm normal(index, constants, spellings);
    const graph::Types types(index, constants);
    Matcher matcher(normal, types);
    for (graph::NodeId node = 0; node < index.node_count(); ++node) {
      if (index.output(node) == graph::none) continue;
      if (!matcher.match(pattern, index.output(node))) matcher.nearest_miss(pattern, index.output(node));
    }
  } catch (const InputError&) {}
  return 0;
}
