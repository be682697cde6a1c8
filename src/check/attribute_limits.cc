#include <fmt/format.h>

#include <optional>

#include "check/judge.h"
#include "check/reference.h"
#include "check/trial.h"

namespace graft::check {
using runtime::Session;
using runtime::Tensor;

namespace {

/// Chooses a few of the cases: a small one, edge values, and the last of normal values that is not large.
std::vector<const Taken*> some_of(const std::vector<Taken>& taken) {
  const Taken *normal = nullptr, *edge = nullptr, *wide = nullptr;
  for (const Taken& one : taken) {
    const size_t count = one.one.inputs.empty() ? 0 : one.one.inputs[0].count();
    if (one.one.values == Values::normal && count > 0 && count < 5000 &&
        (!normal || count > normal->one.inputs[0].count()))
      normal = &one;
    if (one.one.values == Values::wide) wide = &one;
    if (one.one.values == Values::edge) edge = &one;
  }
  std::vector<const Taken*> chosen;
  for (const Taken* one : {normal, wide, edge}) {
    if (one) chosen.push_back(one);
  }
  return chosen;
}

/// Compares with the definition under other attributes. `certain`: the operator must take them.
void compare_with(Trial& trial, const Variation& variation, const std::vector<const Taken*>& cases) {
  trial.say(fmt::format("run with {}", variation.attributes.text));
  Reference reference(trial.runtime, trial.folder, trial.subject, variation.attributes, trial.usual_opset());
  struct Pair {
    const Taken* taken;
    std::vector<Tensor> outputs;
    std::vector<Truth> truth;
  };
  std::vector<Pair> pairs;
  std::vector<ErrorTable> errors(outputs_of(trial.subject).size());
  for (const Taken* taken : cases) {
    std::vector<Tensor> outputs;
    try {
      outputs = trial.open(taken->one, variation.attributes, {}).run(fed(trial.subject, taken->one, false));
    } catch (const InputError& error) {
      if (variation.certain && taken == cases.front())
        trial.report.add({codes::attribute,
                          "attributes within their limits are refused",
                          shapes_text(trial.subject, taken->one),
                          {},
                          "a result",
                          error.what(),
                          variation.attributes.text});
      continue;
    }
    ++trial.report.cases;
    auto truth = reference.run(taken->one);
    if (!truth) continue;
    for (size_t i = 0; i < truth->size(); ++i) errors[i].learn((*truth)[i]);
    pairs.push_back({taken, std::move(outputs), std::move(*truth)});
  }
  for (const Pair& pair : pairs) {
    ++trial.report.compared;
    for (size_t i = 0; i < pair.truth.size(); ++i) {
      const Tensor& like = pair.truth[i].chain ? *pair.truth[i].chain : *pair.truth[i].exact;
      if (like.shape == pair.outputs[i].shape) {
        judge(trial.subject, pair.taken->one, variation.attributes.text, i, pair.outputs[i], pair.truth[i],
              errors[i], trial.report);
      } else {
        trial.report.add({codes::shape_function,
                          fmt::format("output {}: another shape than that of its definition", i),
                          shapes_text(trial.subject, pair.taken->one),
                          {},
                          runtime::to_string(like.shape),
                          runtime::to_string(pair.outputs[i].shape),
                          variation.attributes.text});
      }
    }
  }
}

}  // namespace

void check_attributes(Trial& trial, const std::vector<Taken>& taken) {
  const std::vector<const Taken*> cases = some_of(taken);
  if (cases.empty()) return;
  for (const Variation& variation : varied_attributes(trial.subject, trial.attributes)) {
    if (!trial.has_time()) return;
    compare_with(trial, variation, cases);
  }
  const Case& one = cases.front()->one;
  for (const Refusal& refusal : refused_attributes(trial.subject, trial.attributes)) {
    if (!trial.has_time()) return;
    trial.say(fmt::format("make a session although {}", refusal.what));
    std::optional<Session> session;
    try {
      session.emplace(trial.open(one, refusal.attributes, {}));
    } catch (const InputError&) {
      continue;
    }
    trial.report.add({codes::attribute,
                      refusal.what,
                      shapes_text(trial.subject, one),
                      {},
                      "an error when the session is made",
                      "a session",
                      refusal.attributes.text});
  }
}

}  // namespace graft::check
