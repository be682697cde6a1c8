#pragma once
/// Lets the checks look at one model from one place, and speak of its parts in the same words.
///
///   void check_wiring(Patient& patient);
#include <filesystem>
#include <map>
#include <string>

#include "doctor/element_types.h"
#include "doctor/finding.h"
#include "doctor/libraries.h"
#include "doctor/probe.h"
#include "graph/index.h"
#include "graph/model.h"

namespace graft::doctor {

struct Patient {
  graph::Model& model;
  const graph::Index& index;
  const ElementTypes& types;
  const Libraries& libraries;
  const Prober& prober;
  const bool loads;  ///< ONNX Runtime loads it as it is: what is found can only be a warning
  Findings& findings;
  std::map<std::string, std::filesystem::path>&
      moved;  ///< where a file of weights really is, by the name in the model

  int64_t model_opset = 0;  ///< the model's own, or the one to give it where its import is of no use

  const onnx::ModelProto& proto() const { return model.proto; }

  /// Adds a finding; it is a warning when the model loads all the same.
  Finding& add(Cause cause, const std::string& subject) const {
    Finding& found = findings.add(cause, subject);
    if (loads) found.severity = Severity::warning;
    return found;
  }

  /// Gives the standard opset that decides over a node. ONNX Runtime looks at the model's for nodes in
  /// functions too.
  int64_t opset_of(graph::NodeId node) const;

  /// Writes `the Gate node "sb_3"` or `the Gate node that makes h`, and ` in the function blocks:Wrap`.
  std::string node_text(graph::NodeId node) const;

  /// Writes ` in the function blocks:Wrap`, nothing for the main graph.
  std::string scope_text(graph::ScopeId scope) const;

  /// Writes "my.ops:Gate".
  std::string op_text(graph::NodeId node) const;

  /// Writes a command that changes the model with Python's onnx: `statement` sees the model as `m`.
  std::string python(const std::string& statement) const;

  /// Writes the Python expression that finds a node, by what it makes.
  std::string python_node(graph::NodeId node) const;
};

void check_versions(Patient& patient);
void check_operators(Patient& patient);
void check_custom_nodes(Patient& patient);
void check_functions(Patient& patient);
void check_standard_nodes(Patient& patient);
void check_wiring(Patient& patient);
void check_order(Patient& patient);
void check_declarations(Patient& patient);
void check_tensors(Patient& patient);

}  // namespace graft::doctor
