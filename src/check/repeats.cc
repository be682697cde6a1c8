#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "check/difference.h"
#include "check/trial.h"

namespace graft::check {
using runtime::Session;
using runtime::Tensor;

namespace {

/// Is how many threads call one session at once, and how many sessions run at once.
constexpr int callers = 10;
/// Is how often each of them runs at least, and for how long: until then the machine's other work has let
/// them meet. What an elementwise operator is split into is not its own work; a tensor operator that splits
/// its own gets more.
constexpr int least_rounds = 6;
constexpr std::chrono::milliseconds least_time{40}, least_time_of_tensors{150};
/// Is how often a session is made and registers the library anew.
constexpr int registrations = 12;

/// Counts the rounds of one caller, until there were enough of them and they took long enough.
class Rounds {
 public:
  explicit Rounds(const Subject& subject)
      : time_(subject.elementwise() ? least_time : least_time_of_tensors) {}
  bool go_on(int round) const {
    return round < least_rounds || std::chrono::steady_clock::now() - start_ < time_;
  }

 private:
  std::chrono::milliseconds time_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Chooses the accepted case with the most elements, which gives threads the longest time to meet.
const Taken* largest_of(const std::vector<Taken>& taken) {
  const auto size = [](const Taken& one) {
    size_t elements = 0;
    for (const Tensor& tensor : one.one.inputs)
      elements += tensor.type == runtime::DataType::undefined ? 0 : tensor.count();
    return elements;
  };
  const auto largest = std::max_element(taken.begin(), taken.end(),
                                        [&](const Taken& a, const Taken& b) { return size(a) < size(b); });
  return largest == taken.end() ? nullptr : &*largest;
}

/// Runs again and again with more threads within the operator.
void repeat_with_threads(Trial& trial, const Taken& taken) {
  for (const int threads : {1, 2, trial.most_threads}) {
    if (threads > trial.most_threads || !trial.has_time()) return;
    const std::string with = threads == 1 ? "one thread" : fmt::format("{} threads", threads);
    trial.say(fmt::format("run again and again with {} on {}", with, shapes_text(trial.subject, taken.one)));
    Session session = trial.open(taken.one, {}, threads);
    std::vector<Tensor> first;
    const Rounds rounds(trial.subject);
    for (int round = 0; rounds.go_on(round); ++round) {
      std::vector<Tensor> outputs = session.run(fed(trial.subject, taken.one, false));
      if (round == 0) first = outputs;
      const auto again = first_difference(first, outputs);
      if (again) {
        return trial.add(
            threads == 1 ? codes::not_deterministic : codes::race,
            fmt::format("run {} of one session with {} gave something else than the first", round + 1, with),
            taken.one, again->expected, again->got, again->place);
      }
      const auto from_one = first_difference(taken.outputs, outputs);
      if (!from_one) continue;
      const std::string what = fmt::format("with {} it gives something else than in another session", with);
      if (trial.subject.elementwise() || threads == 1)
        return trial.add(threads == 1 ? codes::not_deterministic : codes::race, what, taken.one,
                         from_one->expected, from_one->got, from_one->place);
      // A tensor operator may add in another order. What runs of one session differ in is a race, and looked
      // for above.
      trial.report.note(
          fmt::format("{}: {} instead of {} ({})", what, from_one->got, from_one->expected, from_one->place));
      break;
    }
  }
}

/// Calls the plain C entry again and again, whose blocks all begin at once.
void repeat_entry(Trial& trial, const PlainEntries& entries, const Taken& taken) {
  if (!entries.has(trial.subject) || trial.most_threads < 2) return;
  trial.say(fmt::format("call the plain C entry again and again with {} threads", trial.most_threads));
  std::vector<Tensor> first;
  const Rounds rounds(trial.subject);
  for (int round = 0; rounds.go_on(round); ++round) {
    try {
      std::vector<Tensor> outputs =
          entries.call(trial.subject, taken.one, trial.attributes, trial.most_threads);
      if (round == 0) first = outputs;
      const auto difference = first_difference(first, outputs);
      if (!difference) continue;
      return trial.add(
          codes::race,
          fmt::format("call {} of the plain C entry with {} threads gave something else than the first",
                      round + 1, trial.most_threads),
          taken.one, difference->expected, difference->got, difference->place);
    } catch (const EntryError&) {
      return;  // said when it was called first
    }
  }
}

/// Runs callers at once, each on inputs of its own, so that what one writes into the memory of another shows.
void run_at_once(Trial& trial, const Taken& taken, bool one_session) {
  const std::string what = one_session ? fmt::format("{} threads that run one session at once", callers)
                                       : fmt::format("{} sessions that run at once", callers);
  trial.say(what);
  std::vector<Case> cases;
  std::vector<std::vector<Tensor>> expected;
  std::vector<Session> sessions;
  for (int caller = 0; caller < callers; ++caller) {
    // An initializer is part of the model: those who share it share its inputs.
    cases.push_back(one_session && std::find(trial.subject.constant.begin(), trial.subject.constant.end(),
                                             true) != trial.subject.constant.end()
                        ? taken.one
                        : redrawn(taken.one, 7000 + static_cast<uint64_t>(caller)));
    if (!one_session || caller == 0) sessions.push_back(trial.open(cases.back(), {}));
    try {
      expected.push_back(sessions.back().run(fed(trial.subject, cases.back(), false)));
    } catch (const InputError&) {  // values that the operator does not take in this shape
      return;
    }
  }
  std::mutex mutex;
  std::optional<Finding> found;
  std::atomic<bool> stop{false};
  std::barrier start(callers);
  {
    std::vector<std::jthread> threads;
    for (int caller = 0; caller < callers; ++caller) {
      threads.emplace_back([&, caller] {
        const auto at = static_cast<size_t>(caller);
        Session& session = sessions[one_session ? 0 : at];
        start.arrive_and_wait();
        const Rounds rounds(trial.subject);
        for (int round = 0; rounds.go_on(round) && !stop; ++round) {
          Finding finding{codes::race,          what, shapes_text(trial.subject, cases[at]), {}, {}, {},
                          trial.attributes.text};
          try {
            const auto difference =
                first_difference(expected[at], session.run(fed(trial.subject, cases[at], false)));
            if (!difference) continue;
            finding.inputs = difference->place, finding.expected = difference->expected,
            finding.got = difference->got;
          } catch (const std::exception& error) {
            finding.expected = "what it gives alone", finding.got = error.what();
          }
          const std::scoped_lock lock(mutex);
          if (!found) found = finding;
          stop = true;
          return;
        }
      });
    }
  }
  if (found) trial.report.add(*found);
}

/// Makes sessions again and again, the last ones at once; each registers the library.
void register_again(Trial& trial, const Taken& taken) {
  trial.say(fmt::format("register the library {} times", 2 * registrations));
  std::mutex mutex;
  const auto once = [&](const std::string& how) {
    std::optional<BitDifference> difference;
    try {
      difference = first_difference(taken.outputs,
                                    trial.open(taken.one, {}).run(fed(trial.subject, taken.one, false)));
    } catch (const std::exception& error) {
      difference = BitDifference{"", "a session as before", error.what()};
    }
    if (!difference) return;
    const std::scoped_lock lock(mutex);
    trial.add(codes::not_deterministic, how, taken.one, difference->expected, difference->got,
              difference->place);
  };
  for (int i = 0; i < registrations; ++i)
    once("a further session, for which the library is registered again, gives something else");
  std::vector<std::jthread> threads;
  for (int i = 0; i < registrations; ++i)
    threads.emplace_back([&] { once("one of sessions that are made at once gives something else"); });
}

}  // namespace

void check_repeats(Trial& trial, const PlainEntries& entries, const std::vector<Taken>& taken) {
  const Taken* largest = largest_of(taken);
  if (!largest) return;
  repeat_with_threads(trial, *largest);
  // What differs from run to run of one caller says nothing of several.
  if (trial.report.has(codes::not_deterministic)) return;
  if (trial.has_time() && !trial.report.has(codes::race)) repeat_entry(trial, entries, *largest);
  for (const bool one_session : {true, false}) {
    if (trial.has_time()) run_at_once(trial, *largest, one_session);
  }
  if (trial.has_time()) register_again(trial, taken.front());
}

}  // namespace graft::check
