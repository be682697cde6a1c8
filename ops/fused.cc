// Fused_f32_0, Fused_f32_1, ...: elementwise regions of models, as `graft fuse` writes them. What one
// computes stands in its attribute `program` (fused/program.h). ONNX keeps a function body by domain and
// name, so a model with several regions needs several names for them; all names of one type are one operator.
#include <graft/graft.h>

#include "fused/engine.h"
#include "fused/pool.h"
using namespace graft;
using namespace graft::fused;

namespace {

constexpr Type type_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return Type::f64;
    case DType::float16:
      return Type::f16;
    case DType::bfloat16:
      return Type::bf16;
    case DType::int32:
      return Type::i32;
    case DType::int64:
      return Type::i64;
    case DType::boolean:
      return Type::boolean;
    default:
      return Type::f32;
  }
}

template <class T> struct Fused {
  using Inputs = Variadic<AnyOf<float, double, float16, bfloat16, int32_t, int64_t, bool>>;
  static constexpr Type type = type_of(dtype_of<T>);

  std::string program;
  std::shared_ptr<const Engine> engine;

  void prepare(Node node) {
    const Program read = parse();
    const std::vector<DType> types = node.input_types();
    const size_t inputs = size_t(read.input_count());
    if (types.size() != inputs) fail("the program has ", inputs, " inputs, the node has ", types.size());
    for (size_t i = 0; i < inputs; ++i) {
      const Type expected = read.values[i].type;
      if (type_of(types[i]) != expected) {
        fail("input ", i, ": the program takes ", kTypeNames[size_t(expected)], ", got tensor(",
             dtype_name(types[i]), ")");
      }
    }
    if (node.output_count() != read.outputs.size()) {
      fail("the program has ", read.outputs.size(), " outputs, the node has ", node.output_count());
    }
    for (size_t i = 0; i < read.outputs.size(); ++i) {
      const Type got = read.values[size_t(read.outputs[i])].type;
      if (got != type) {
        fail("output ", i, ": the program gives ", kTypeNames[size_t(got)],
             ", an operator of this name gives ", kTypeNames[size_t(type)]);
      }
    }
    engine = std::make_shared<const Engine>(read);
  }

  void operator()(Inputs inputs, VariadicOut<T> outputs, Pool pool) const {
    constexpr size_t few = 16;
    std::array<View, few> views;
    std::array<std::byte*, few> to;
    std::vector<View> more_views(inputs.size() > few ? inputs.size() : 0);
    std::vector<std::byte*> more_to(outputs.size() > few ? outputs.size() : 0);
    View* const view = more_views.empty() ? views.data() : more_views.data();
    std::byte** const result = more_to.empty() ? to.data() : more_to.data();
    for (size_t i = 0; i < inputs.size(); ++i) {
      view[i] = inputs.visit(i, [&](auto x) {
        return View{reinterpret_cast<const std::byte*>(x.data()), x.shape(), x.size()};
      });
    }
    for (size_t i = 0; i < outputs.size(); ++i) result[i] = reinterpret_cast<std::byte*>(outputs[i].data());
    engine->run({view, inputs.size()}, {result, outputs.size()}, outputs[0].shape(), pool);
  }

 private:
  Program parse() const {
    try {
      return read_program(program);
    } catch (const std::invalid_argument& error) {
      fail("attribute program: ", error.what());
    }
  }
};

template <class T> void define(Module& m) {
  using Operator = Fused<T>;
  const std::string type(kTypeNames[size_t(Operator::type)]);
  const std::string example =
      "in f32; in f32; mul f32 0 1; add f32 2 0; cast " + type + " 2; cast " + type + " 3; out 4 5";
  for (int i = 0; i < kPoolSizes[size_t(Operator::type)]; ++i) {
    m.def<Operator>(pool_name(Operator::type, i), attribute("program", &Operator::program).required(example),
                    shape<broadcast>, pooled("Fused_" + type),
                    doc("Computes an elementwise region of a model; `graft fuse` writes its program."));
  }
}

}  // namespace

GRAFT_OPS(m) {
  define<float>(m);
  define<double>(m);
  define<float16>(m);
  define<bfloat16>(m);
  define<int32_t>(m);
  define<int64_t>(m);
  define<bool>(m);
}
