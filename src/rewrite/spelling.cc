#include "rewrite/spelling.h"

#include <array>
#include <string_view>
#include <vector>

#include "graph/names.h"
#include "rewrite/definition.h"

namespace graft::rewrite {
namespace {

struct AttributeDefault {
  std::string_view name;
  float value;
};

/// Spells out one operator of ONNX; `when` is the value that its attribute `approximate` or `alpha` must
/// have.
struct Spelling {
  std::string_view op;
  std::string_view text;
  std::array<AttributeDefault, 2> attributes = {};
  std::string_view approximate = "none";
};

/// The composites, as the ONNX specification defines each (its function bodies and formulas).
constexpr Spelling spellings[] = {
    {"HardSigmoid", "y = Clip(Add(Mul(@alpha, x), @beta), 0, 1)", {{{"alpha", 0.2f}, {"beta", 0.5f}}}},
    {"HardSwish", "y = Mul(x, Clip(Add(Mul(0.16666666666666666, x), 0.5), 0, 1))"},
    {"Gelu", "y = Mul(Mul(0.5, x), Add(1, Erf(Div(x, 1.4142135623730951))))"},
    {"Gelu",
     "y = Mul(Mul(0.5, x), Add(1, Tanh(Mul(0.7978845608028654, Add(x, Mul(0.044715, Mul(x, Mul(x, x))))))))",
     {},
     "tanh"},
    {"Mish", "y = Mul(x, Tanh(Softplus(x)))"},
    {"LeakyRelu", "y = Where(Greater(x, 0), x, Mul(@alpha, x))", {{{"alpha", 0.01f}, {}}}},
};

Signature signature_of(const Spelling& spelling) {
  Signature signature{"", std::string(spelling.op), {"x"}, {"y"}, {}, {}};
  for (const auto& attribute : spelling.attributes) {
    if (attribute.name.empty()) continue;
    signature.attributes.emplace_back(attribute.name);
    signature.attribute_types.push_back(onnx::AttributeProto::FLOAT);
  }
  return signature;
}

/// Puts the node's own attribute values in place of the references to them.
void bind_attributes(onnx::FunctionProto& body, const Spelling& spelling, const onnx::NodeProto& node) {
  for (auto& inner : *body.mutable_node()) {
    for (auto& attribute : *inner.mutable_attribute()) {
      if (attribute.ref_attr_name().empty()) continue;
      float value = 0;
      for (const auto& absent : spelling.attributes) {
        if (absent.name == attribute.ref_attr_name()) value = absent.value;
      }
      for (const auto& given : node.attribute()) {
        if (given.name() == attribute.ref_attr_name()) value = given.f();
      }
      attribute.clear_ref_attr_name();
      attribute.set_f(value);
    }
  }
}

}  // namespace

Spellings::Spellings(graph::Index& index) {
  std::vector<std::pair<const Spelling*, onnx::FunctionProto>> bodies;
  for (const Spelling& spelling : spellings) {
    const Definition definition = parse_definition(spelling.text, 0, signature_of(spelling));
    bodies.emplace_back(&spelling, write_function(definition, {}));
  }
  const graph::NodeId count = index.node_count();
  for (graph::NodeId id = 0; id < count; ++id) {
    const onnx::NodeProto& node = index.proto(id);
    if (!graph::is_default_domain(node.domain()) || node.input_size() != 1 || node.output_size() != 1)
      continue;
    for (auto& [spelling, body] : bodies) {
      if (node.op_type() != spelling->op) continue;
      std::string_view approximate = "none";
      bool refers = false;
      for (const auto& attribute : node.attribute()) {
        if (attribute.name() == "approximate") approximate = attribute.s();
        refers |= !attribute.ref_attr_name().empty();
      }
      if (refers || approximate != spelling->approximate) continue;
      const graph::ValueId x = index.input(id, 0), y = index.output(id);
      if (x == graph::none || y == graph::none) continue;
      onnx::FunctionProto bound = body;
      bind_attributes(bound, *spelling, node);
      spelled_[y] = index.spell_out(id, std::move(bound), {&x, 1})[0];
      break;
    }
  }
}

}  // namespace graft::rewrite
