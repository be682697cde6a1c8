// HardSwish in ORT: the chain of four operators, the fused operator with one and two threads, ORT's own HardSwish, and
// copying the same bytes. One run, interleaved.
//
//   build/release/bench_hard_swish build/release/libgraft_ops.so [ORT library or folder]
#include <fmt/format.h>

#include <cstring>
#include <random>

#include "interleave.h"
#include "runtime/model_builder.h"
#include "runtime/session.h"

namespace {

using namespace graft;
using graft::testing::ModelBuilder;

constexpr runtime::DataType kFloat = runtime::DataType::float32;

ModelBuilder builder(runtime::DataType type = kFloat) {
  ModelBuilder model;
  model.input("x", type, {"n"});
  model.output("y", type, {"n"});
  return model;
}
std::string chain() {
  ModelBuilder model = builder();
  for (const auto& [name, value] : {std::pair{"three", 3.f}, {"zero", 0.f}, {"six", 6.f}}) {
    model.constant(name, graft::testing::number(value));
  }
  model.node("Add", {"x", "three"}, {"a"});
  model.node("Clip", {"a", "zero", "six"}, {"c"});
  model.node("Mul", {"x", "c"}, {"m"});
  model.node("Div", {"m", "six"}, {"y"});
  return model.bytes();
}
std::string one(const char* op, const char* domain, runtime::DataType type = kFloat) {
  ModelBuilder model = builder(type);
  if (*domain) model.import(domain, 1);
  model.node(op, {"x"}, {"y"}, domain);
  return model.bytes();
}

void measure(const std::string& library, const std::string& where) {
  const auto ort = graft::runtime::Runtime::load(graft::runtime::find_runtime(where));
  fmt::print("ORT {}, one thread unless said; ratios are against the chain\n", ort->version());
  const auto load = [&](const std::string& model, int threads) {
    return runtime::Session::from_bytes(ort, model, {.threads = threads, .libraries = {library}});
  };
  auto chain_session = load(chain(), 1), fused = load(one("HardSwish", "graft"), 1), own = load(one("HardSwish", ""), 1),
       fused_2 = load(one("HardSwish", "graft"), 2);
  for (const int64_t n : {int64_t(1) << 16, int64_t(1) << 20, int64_t(1) << 24}) {
    runtime::Tensor x = runtime::Tensor::zeros(kFloat, {n});
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 3);
    for (float& value : x.values<float>()) value = normal(random);
    std::vector<float> from(x.values<float>().begin(), x.values<float>().end()), to(from);
    auto a = chain_session.prepare({x}), b = fused.prepare({x}), c = own.prepare({x}), d = fused_2.prepare({x});
    graft::bench::Interleaved rounds({{"chain of 4 operators", [&] { a.once(); }},
                                      {"fused", [&] { b.once(); }},
                                      {"fused, two threads", [&] { d.once(); }},
                                      {"ORT's own HardSwish", [&] { c.once(); }},
                                      {"copy of the same bytes", [&] { std::memcpy(to.data(), from.data(), size_t(n) * 4); }}});
    rounds.run(n > (1 << 22) ? 8 : 4);
    fmt::print("\n{} floats\n", n);
    rounds.print();
    const auto copy = rounds.ratio(1, 4), threads = rounds.ratio(1, 2);
    fmt::print("  fused takes {:.2f}x of the copy's time (median {:.2f}x); two threads are {:.2f}x as fast as one (median {:.2f}x)\n",
               copy.best, copy.median, threads.best, threads.median);
  }

  fmt::print("\n16,777,216 elements of each type, one thread, against a copy of the same bytes\n");
  for (const auto& [name, type] : {std::pair{"float", kFloat}, {"float16", runtime::DataType::float16}, {"bfloat16", runtime::DataType::bfloat16}}) {
    auto session = load(one("HardSwish", "graft", type), 1);
    const runtime::Tensor x = runtime::Tensor::zeros(type, {int64_t(1) << 24});
    std::vector<std::byte> to(x.bytes.size());
    auto run = session.prepare({x});
    graft::bench::Interleaved rounds({{"copy", [&] { std::memcpy(to.data(), x.bytes.data(), to.size()); }}, {"fused", [&] { run.once(); }}});
    rounds.run(3);
    const auto r = rounds.ratio(1, 0);
    fmt::print("  {:<10} {:>8.1f} us fused, {:>8.1f} us copied: {:.2f}x best, {:.2f}x median ({:.2f} to {:.2f})\n", name, rounds.best(1),
               rounds.best(0), r.best, r.median, r.lower, r.upper);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_hard_swish LIBGRAFT_OPS [ORT library or folder]\n");
    return 2;
  }
  try {
    measure(argv[1], argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_hard_swish: {}\n", error.what());
    return 2;
  }
}
