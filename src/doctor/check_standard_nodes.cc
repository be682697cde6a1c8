/// Nodes of ONNX's and the runtime's own operators: each kind is loaded alone, with the element types that it
/// gets, and the runtime says whether it can run it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

#include "graph/nearest.h"
#include "doctor/patient.h"
#include "doctor/standard_nodes.h"
#include "graph/names.h"

namespace graft::doctor {
namespace {

using graph::NodeId;
using graph::none;
using graph::ValueId;
using runtime::DataType;

constexpr size_t most_bytes = 4096;  ///< larger constants are replaced by inputs of their type

bool has_subgraph(const onnx::NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g() || attribute.graphs_size()) return true;
  }
  return false;
}

bool refers(const onnx::NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    if (!attribute.ref_attr_name().empty()) return true;
  }
  return false;
}

class StandardNodes {
 public:
  explicit StandardNodes(const Patient& patient) : patient_(patient), index_(patient.index) {}

  void check() {
    collect([&](NodeId node) { return patient_.opset_of(node); });
    const std::vector<Attempt> attempts = patient_.prober.load(models_, false);
    for (const auto& [node, kind] : probed_) {
      if (!attempts[kind].loaded && !attempts[kind].died) say(node, attempts[kind].text);
    }
  }

  size_t count_refused(int64_t opset) {
    collect([&](NodeId) { return opset; });
    const std::vector<Attempt> attempts = patient_.prober.load(models_, false);
    return static_cast<size_t>(std::count_if(attempts.begin(), attempts.end(),
                                             [](const Attempt& attempt) { return !attempt.loaded; }));
  }

 private:
  /// Makes a model for each kind of node, at the opset that is given for it.
  template <class OpsetOf> void collect(OpsetOf opset_of) {
    std::map<std::string, size_t> kinds;
    for (NodeId node = 0; node < index_.node_count(); ++node) {
      const onnx::NodeProto& proto = index_.proto(node);
      if (has_subgraph(proto) || refers(proto) || proto.op_type() == "Constant") continue;
      if (index_.function(proto.domain(), proto.op_type(), proto.overload()) != none) continue;
      const bool standard = graph::is_default_domain(proto.domain());
      if (!standard && !proto.domain().starts_with("com.microsoft") && !proto.domain().starts_with("ai.onnx"))
        continue;
      onnx::ModelProto model = alone(node, opset_of(node));
      const auto [place, added] = kinds.emplace(model.SerializePartialAsString(), models_.size());
      if (added) models_.push_back(std::move(model));
      probed_.emplace_back(node, place->second);
    }
  }

  /// Makes a model of one node. Values are called by their places, so that nodes of one kind give equal
  /// models.
  onnx::ModelProto alone(NodeId node, int64_t opset) const {
    const onnx::NodeProto& proto = index_.proto(node);
    onnx::ModelProto model;
    model.set_ir_version(std::min<int64_t>(10, patient_.prober.newest_ir_version()));
    add_import(model, "", opset);
    if (!graph::is_default_domain(proto.domain()))
      add_import(
          model, proto.domain(),
          std::max<int64_t>(1, graph::imported_version(patient_.proto().opset_import(), proto.domain())));
    auto& graph = *model.mutable_graph();
    graph.set_name("one node");
    auto& made = *graph.add_node();
    made = proto;
    made.clear_name();
    made.clear_doc_string();
    made.clear_metadata_props();
    std::map<std::string, std::string> names;
    for (int slot = 0; slot < made.input_size(); ++slot) {
      if (made.input(slot).empty()) continue;
      const auto [place, added] = names.emplace(made.input(slot), fmt::format("x{}", slot));
      made.set_input(slot, place->second);
      if (added) add_value(graph, index_.input(node, slot), place->second);
    }
    for (int slot = 0; slot < made.output_size(); ++slot) {
      if (made.output(slot).empty()) continue;
      made.set_output(slot, fmt::format("y{}", slot));
      graph.add_output()->set_name(made.output(slot));
    }
    return model;
  }

  void add_value(onnx::GraphProto& graph, ValueId id, const std::string& name) const {
    const graph::Value& value = index_.value(id);
    if (value.initializer && value.initializer->ByteSizeLong() <= most_bytes &&
        value.initializer->data_location() != onnx::TensorProto::EXTERNAL) {
      auto& tensor = *graph.add_initializer();
      tensor = *value.initializer;
      tensor.set_name(name);
      return;
    }
    auto& input = *graph.add_input();
    input.set_name(name);
    const DataType type = patient_.types.of(id);
    input.mutable_type()->mutable_tensor_type()->set_elem_type(
        static_cast<int32_t>(type == DataType::undefined ? DataType::float32 : type));
  }

  bool types_known(NodeId node) const {
    for (const ValueId input : index_.inputs(node)) {
      if (input != none && patient_.types.of(input) == DataType::undefined) return false;
    }
    return true;
  }

  std::string types_text(NodeId node) const {
    std::vector<std::string> all;
    for (const ValueId input : index_.inputs(node)) {
      if (input != none)
        all.push_back(fmt::format("{} is {}", index_.value(input).name, type_name(patient_.types.of(input))));
    }
    return fmt::format("{}", fmt::join(all, ", "));
  }

