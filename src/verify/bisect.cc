#include "verify/bisect.h"

#include <fmt/format.h>

#include <vector>

#include "graph/index.h"
#include "graph/model.h"
#include "graph/sort.h"

namespace graft::verify {
namespace {

using graph::NodeId;
using graph::ValueId;

/// Holds a model of which one value at a time is made the only output.
class Cut {
 public:
  explicit Cut(const std::filesystem::path& file)
      : model_(graph::read_model(file)),
        index_(model_.proto),
        staged_(model_, file.parent_path() / (file.filename().string() + ".bisect")) {}

  const graph::Index& index() const { return index_; }

  /// Gives a value's node, `none` when the main graph has no such value or it is no node's.
  NodeId maker(std::string_view name) const {
    const auto& names = index_.scope(0).names;
    const auto found = names.find(name);
    return found == names.end() ? graph::none : index_.value(found->second).producer;
  }

  std::string describe(NodeId node) const {
    const onnx::NodeProto& proto = index_.proto(node);
    return proto.name().empty() ? proto.op_type() : fmt::format("{} `{}`", proto.op_type(), proto.name());
  }

  const std::filesystem::path& write(const std::string& value) {
    onnx::ModelProto cut = model_.proto;
    onnx::GraphProto& graph = *cut.mutable_graph();
    graph.clear_output();
    graph.add_output()->set_name(value);  // ORT finds the type by itself
    staged_.write(cut);
    return staged_.file();
  }

 private:
  graph::Model model_;
  graph::Index index_;
  graph::StagedModel staged_;
};

/// Lists what both models make under one name, in the order of the candidate.
std::vector<std::string> common_values(const Cut& reference, const Cut& candidate) {
  std::vector<std::string> values;
  const graph::Index& index = candidate.index();
  for (const NodeId node : graph::topological_order(index, 0)) {
    if (index.proto(node).op_type() == "Constant") continue;
    for (const ValueId output : index.outputs(node)) {
      if (output == graph::none) continue;
      const std::string name(index.value(output).name);
      const NodeId other = reference.maker(name);
      if (other != graph::none && reference.index().proto(other).op_type() != "Constant")
        values.push_back(name);
    }
  }
  return values;
}

}  // namespace

std::optional<Culprit> bisect(std::shared_ptr<runtime::Runtime> runtime,
                              const std::filesystem::path& reference, const std::filesystem::path& candidate,
                              const JudgeOptions& options, const InputPlan& plan,
                              const std::function<void(const std::string&)>& say) {
  Cut first(reference), second(candidate);
  const std::vector<std::string> values = common_values(first, second);
  JudgeOptions each = options;
  each.plan = plan;
  each.plan.values = options.plan.values;
  // A value that cannot be an output by itself (a sequence, an optional) is taken for its neighbour.
  const auto drift = [&](size_t at) -> std::string {
    try {
      return judge(runtime, first.write(values[at]), second.write(values[at]), each).reason;
    } catch (const InputError&) {
      return "";
    }
  };
  size_t good = 0,
         bad = values.size();  // values before `good` are the same; that at `bad` is not, if there is one
  std::string reason;
  while (good < bad) {
    say(fmt::format("looking for the first node that differs, {} left", bad - good));
    const size_t middle = good + (bad - good) / 2;
    const std::string found = drift(middle);
    if (found.empty()) {
      good = middle + 1;
    } else {
      bad = middle;
      reason = found;
    }
  }
  if (reason.empty()) return {};
  return Culprit{values[bad], first.describe(first.maker(values[bad])),
                 second.describe(second.maker(values[bad])), reason};
}

}  // namespace graft::verify
