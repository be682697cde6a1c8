#include <fmt/format.h>

#include <algorithm>

#include "check/difference.h"
#include "check/trial.h"

namespace graft::check {
using runtime::Session;
using runtime::Tensor;

void check_in_place(Trial& trial, const std::vector<Taken>& taken) {
  // One case of each rank is enough: which memory ORT reuses follows from the model and the sizes.
  const auto is_stored_only = [](runtime::DataType type) { return type >= runtime::DataType::float8e4m3fn; };
  if (std::any_of(trial.subject.inputs.begin(), trial.subject.inputs.end(), is_stored_only)) {
    trial.report.note(
        "not run where its inputs come from nodes, in whose memory it may write: ORT has no node that copies "
        "8-bit floats and 4-bit integers");
    return;
  }
  std::vector<size_t> ranks;
  for (const Taken& one : taken) {
    if (one.one.inputs.empty() || one.one.inputs[0].type == runtime::DataType::undefined) continue;
    const size_t rank = one.one.inputs[0].shape.size();
    if (one.one.inputs[0].count() < 2 || std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) continue;
    ranks.push_back(rank);
    const std::vector<Tensor> inputs = fed(trial.subject, one.one, false);
    for (const Source source : {Source::nodes, Source::kept}) {
      if (!trial.has_time()) return;
      const bool kept = source == Source::kept;
      trial.say(fmt::format("run where ORT may give the input's memory to the output, on {}",
                            shapes_text(trial.subject, one.one)));
      std::vector<Tensor> expected = one.outputs;
      if (kept) expected.insert(expected.end(), inputs.begin(), inputs.end());
      try {
        Session session = trial.open(one.one, {.source = source});
        const auto difference = first_difference(expected, session.run(fed(trial.subject, one.one, false)));
        if (!difference) continue;
        trial.add(codes::in_place,
                  kept ? "its inputs are read again behind it: it changes one, or gives something else"
                       : "its inputs are values that nothing else reads: it gives something else",
                  one.one, difference->expected, difference->got, difference->place);
      } catch (const InputError& error) {
        trial.add(codes::in_place, "it fails where its inputs come from nodes", one.one,
                  "what it gives alone", error.what());
      }
    }
  }
}

}  // namespace graft::check
