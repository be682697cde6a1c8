// Regions as models have them: the chain of operators in ORT, the compiled operator, and the portable one
// that runs the region's program. One thread, ORT calls on all sides, interleaved in one run.
//
//   build/release/bench_fused build/release/libgraft_ops.so build/release/libbench_ops.so [ORT library or
//   folder]
#include <fmt/format.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "../ops/fused/program.h"
#include "interleave.h"
#include "runtime/model_builder.h"
#include "runtime/session.h"

namespace {

using graft::runtime::DataType;
using graft::testing::ModelBuilder;
using Shape = std::vector<int64_t>;

struct Region {
  std::string name;  // of the compiled operator, domain bench
  std::string program;
  std::vector<Shape> inputs;
};

const std::string kSwish = "k f32 3; k f32 0; k f32 6; ";  // constants of HardSwish
const Shape kMap = {1, 64, 40, 40}, kSmallMap = {1, 480, 10, 10}, kTokens = {1, 200, 384};

const std::vector<Region> regions = {
    {"HardSwish",
     "in f32; " + kSwish + "add f32 0 1; clamp f32 4 2 3; mul f32 0 5; div f32 6 3; out 7",
     {{65536}}},
    {"ScaleBiasSwish",
     "in f32; in f32; in f32; " + kSwish +
         "mul f32 0 1; add f32 6 2; add f32 7 3; clamp f32 8 4 5; mul f32 7 9; div f32 10 5; out 11",
     {kMap, {64, 1, 1}, {64, 1, 1}}},
    {"ScaleBiasSwish",
     "in f32; in f32; in f32; " + kSwish +
         "mul f32 0 1; add f32 6 2; add f32 7 3; clamp f32 8 4 5; mul f32 7 9; div f32 10 5; out 11",
     {kSmallMap, {480, 1, 1}, {480, 1, 1}}},
    {"AddClipMul",
     "in f32; in f32; k f32 0; k f32 6; k f32 0.5; add f32 0 1; clamp f32 5 2 3; mul f32 6 4; out 7",
     {kMap, kMap}},
    {"Gate", "in f32; in f32; sigmoid f32 1; mul f32 0 2; out 3", {kMap, {1, 64, 1, 1}}},
    {"Gate", "in f32; in f32; sigmoid f32 1; mul f32 0 2; out 3", {kSmallMap, {1, 480, 1, 1}}},
    {"HardGate",
     "in f32; in f32; k f32 0.2; k f32 0.5; k f32 0; k f32 1; mul f32 1 2; add f32 6 3; clamp f32 7 4 5; mul "
     "f32 0 8; out 9",
     {kMap, {1, 64, 1, 1}}},
    {"GeluChain",
     "in f32; k f32 1.4142135; k f32 1; k f32 0.5; div f32 0 1; erf f32 4; add f32 5 2; mul f32 0 6; mul f32 "
     "7 3; out 8",
     {kTokens}},
    {"ScaleBias", "in f32; in f32; in f32; mul f32 0 1; add f32 3 2; out 4", {kTokens, {384}, {384}}},
    {"Eight",
     "in f32; in f32; " + kSwish +
         "k f32 0.9; k f32 0.1; mul f32 0 5; add f32 7 6; add f32 8 2; clamp f32 9 3 4; mul f32 8 10; div "
         "f32 11 4; "
         "add f32 12 1; relu f32 13; out 14",
     {{65536}, {65536}}},
    {"EightOthers",
     "in f32; in f32; k f32 0.5; k f32 2; k f32 1; abs f32 0; add f32 5 4; sqrt f32 6; mul f32 7 2; sub f32 "
     "1 8; mul f32 9 9; div f32 10 3; "
     "exp f32 1; add f32 11 12; out 13",
     {{65536}, {65536}}},
};

/// Writes the region as the nodes that it was.
void add_chain(ModelBuilder& model, const graft::fused::Program& program) {
  using graft::fused::Op;
  static const std::map<Op, std::string> names = {
      {Op::add, "Add"},    {Op::sub, "Sub"},   {Op::mul, "Mul"},         {Op::div, "Div"},
      {Op::clamp, "Clip"}, {Op::relu, "Relu"}, {Op::sigmoid, "Sigmoid"}, {Op::erf, "Erf"},
      {Op::abs, "Abs"},    {Op::sqrt, "Sqrt"}, {Op::exp, "Exp"}};
  for (size_t i = 0; i < program.values.size(); ++i) {
    const auto& value = program.values[i];
    const bool output = program.outputs[0] == int(i);
    const std::string name = output ? "y" : "v" + std::to_string(i);
    if (value.op == Op::input) continue;
    if (value.op == Op::constant) {
      model.constant(name, graft::testing::number(float(value.number)));
      continue;
    }
    std::vector<std::string> operands;
    for (int k = 0; k < graft::fused::info_of(value.op)->arity; ++k)
      operands.push_back("v" + std::to_string(value.operands[size_t(k)]));
    model.node(names.at(value.op), operands, {name});
  }
}

std::string model_of(const Region& region, const std::string& kind) {
  ModelBuilder model(17, 9);
  std::vector<std::string> names;
  for (size_t i = 0; i < region.inputs.size(); ++i) {
    names.push_back("v" + std::to_string(i));
    model.input(names.back(), DataType::float32,
                std::vector<graft::testing::Size>(region.inputs[i].begin(), region.inputs[i].end()));
  }
  model.output("y", DataType::float32,
               std::vector<graft::testing::Size>(region.inputs[0].begin(), region.inputs[0].end()));
  if (kind == "chain") {
    add_chain(model, graft::fused::read_program(region.program));
  } else if (kind == "compiled") {
    model.import("bench", 1);
    model.node(region.name, names, {"y"}, "bench");
  } else {
    model.import("graft", 1);
    auto* attribute = model.node("Fused_f32_0", names, {"y"}, "graft").add_attribute();
    attribute->set_name("program");
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(region.program);
  }
  return model.bytes();
}

void measure(const std::string& library, const std::string& compiled, const std::string& where) {
  const auto ort = graft::runtime::Runtime::load(graft::runtime::find_runtime(where));
  fmt::print(
      "ORT {}, one thread, microseconds of a run, best (median); saved: of the time that the compiled "
      "operator saves, by the best times\n",
      ort->version());
  fmt::print("{:<16}{:>16}  {:>16} {:>16} {:>16} {:>18} {:>7}\n", "region", "shape", "chain", "compiled",
             "portable", "portable/compiled", "saved");
  for (const Region& region : regions) {
    const auto load = [&](const std::string& kind) {
      return graft::runtime::Session::from_bytes(ort, model_of(region, kind),
                                                 {.threads = 1, .libraries = {library, compiled}});
    };
    auto chain = load("chain"), own = load("compiled"), portable = load("portable");
    std::vector<graft::runtime::Tensor> inputs;
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 2);
    for (const Shape& shape : region.inputs) {
      inputs.push_back(graft::runtime::Tensor::zeros(DataType::float32, shape));
      for (float& value : inputs.back().values<float>()) value = normal(random);
    }
    auto a = chain.prepare(inputs), b = own.prepare(inputs), c = portable.prepare(inputs);
    graft::bench::Interleaved rounds(
        {{"chain", [&] { a.once(); }}, {"compiled", [&] { b.once(); }}, {"portable", [&] { c.once(); }}});
    rounds.run(1.5);
    const auto ratio = rounds.ratio(2, 1);
    const auto time = [&](size_t i) {
      return fmt::format("{:.1f} ({:.1f})", rounds.best(i), rounds.median(i));
    };
    const double saved = (rounds.best(0) - rounds.best(2)) / (rounds.best(0) - rounds.best(1));
    fmt::print("{:<16}{:>16}  {:>16} {:>16} {:>16} {:>6.2f} ({:.2f}-{:.2f}) {:>6.0f}%\n", region.name,
               graft::runtime::to_string(region.inputs[0]), time(0), time(1), time(2), ratio.best,
               ratio.lower, ratio.upper, 100 * saved);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_fused LIBGRAFT_OPS LIBBENCH_OPS [ORT library or folder]\n");
    return 2;
  }
  try {
    measure(argv[1], argv[2], argc > 3 ? argv[3] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_fused: {}\n", error.what());
    return 2;
  }
}
