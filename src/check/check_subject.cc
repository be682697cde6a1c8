#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "check/difference.h"
#include "check/judge.h"
#include "check/reference.h"
#include "check/trial.h"

namespace graft::check {
using runtime::DataType;
using runtime::Session;
using runtime::Tensor;

namespace {

/// Is a case with what the definition gives.
struct Judged {
  const Taken* taken;
  std::vector<Truth> truth;
};

/// Runs one case; nothing when the operator declines it.
std::optional<Taken> run_case(Trial& trial, const Case& one, std::string& refusal) {
  trial.say(fmt::format("run on {} ({})", shapes_text(trial.subject, one), to_string(one.values)));
  const std::vector<Tensor> inputs = fed(trial.subject, one, false);
  try {
    Session session = trial.open(one, {});
    std::vector<Tensor> given = inputs;
    Taken taken{one, session.run(given)};
    ++trial.report.cases;
    if (const auto changed = first_difference(inputs, given))
      trial.add(codes::in_place, "it changes an input that is the caller's", one, changed->expected,
                changed->got, changed->place);
    if (const auto again = first_difference(taken.outputs, session.run(inputs)))
      trial.add(codes::not_deterministic, "a second run gives something else", one, again->expected,
                again->got, again->place);
    check_shapes(trial, session, one, taken.outputs, Sizes::declared);
    return taken;
  } catch (const InputError& error) {
    ++trial.report.refused;
    refusal = error.what();
    return {};
  }
}

/// Infers shapes from sizes that have only names, once for each set of ranks.
void check_named_sizes(Trial& trial, const std::vector<Taken>& taken) {
  std::set<std::vector<size_t>> seen;
  for (const Taken& one : taken) {
    std::vector<size_t> ranks;
    for (const Tensor& tensor : one.one.inputs)
      ranks.push_back(tensor.type == DataType::undefined ? SIZE_MAX : tensor.shape.size());
    if (!seen.insert(ranks).second || !trial.has_time()) continue;
    trial.say(
        fmt::format("make sessions with named and open sizes for {}", shapes_text(trial.subject, one.one)));
    for (const Sizes sizes : {Sizes::named, Sizes::open}) {
      try {
        Session session = trial.open(one.one, {.sizes = sizes});
        check_shapes(trial, session, one.one, one.outputs, sizes);
        if (const auto difference =
                first_difference(one.outputs, session.run(fed(trial.subject, one.one, false))))
          trial.add(codes::not_deterministic, "it gives something else where the model leaves sizes open",
                    one.one, difference->expected, difference->got, difference->place);
      } catch (const InputError& error) {
        trial.add(codes::shape_function,
                  sizes == Sizes::named ? "a model whose sizes have only names is refused"
                                        : "a model that leaves the number of dimensions open is refused",
                  one.one, "a session", error.what());
      }
    }
  }
}

/// Compares everything that was run with the definition, once the chain's own errors are known.
void judge_all(Trial& trial, const std::vector<Judged>& all, const std::string& attributes) {
  std::vector<ErrorTable> errors(outputs_of(trial.subject).size());
  for (const Judged& judged : all) {
    for (size_t i = 0; i < judged.truth.size(); ++i) errors[i].learn(judged.truth[i]);
  }
  for (const Judged& judged : all) {
    ++trial.report.compared;
    for (size_t i = 0; i < judged.truth.size(); ++i) {
      const Tensor& like = judged.truth[i].chain ? *judged.truth[i].chain : *judged.truth[i].exact;
      const Tensor& got = judged.taken->outputs[i];
      if (like.shape != got.shape) {
        trial.add(codes::shape_function,
                  fmt::format("output {}: another shape than that of its definition", i), judged.taken->one,
                  runtime::to_string(like.shape), runtime::to_string(got.shape));
      } else {
        judge(trial.subject, judged.taken->one, attributes, i, got, judged.truth[i], errors[i], trial.report);
      }
    }
  }
}

/// Runs one case in a model of the newest opset.
void check_newest_opset(Trial& trial, const std::vector<Taken>& taken) {
  if (trial.newest_opset <= trial.usual_opset() || taken.empty() || !trial.has_time()) return;
  const Taken& one = taken.front();
  trial.say(fmt::format("run in a model of opset {}", trial.newest_opset));
  try {
    Session session = trial.open(one.one, {.opset = trial.newest_opset});
    if (const auto difference =
            first_difference(one.outputs, session.run(fed(trial.subject, one.one, false))))
      trial.add(codes::not_deterministic,
                fmt::format("it gives something else in a model of opset {}", trial.newest_opset), one.one,
                difference->expected, difference->got, difference->place);
  } catch (const InputError& error) {
    trial.add(codes::refused, fmt::format("it does not run in a model of opset {}", trial.newest_opset),
              one.one, "a result", error.what());
  }
  Reference reference(trial.runtime, trial.folder, trial.subject, trial.attributes, trial.newest_opset);
  std::vector<Judged> all;
  for (const Taken& each : taken) {
    if (each.one.values != Values::wide && &each != &one) continue;
    if (auto truth = reference.run(each.one)) all.push_back({&each, std::move(*truth)});
  }
  judge_all(trial, all, trial.attributes.text);
}

}  // namespace

void check_entry(Trial& trial, const PlainEntries& entries, const Taken& taken) {
  if (!entries.has(trial.subject)) return;
  trial.say(fmt::format("call the plain C entry on {}", shapes_text(trial.subject, taken.one)));
  std::optional<BitDifference> differences[2];
  for (const bool threaded : {false, true}) {
    try {
      differences[threaded] =
          first_difference(taken.outputs, entries.call(trial.subject, taken.one, trial.attributes,
                                                       threaded ? std::max(trial.most_threads, 2) : 1));
    } catch (const EntryError& error) {
      differences[threaded] = BitDifference{"", "a result", error.what()};
    }
  }
  // Without a pool there is one block, with one there are as many as in ORT: a tensor operator may add in
  // either order.
  const bool same =
      trial.subject.elementwise() ? !differences[0] && !differences[1] : !differences[0] || !differences[1];
  if (same) return;
  const bool threaded = !differences[0];
  const BitDifference& difference = *differences[threaded];
  trial.add(codes::entry_differs,
            fmt::format("the plain C entry, on {}, differs from the run in ORT",
                        threaded ? "several threads" : "one thread"),
            taken.one, difference.expected, difference.got, difference.place);
}

void check_subject(Trial& trial) {
  Report& report = trial.report;
  const Subject& subject = trial.subject;
  const PlainEntries entries(trial.library);
  if (!entries.has(subject)) report.note("the library has no plain C entry for it: only run in ORT");
  Reference reference(trial.runtime, trial.folder, subject, trial.attributes, trial.usual_opset());
  std::vector<Taken> taken;
  std::vector<Case> declined;
  std::string refusal;
  taken.reserve(trial.cases.size());
  std::vector<Judged> judged;
  for (const Case& one : trial.cases) {
    if (!trial.has_time()) break;
    auto run = run_case(trial, one, refusal);
    if (!run) {
      declined.push_back(one);
      continue;
    }
    taken.push_back(std::move(*run));
    if (!trial.report.has(codes::not_deterministic)) check_entry(trial, entries, taken.back());
    if (auto truth = reference.run(one)) judged.push_back({&taken.back(), std::move(*truth)});
  }
  std::set<std::string> shapes;
  for (const Taken& one : taken) shapes.insert(shapes_text(subject, one.one));
  report.shapes = static_cast<int64_t>(shapes.size());
  judge_all(trial, judged, trial.attributes.text);
  if (taken.empty() && !report.cut_short)
    report.note(fmt::format(
        "it took none of the shapes that were tried; name one with --shape. It said last: {}", refusal));
  if (judged.empty() && !taken.empty())
    report.note(fmt::format("not compared with a definition: {}",
                            reference.why_not().empty()
                                ? "it does not take the shapes that the operator takes"
                                : reference.why_not()));
  for (const Case& one : declined) {
    if (!subject.elementwise()) break;
    // The other inputs of an elementwise operator broadcast: what its definition takes it must take.
    if (reference.run(one))
      trial.add(codes::refused, "it declines shapes that its definition takes", one, "a result", refusal);
  }
  if (taken.empty()) return;
  check_named_sizes(trial, taken);
  check_newest_opset(trial, taken);
  check_attributes(trial, taken);
  if (!report.has(codes::not_deterministic)) check_in_place(trial, taken);
  check_repeats(trial, entries, taken);
}

}  // namespace graft::check
