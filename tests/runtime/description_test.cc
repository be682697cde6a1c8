#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "expect_error.h"
#include "runtime/library.h"

namespace graft::runtime {
namespace {

using nlohmann::json;
using testing::error_of;

json complete_description() {
  return json::parse(R"json({
    "graft": {"version": "0.1.0", "abi": 1},
    "operators": [{
      "domain": "my.ops", "name": "Scale", "since_version": 1, "kind": "tensor", "provider": "CPUExecutionProvider",
      "inputs": [{"name": "x", "arity": "required"}, {"name": "bias", "arity": "optional"}, {"name": "rest", "arity": "variadic"}],
      "outputs": [{"name": "y", "arity": "required"}],
      "overloads": [{"inputs": ["float", "float", "float"], "outputs": ["float"]}, {"inputs": ["bfloat16", "int64", "bool"], "outputs": ["double"]}],
      "attributes": [{"name": "alpha", "type": "float", "required": false, "default": 0.01},
                     {"name": "limit", "type": "float", "required": false, "default": "inf"},
                     {"name": "axes", "type": "ints", "required": false, "default": [1, -2]},
                     {"name": "mode", "type": "string", "required": true}],
      "shape": "function",
      "definitions": [{"opset": 11, "text": "y = Mul(x, @alpha)", "traced": false}, {"opset": 14, "text": "y = Mul(@alpha, x)", "traced": true}]
    }]})json");
}

std::string complaint(const json& description) {
  const std::string text = error_of([&] { parse_description(description.dump(), "lib.so"); });
  const std::string prefix = "lib.so: its description is not valid: ";
  EXPECT_TRUE(text.starts_with(prefix)) << text;
  return text.substr(std::min(prefix.size(), text.size()));
}

TEST(Description, ReadsAllFields) {
  const LibraryDescription library = parse_description(complete_description().dump(), "lib.so");
  EXPECT_EQ(library.graft_version, "0.1.0");
  ASSERT_EQ(library.operators.size(), 1u);
  const OperatorDescription& op = library.operators[0];
  EXPECT_EQ(op.domain, "my.ops");
  EXPECT_EQ(op.name, "Scale");
  EXPECT_EQ(op.since_version, 1);
  EXPECT_EQ(op.kind, OperatorKind::tensor);
  EXPECT_EQ(op.provider, "CPUExecutionProvider");
  ASSERT_EQ(op.inputs.size(), 3u);
  EXPECT_EQ(op.inputs[1].name, "bias");
  EXPECT_EQ(op.inputs[1].arity, Arity::optional);
  EXPECT_EQ(op.inputs[2].arity, Arity::variadic);
  ASSERT_EQ(op.overloads.size(), 2u);
  EXPECT_EQ(op.overloads[1].inputs, (std::vector{DataType::bfloat16, DataType::int64, DataType::boolean}));
  EXPECT_EQ(op.overloads[1].outputs, std::vector{DataType::float64});
  ASSERT_EQ(op.attributes.size(), 4u);
  EXPECT_EQ(std::get<double>(op.attributes[0].default_value), 0.01);
  EXPECT_TRUE(std::isinf(std::get<double>(op.attributes[1].default_value)));
  EXPECT_EQ(std::get<std::vector<int64_t>>(op.attributes[2].default_value), (std::vector<int64_t>{1, -2}));
  EXPECT_TRUE(op.attributes[3].required);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(op.attributes[3].default_value));
  EXPECT_EQ(op.shape, ShapeRule::function);
  ASSERT_EQ(op.definitions.size(), 2u);
  EXPECT_EQ(op.definitions[1].opset, 14);
  EXPECT_EQ(op.definitions[1].text, "y = Mul(@alpha, x)");
  EXPECT_TRUE(op.definitions[1].traced);
}

TEST(Description, KnowsInputsOfAnyType) {
  json description = complete_description();
  description["operators"][0]["overloads"] = json::parse(
      R"([{"inputs": ["float", "float", "any"], "outputs": ["float"], "any": ["float", "int64"]}])");
  const LibraryDescription library = parse_description(description.dump(), "lib.so");
  EXPECT_EQ(library.operators[0].overloads[0].inputs,
            (std::vector{DataType::float32, DataType::float32, DataType::undefined}));

  description["operators"][0]["overloads"][0]["outputs"] = json::array({"any"});
  EXPECT_EQ(complaint(description), "operators[0].overloads[0].outputs[0] is \"any\", which is no element type");
}

TEST(Description, RefusesWhatIsNotAsAgreed) {
  EXPECT_NE(error_of([] {
              parse_description("{not json", "lib.so");
            }).find("lib.so: its description is not valid: "),
            std::string::npos);
  json description = complete_description();
  description["graft"]["abi"] = 2;
  EXPECT_EQ(complaint(description), "graft is of ABI 2, not 1");

  const auto with = [](const char* pointer, const json& value) {
    json changed = complete_description();
    changed[json::json_pointer(pointer)] = value;
    return changed;
  };
  EXPECT_EQ(complaint(with("/operators/0/kind", "matrix")),
            "operators[0].kind is \"matrix\", not one of elementwise, tensor");
  EXPECT_EQ(complaint(with("/operators/0/inputs/1/arity", "some")),
            "operators[0].inputs[1].arity is \"some\", not one of required, optional, variadic");
  EXPECT_EQ(complaint(with("/operators/0/overloads/0/outputs/0", "float32")),
            "operators[0].overloads[0].outputs[0] is \"float32\", which is no element type");
  EXPECT_EQ(complaint(with("/operators/0/overloads/0/inputs", json::array({"float"}))),
            "operators[0] has an overload whose types do not match its inputs and outputs in number");
  EXPECT_EQ(complaint(with("/operators/0/attributes/0/default", "zero")),
            "operators[0].attributes[0].default is not a number");
  EXPECT_EQ(complaint(with("/operators/0/attributes/0/required", true)),
            "operators[0].attributes[0] is required and has a default");
  EXPECT_EQ(complaint(with("/operators/0/inputs/1/name", "x")), "operators[0] has two inputs named \"x\"");
  EXPECT_EQ(complaint(with("/operators/0/definitions/1/opset", 11)),
            "operators[0] has definitions whose opsets do not ascend");
  EXPECT_EQ(complaint(with("/operators/0/name", "")), "operators[0].name is empty");
  EXPECT_EQ(complaint(with("/operators/0/since_version", "1")),
            "operators[0].since_version is not an integer");
  EXPECT_EQ(complaint(with("/operators", 3)), "operators is not a list");

  description = complete_description();
  description["operators"][0].erase("provider");
  EXPECT_EQ(complaint(description), "operators[0] lacks \"provider\"");
}

}  // namespace
}  // namespace graft::runtime
