#include "doctor/opset_choice.h"

#include <fmt/format.h>

#include <optional>

#include "doctor/patient.h"
#include "doctor/standard_nodes.h"
#include "graph/names.h"

namespace graft::doctor {
namespace {

/// Lists operators whose meaning changed while their spelling stayed valid, with the opset that changed it.
struct Change {
  std::string_view op;
  int64_t opset;
};
constexpr Change changes[] = {{"Softmax", 13},  {"LogSoftmax", 13},  {"Hardmax", 13},
                              {"RoiAlign", 16}, {"AveragePool", 19}, {"GroupNormalization", 21},
                              {"DFT", 20}};
constexpr int64_t first_of_today = 7;  ///< below, arithmetic broadcasts in another way

}  // namespace

std::string meaning_change(const graph::Index& index, int64_t from, int64_t to) {
  if (from < first_of_today) return fmt::format("operators mean other things below opset {}", first_of_today);
  for (graph::NodeId node = 0; node < index.node_count(); ++node) {
    if (!graph::is_default_domain(index.proto(node).domain())) continue;
    for (const Change& change : changes) {
      if (change.op == index.proto(node).op_type() && change.opset > from && change.opset <= to)
        return fmt::format("{} means something else from opset {} on", change.op, change.opset);
    }
  }
  return "";
}

OpsetChoice choose_opset(const Patient& patient) {
  OpsetChoice choice;
  std::optional<size_t> fewest;
  for (int64_t opset = patient.prober.newest_version(""); opset >= first_of_today; --opset) {
    const size_t refused = count_refused_nodes(patient, opset);
    if (!fewest || refused < *fewest) {
      fewest = refused;
      choice = {opset, opset};
    } else if (refused == *fewest && choice.oldest == opset + 1) {
      choice.oldest = opset;
    }
    if (*fewest == 0 && refused > 0) break;
  }
  return choice;
}

}  // namespace graft::doctor
