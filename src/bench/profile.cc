#include "bench/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/statistics.h"
#include "error.h"
#include "runtime/tensor.h"

namespace graft::bench {
namespace {

using nlohmann::json;

constexpr std::string_view kernel_ending = "_kernel_time";

struct Event {
  std::string name;
  double start = 0, duration = 0;  // microseconds
  json arguments;

  double end() const { return start + duration; }
};

/// Adds up the bytes of `[{"float":[1,3]},{"int64":[]}]`; nothing when one of them is not told or has no
/// fixed size.
std::optional<uint64_t> bytes_of(const json& arguments, const char* key) {
  const auto tensors = arguments.find(key);
  if (tensors == arguments.end() || !tensors->is_array()) return std::nullopt;
  uint64_t bytes = 0;
  for (const json& tensor : *tensors) {
    if (!tensor.is_object() || tensor.size() != 1) return std::nullopt;
    const runtime::DataType type = runtime::type_from_name(tensor.begin().key());
    const json& sizes = tensor.begin().value();
    if (!sizes.is_array()) return std::nullopt;
    uint64_t elements = 1;
    for (const json& size : sizes) {
      if (!size.is_number_integer() || size.get<int64_t>() < 0) return std::nullopt;
      elements *= size.get<uint64_t>();
    }
    if (type == runtime::DataType::uint4 || type == runtime::DataType::int4) {
      bytes += (elements + 1) / 2;
    } else if (const size_t size = runtime::element_size(type)) {
      bytes += elements * size;
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

std::string text_of(const json& arguments, const char* key) {
  const auto found = arguments.find(key);
  return found != arguments.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Sorts a profile's events into whole runs and kernels, each by its start.
struct Events {
  std::vector<Event> runs, kernels;

  Events(std::string_view text, const std::string& who) {
    const json all = json::parse(text, nullptr, false);
    if (!all.is_array()) throw InputError(fmt::format("{}: is not a profile of ONNX Runtime", who));
    for (const json& each : all) {
      if (!each.is_object() || !each.contains("ts") || !each.contains("dur") || !each.contains("name"))
        continue;
      if (!each["ts"].is_number() || !each["dur"].is_number() || !each["name"].is_string()) continue;
      Event event{each["name"], each["ts"].get<double>(), each["dur"].get<double>(),
                  each.value("args", json::object())};
      if (event.name == "model_run") {
        runs.push_back(std::move(event));
      } else if (event.name.ends_with(kernel_ending) && event.arguments.is_object() &&
                 event.arguments.contains("op_name")) {
        event.name.resize(event.name.size() - kernel_ending.size());
        kernels.push_back(std::move(event));
      }
    }
    // Of two that start together, the longer one holds the other.
    const auto earlier = [](const Event& one, const Event& other) {
      return one.start != other.start ? one.start < other.start : one.duration > other.duration;
    };
    std::stable_sort(runs.begin(), runs.end(), earlier);
    std::stable_sort(kernels.begin(), kernels.end(), earlier);
  }
};

/// Holds the kernels of one run, and the microseconds of each without those inside of it.
struct Run {
  std::vector<const Event*> kernels;
  std::vector<double> own;
  std::vector<bool> holds_others;

  void add(const Event& event) {
    while (!open_.empty() && kernels[open_.back()]->end() <= event.start) open_.pop_back();
    // Durations are cut off: a node that seems to begin in the last microsecond of another is its successor.
    if (!open_.empty() && is_control_flow(*kernels[open_.back()])) {
      own[open_.back()] = std::max(0.0, own[open_.back()] - event.duration);
      holds_others[open_.back()] = true;
    }
    open_.push_back(kernels.size());
    kernels.push_back(&event);
    own.push_back(event.duration + 0.5);
    holds_others.push_back(false);
  }

  bool same_nodes(const Run& other) const {
    return std::equal(kernels.begin(), kernels.end(), other.kernels.begin(), other.kernels.end(),
                      [](const Event* one, const Event* two) { return one->name == two->name; });
  }

 private:
  static bool is_control_flow(const Event& event) {
    const std::string op = text_of(event.arguments, "op_name");
    return op == "If" || op == "Loop" || op == "Scan" || op == "SequenceMap";
  }

  std::vector<size_t> open_;
};

std::vector<Run> split_into_runs(const Events& events, size_t warm_up) {
  std::vector<Run> runs;
  auto next = events.kernels.begin();
  for (size_t i = 0; i < events.runs.size(); ++i) {
    const Event& whole = events.runs[i];
    Run run;
    for (; next != events.kernels.end() && next->start <= whole.end(); ++next) {
      if (next->start >= whole.start) run.add(*next);
    }
    if (i >= warm_up) runs.push_back(std::move(run));
  }
  return runs;
}

NodeUse node_of(const Run& run, size_t place) {
  const Event& event = *run.kernels[place];
  NodeUse node;
  node.name = event.name;
  node.op = text_of(event.arguments, "op_name");
  node.provider = text_of(event.arguments, "provider");
  if (moves_nothing(node.op) || run.holds_others[place]) {
    node.bytes_in = node.bytes_out = 0;
  } else {
    node.bytes_in = bytes_of(event.arguments, "input_type_shape");
    node.bytes_out = bytes_of(event.arguments, "output_type_shape");
  }
  return node;
}

/// Gathers nodes by operator type, with the time that each type takes in each run.
std::vector<OperatorUse> gather(const std::vector<NodeUse>& nodes, const std::vector<Run>& runs) {
  std::map<std::string, OperatorUse> by_type;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeUse& node = nodes[i];
    OperatorUse& use = by_type[node.op];
    use.op = node.op;
    use.nodes.push_back(i);
    if (std::find(use.providers.begin(), use.providers.end(), node.provider) == use.providers.end())
      use.providers.push_back(node.provider);
    if (node.bytes()) {
      use.bytes_in += *node.bytes_in;
      use.bytes_out += *node.bytes_out;
    } else {
      ++use.without_bytes;
    }
    use.milliseconds.resize(runs.size());
    for (size_t run = 0; run < runs.size(); ++run) use.milliseconds[run] += runs[run].own[i] / 1000;
  }
  std::vector<OperatorUse> operators;
  for (auto& [op, use] : by_type) operators.push_back(std::move(use));
  std::stable_sort(operators.begin(), operators.end(), [](const OperatorUse& one, const OperatorUse& other) {
    return figures_of(one.milliseconds).median > figures_of(other.milliseconds).median;
  });
  return operators;
}

}  // namespace

bool moves_nothing(std::string_view op) {
  constexpr std::string_view views[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Shape", "Size"};
  return std::find(std::begin(views), std::end(views), op) != std::end(views);
}

Profile read_profile(std::string_view json, const std::string& who, size_t warm_up) {
  const Events events(json, who);
  std::vector<Run> runs = split_into_runs(events, warm_up);
  if (runs.empty()) throw InputError(fmt::format("{}: the profile holds no whole run", who));
  Profile profile;
  for (size_t i = warm_up; i < events.runs.size(); ++i)
    profile.run_milliseconds.push_back(events.runs[i].duration / 1000);
  for (const Run& run : runs) {
    if (!run.same_nodes(runs.front()))
      throw InputError(fmt::format("{}: ran other nodes in each run; its profile cannot be added up", who));
  }
  for (size_t i = 0; i < runs.front().kernels.size(); ++i) {
    NodeUse node = node_of(runs.front(), i);
    std::vector<double> times;
    for (const Run& run : runs) times.push_back(run.own[i] / 1000);
    node.milliseconds = figures_of(std::move(times)).median;
    profile.nodes.push_back(std::move(node));
  }
  profile.operators = gather(profile.nodes, runs);
  return profile;
}

}  // namespace graft::bench
