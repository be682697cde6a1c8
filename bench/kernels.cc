// Every function against ORT's own kernel: microseconds for one call on 65,536 floats, one thread, ORT calls on both sides,
// interleaved in one run. With no kernel of ORT's, the chain of operators that people write stands in.
//
//   build/release/bench_kernels build/release/libbench_ops.so [ORT library or folder]
#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "interleave.h"
#include "runtime/model_builder.h"
#include "runtime/session.h"

namespace {

using graft::runtime::DataType;
using graft::testing::ModelBuilder;

struct Kernel {
  std::string name;      // of our operator, domain bench
  std::string op;        // ORT's, "" for a chain
  std::string domain = "";
  bool positive = false;
  int64_t opset = 20;
};

const std::vector<Kernel> kernels = {
    {"Exp", "Exp"},           {"Sigmoid", "Sigmoid"},
    {"Silu", "QuickGelu", "com.microsoft"},
    {"Tanh", "Tanh"},         {"Erf", "Erf"},
    {"Gelu", "Gelu"},         {"GeluTanh", "FastGelu", "com.microsoft"},
    {"Softplus", "Softplus"}, {"Mish", "Mish"},
    {"Log", "Log", "", true}, {"Sin", "Sin"},
    {"Sqrt", "Sqrt", "", true}, {"HardSwish", "HardSwish"},
};

std::string model(const std::string& op, const std::string& domain, int64_t opset) {
  ModelBuilder m(opset, 9);
  if (!domain.empty()) m.import(domain, 1);
  m.input("x", DataType::float32, {"n"});
  m.output("y", DataType::float32, {"n"});
  auto& node = m.node(op, {"x"}, {"y"}, domain);
  if (op == "QuickGelu") {
    auto* alpha = node.add_attribute();
    alpha->set_name("alpha");
    alpha->set_type(onnx::AttributeProto::FLOAT);
    alpha->set_f(1);
  }
  return m.bytes();
}

void measure(const std::string& library, const std::string& where) {
  const auto ort = graft::runtime::Runtime::load(graft::runtime::find_runtime(where));
  fmt::print("ORT {}, 65,536 floats, one thread, microseconds best (median)\n", ort->version());
  fmt::print("{:<12} {:>16} {:>16} {:>8} {:>14}\n", "function", "ORT", "Graft", "Graft/ORT", "median (quartiles)");
  for (const Kernel& kernel : kernels) {
    const auto load = [&](const std::string& bytes) {
      return graft::runtime::Session::from_bytes(ort, bytes, {.threads = 1, .libraries = {library}});
    };
    auto theirs = load(model(kernel.op, kernel.domain, kernel.opset)), ours = load(model(kernel.name, "bench", kernel.opset));
    auto x = graft::runtime::Tensor::zeros(DataType::float32, {65536});
    std::mt19937 random(1);
    std::uniform_real_distribution<float> spread(kernel.positive ? 0.01f : -8.f, 8.f);
    for (float& value : x.values<float>()) value = spread(random);
    auto a = theirs.prepare({x}), b = ours.prepare({x});
    graft::bench::Interleaved rounds({{"ORT", [&] { a.once(); }}, {"Graft", [&] { b.once(); }}});
    rounds.run(0.5);
    const auto r = rounds.ratio(1, 0);
    fmt::print("{:<12} {:>7.1f} ({:>6.1f}) {:>7.1f} ({:>6.1f}) {:>8.2f} {:>6.2f} ({:.2f} to {:.2f})\n", kernel.name, rounds.best(0),
               rounds.median(0), rounds.best(1), rounds.median(1), r.best, r.median, r.lower, r.upper);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_kernels LIBBENCH_OPS [ORT library or folder]\n");
    return 2;
  }
  try {
    measure(argv[1], argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_kernels: {}\n", error.what());
    return 2;
  }
}