  void say(NodeId node, const std::string& text) {
    const auto holds = [&](const char* words) { return text.find(words) != std::string::npos; };
    std::smatch match;
    if (holds("Could not find an implementation") || holds("Failed to find kernel") ||
        holds("of input parameter")) {
      if (types_known(node)) say_no_kernel(node);
    } else if (holds("bound to different types")) {
      if (types_known(node)) say_disagree(node);
    } else if (holds("input size")) {
      say_count(node, Cause::input_count, "inputs", index_.proto(node).input_size(), text);
    } else if (holds("output size")) {
      say_count(node, Cause::output_count, "outputs", index_.proto(node).output_size(), text);
    } else if (static const std::regex missing("Required attribute '(\\w+)' is missing");
               std::regex_search(text, match, missing)) {
      Finding& found = patient_.add(Cause::attribute_missing, patient_.op_text(node) + "." + match[1].str());
      found.evidence.push_back(fmt::format("{} has no attribute {}, which {} requires",
                                           patient_.node_text(node), match[1].str(), patient_.op_text(node)));
      found.cure.push_back(
          "give it, with your value: " +
          patient_.python(fmt::format("{}.attribute.append(helper.make_attribute('{}', VALUE))",
                                      patient_.python_node(node), match[1].str())));
    } else if (static const std::regex unknown("Unrecognized attribute: (\\w+)");
               std::regex_search(text, match, unknown)) {
      Finding& found = patient_.add(Cause::attribute_unknown, patient_.op_text(node) + "." + match[1].str());
      found.evidence.push_back(
          fmt::format("{} has the attribute {}, which {} does not have at the imported opset",
                      patient_.node_text(node), match[1].str(), patient_.op_text(node)));
      found.cure.push_back("correct its name, or take it out: " +
                           patient_.python(fmt::format(
                               "n = {}; n.attribute.remove(next(a for a in n.attribute if a.name == '{}'))",
                               patient_.python_node(node), match[1].str())));
    } else if (static const std::regex type(
                   "Mismatched attribute type in '[^']*?(\\w+)'. Expected: '(\\w+)', actual: '(\\w+)'");
               std::regex_search(text, match, type)) {
      say_attribute_type(node, match[1], match[2], match[3]);
    }
  }

  void say_no_kernel(NodeId node) {
    Finding& found = patient_.add(Cause::no_kernel_for_dtype, patient_.op_text(node));
    found.evidence.push_back(fmt::format("{}: {}; ONNX Runtime {} has no kernel for it on the CPU",
                                         patient_.node_text(node), types_text(node),
                                         patient_.prober.runtime().version()));
    if (!found.cure.empty()) return;
    const ValueId first = index_.input(node, 0);
    found.cure.push_back(fmt::format("cast around it: {} to float before it, and its result back behind it",
                                     first == none ? "its input" : std::string(index_.value(first).name)));
    found.cure.push_back("or use a provider that has the type, such as CUDAExecutionProvider");
  }

  void say_disagree(NodeId node) {
    Finding& found = patient_.add(Cause::types_disagree, patient_.op_text(node));
    found.evidence.push_back(fmt::format("{}: {}", patient_.node_text(node), types_text(node)));
    if (found.cure.empty()) found.cure.push_back("cast one of them to the type of the other");
  }

  void say_count(NodeId node, Cause cause, const char* what, int given, const std::string& text) {
    static const std::regex range("size (\\d+) not in range \\[min=(\\d+), max=(\\d+)\\]");
    std::smatch match;
    if (!std::regex_search(text, match, range)) return;
    Finding& found = patient_.add(cause, patient_.op_text(node));
    const std::string least = match[2], most = match[3];
    found.evidence.push_back(fmt::format("{} has {} {}; {} takes {}", patient_.node_text(node), given, what,
                                         patient_.op_text(node),
                                         least == most          ? least
                                         : most == "2147483647" ? least + " or more"
                                                                : least + " to " + most));
    if (found.cure.empty()) {
      found.cure.push_back(given < std::stoll(least)
                               ? fmt::format("connect the {} that are missing", what)
                               : fmt::format("take out the {} that are too many", what));
    }
  }

  void say_attribute_type(NodeId node, const std::string& name, const std::string& wanted,
                          const std::string& given) {
    Finding& found = patient_.add(Cause::attribute_type, patient_.op_text(node) + "." + name);
    found.evidence.push_back(fmt::format("{}: its attribute {} is {}; {} wants {}", patient_.node_text(node),
                                         name, given, patient_.op_text(node), wanted));
    for (auto& attribute : *index_.node(node).proto->mutable_attribute()) {
      if (attribute.name() != name || wanted != "FLOAT" || attribute.type() != onnx::AttributeProto::INT)
        continue;
      found.repairs.push_back({fmt::format("write the attribute {} of {} as float, with the same value", name,
                                           patient_.node_text(node)),
                               [&attribute] {
                                 attribute.set_f(static_cast<float>(attribute.i()));
                                 attribute.clear_i();
                                 attribute.set_type(onnx::AttributeProto::FLOAT);
                               }});
      return;
    }
    found.beyond_repair = true;
    found.cure.push_back(fmt::format(
        "write it as {}: {}", wanted,
        patient_.python(fmt::format("n = {0}; a = next(a for a in n.attribute if a.name == '{1}'); "
                                    "a.CopyFrom(helper.make_attribute('{1}', VALUE))",
                                    patient_.python_node(node), name))));
  }

  const Patient& patient_;
  const graph::Index& index_;
  std::vector<onnx::ModelProto> models_;
  std::vector<std::pair<NodeId, size_t>> probed_;  ///< a node, and its kind's place in models_
};

}  // namespace

size_t count_refused_nodes(const Patient& patient, int64_t opset) {
  return StandardNodes(patient).count_refused(opset);
}

void check_standard_nodes(Patient& patient) {
  if (!patient.loads) StandardNodes(patient).check();
}

}  // namespace graft::doctor
