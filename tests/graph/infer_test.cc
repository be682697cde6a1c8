#include "graph/infer.h"

#include <gtest/gtest.h>

#include "small_model.h"

namespace graft::graph {
namespace {

struct Expected {
  const char* text;
  DataType type;
  std::optional<std::vector<Dim>> dims;
};

void PrintTo(const Expected& expected, std::ostream* stream) { *stream << expected.text; }

class Infer : public testing::TestWithParam<Expected> {};

TEST_P(Infer, TypeAndShape) {
  onnx::ModelProto model = small_model(GetParam().text, {.shape = {2, 3, 8, 8}});
  model.mutable_graph()->mutable_output(0)->clear_type();
  Index index(model);
  Constants constants(index);
  Types types(index, constants);
  const Type& type = types.of(index.find(0, "y"));
  EXPECT_EQ(type.type, GetParam().type);
  EXPECT_EQ(type.dims, GetParam().dims);
}

using D = std::vector<Dim>;
INSTANTIATE_TEST_SUITE_P(
    Operators, Infer,
    testing::Values(Expected{"y = Add(x, 3)", DataType::float32, D{2, 3, 8, 8}},
                    Expected{"y = Greater(x, 0)", DataType::boolean, D{2, 3, 8, 8}},
                    Expected{"y = Cast<to=10>(x)", DataType::float16, D{2, 3, 8, 8}},
                    Expected{"y = Shape(x)", DataType::int64, D{4}},
                    Expected{"y = GlobalAveragePool(x)", DataType::float32, D{2, 3, 1, 1}},
                    Expected{"y = ReduceMean<axes=[-1]>(x)", DataType::float32, D{2, 3, 8, 1}},
                    Expected{"y = ReduceMean<axes=[2, 3], keepdims=0>(x)", DataType::float32, D{2, 3}},
                    Expected{"y = ReduceSum<keepdims=0>(x)", DataType::float32, D{}},
                    Expected{"y = ArgMax<axis=1>(x)", DataType::int64, D{2, 1, 8, 8}},
                    Expected{"y = Transpose<perm=[0, 2, 3, 1]>(x)", DataType::float32, D{2, 8, 8, 3}},
                    Expected{"y = Reshape(x, [0, -1])", DataType::float32, D{2, unknown}},
                    Expected{"y = Flatten(x)", DataType::float32, D{unknown, unknown}},
                    Expected{"y = Unsqueeze(x, [0, -1])", DataType::float32, D{1, 2, 3, 8, 8, 1}},
                    Expected{"y = Squeeze(x, [1])", DataType::float32, D{2, 8, 8}},
                    Expected{"y = Concat<axis=1>(x, x)", DataType::float32, D{2, 6, 8, 8}},
                    Expected{"y = MatMul(x, x)", DataType::float32, D{2, 3, 8, 8}},
                    Expected{"y = Gather<axis=1>(x, 0)", DataType::float32, D{2, 8, 8}},
                    Expected{"y = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(x)", DataType::float32,
                             D{2, 3, 4, 4}},
                    Expected{"y = Slice(x, [0], [4], [2])", DataType::float32, D{2, 3, unknown, 8}},
                    Expected{"y = Softmax(x)", DataType::float32, D{2, 3, 8, 8}},
                    Expected{"y = Where(Greater(x, 0), x, 0)", DataType::float32, D{2, 3, 8, 8}},
                    Expected{"y = Size(x)", DataType::int64, D{}},
                    Expected{"y = Einsum<equation='abcd->a'>(x)", DataType::float32, std::nullopt}));

TEST(InferModels, AnUnknownOperatorHasTheDeclaredType) {
  onnx::ModelProto model = small_model("y = Relu(x)");
  model.mutable_graph()->mutable_node(0)->set_domain("somebody");
  Index index(model);
  Constants constants(index);
  Types types(index, constants);
  EXPECT_EQ(types.of(index.find(0, "y")).rank(), 2);
  model.mutable_graph()->mutable_output(0)->clear_type();
  Index bare(model);
  Constants no_constants(bare);
  Types unknown_types(bare, no_constants);
  EXPECT_EQ(unknown_types.of(bare.find(0, "y")).rank(), -1);
  EXPECT_EQ(unknown_types.of(bare.find(0, "y")).type, DataType::undefined);
}

TEST(InferModels, AFunctionCalledWithTwoTypesHasNone) {
  for (const bool mixed : {false, true}) {
    onnx::ModelProto model = small_model("y = Neg(x); z = Neg(x)", {.outputs = {"y", "z"}});
    auto* function = model.add_functions();
    function->set_domain("f");
    function->set_name("Neg");
    function->add_input("u");
    function->add_output("v");
    auto* node = function->add_node();
    node->set_op_type("Abs");
    node->add_input("u");
    node->add_output("v");
    for (auto& call : *model.mutable_graph()->mutable_node()) call.set_domain("f");
    if (mixed) {
      *model.mutable_graph()->add_input() = model.graph().input(0);
      auto* input = model.mutable_graph()->mutable_input(1);
      input->set_name("h");
      input->mutable_type()->mutable_tensor_type()->set_elem_type(11);
      model.mutable_graph()->mutable_node(1)->set_input(0, "h");
      model.mutable_graph()->mutable_output(1)->clear_type();
    }
    Index index(model);
    Constants constants(index);
    Types types(index, constants);
    const ValueId inner = index.find(index.function("f", "Neg"), "v");
    EXPECT_EQ(types.of(inner).type, mixed ? DataType::undefined : DataType::float32);
    EXPECT_EQ(types.of(inner).rank(), 2);
  }
}

}  // namespace
}  // namespace graft::graph
