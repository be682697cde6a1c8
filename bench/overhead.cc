// What a node costs beside its arithmetic: a chain of 500 nodes on 4 floats, y = x + 1, by ORT's own Add, by hand against
// ORT's C API, with ORT's lite header, and with Graft. One run, interleaved, one thread.
//
//   build/release/bench_overhead FOLDER_OF_LIBRARIES [ORT library or folder]
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "interleave.h"
#include "runtime/model_builder.h"
#include "runtime/session.h"

namespace {

using graft::runtime::DataType;

constexpr int kNodes = 500;

std::string chain(const std::string& op, const std::string& domain) {
  graft::testing::ModelBuilder model;
  if (!domain.empty()) model.import(domain, 1);
  model.input("x", DataType::float32, {int64_t(4)});
  model.output("y", DataType::float32, {int64_t(4)});
  if (domain.empty()) model.constant("one", graft::testing::number(1));
  std::string from = "x";
  for (int i = 0; i < kNodes; ++i) {
    const std::string to = i + 1 < kNodes ? "v" + std::to_string(i) : "y";
    if (domain.empty()) model.node(op, {from, "one"}, {to});
    else model.node(op, {from}, {to}, domain);
    from = to;
  }
  return model.bytes();
}

void measure(const std::filesystem::path& folder, const std::string& where) {
  const auto ort = graft::runtime::Runtime::load(graft::runtime::find_runtime(where));
  const auto load = [&](const std::string& op, const std::string& domain, const std::string& library) {
    graft::runtime::SessionOptions options{.threads = 1, .optimisation = graft::runtime::Optimisation::none};
    if (!library.empty()) options.libraries = {folder / library};
    return graft::runtime::Session::from_bytes(ort, chain(op, domain), options);
  };
  auto add = load("Add", "", ""), raw = load("AddOne", "bench.raw", "libbench_overhead_raw.so"),
       lite = load("AddOne", "bench.lite", "libbench_overhead_lite.so"), ours = load("AddOne", "bench", "libbench_ops.so");
  const auto x = graft::testing::floats({1, 2, 3, 4}, {4});
  auto a = add.prepare({x}), b = raw.prepare({x}), c = lite.prepare({x}), d = ours.prepare({x});
  graft::bench::Interleaved rounds({{"ORT's Add", [&] { a.once(); }},
                                    {"by hand, C API", [&] { b.once(); }},
                                    {"ORT's lite header", [&] { c.once(); }},
                                    {"Graft", [&] { d.once(); }}});
  rounds.run(5);
  fmt::print("ORT {}, a chain of {} nodes on 4 floats, nanoseconds a node\n", ort->version(), kNodes);
  for (size_t i = 0; i < 4; ++i) {
    const auto r = rounds.ratio(i, 0);
    fmt::print("  {:<20} {:>6.1f} best {:>6.1f} median   {:.2f}x of Add (median {:.2f}x, {:.2f} to {:.2f})\n", rounds.name(i),
               rounds.best(i) * 1000 / kNodes, rounds.median(i) * 1000 / kNodes, r.best, r.median, r.lower, r.upper);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_overhead FOLDER_OF_LIBRARIES [ORT library or folder]\n");
    return 2;
  }
  try {
    measure(argv[1], argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_overhead: {}\n", error.what());
    return 2;
  }
}
