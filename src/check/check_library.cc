#include "check/check_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "check/trial.h"
#include "rewrite/definition_file.h"
#include "runtime/child.h"
#include "runtime/scratch_folder.h"

namespace graft::check {
using runtime::ChildEnd;
using runtime::ChildResult;
using runtime::Say;
using Clock = std::chrono::steady_clock;

namespace {

/// Opens the messages of a child: what it does next, and the report at its end.
constexpr std::string_view stage_mark = "at:";
constexpr std::string_view report_mark = "report:";

/// Is how long a child may take beyond its share before it counts as hung; less where the share is small,
/// since who gives little time will not wait long.
constexpr std::chrono::seconds patience_beyond{30}, least_patience{10};

std::string model_of_opset(int64_t opset) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  auto& graph = *model.mutable_graph();
  graph.set_name("opset");
  auto& node = *graph.add_node();
  node.set_op_type("Identity");
  node.add_input("x");
  node.add_output("y");
  for (auto* value : {graph.add_input(), graph.add_output()}) {
    value->set_name(value == &graph.input(0) ? "x" : "y");
    value->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  return model.SerializeAsString();
}

/// Finds the newest opset that the runtime takes, in a child: sessions make threads, which a later fork would
/// lose.
int64_t find_newest_opset(const std::shared_ptr<runtime::Runtime>& runtime) {
  const ChildResult result = runtime::run_in_child(
      [&](const Say& say) {
        for (int64_t opset = 17; opset < 60; ++opset) {
          try {
            runtime::Session::from_bytes(runtime, model_of_opset(opset));
          } catch (const InputError&) {
            return;
          }
          say(std::to_string(opset));
        }
      },
      patience_beyond);
  return result.messages.empty() ? 17 : std::stoll(result.messages.back());
}

bool is_wanted(const Subject& subject, const std::vector<std::string>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return name == subject.op.name || name == fmt::format("{}:{}", subject.op.domain, subject.op.name);
         });
}

void refuse_unknown(const std::vector<std::string>& names, const std::vector<Subject>& subjects,
                    const std::filesystem::path& library) {
  for (const std::string& name : names) {
    if (std::any_of(subjects.begin(), subjects.end(),
                    [&](const Subject& subject) { return is_wanted(subject, {name}); }))
      continue;
    std::string all;
    for (const Subject& subject : subjects) {
      if (subject.overload == 0) all += (all.empty() ? "" : ", ") + subject.op.name;
    }
    throw InputError(fmt::format("--op {}: {} has no such operator; it has {}", name, library.string(), all));
  }
}

/// Refuses a shape for an input that none of the operators has.
void refuse_unknown_inputs(const std::map<std::string, runtime::Shape>& shapes,
                           const std::vector<Subject>& subjects) {
  for (const auto& [name, shape] : shapes) {
    const bool known = std::any_of(subjects.begin(), subjects.end(), [&](const Subject& subject) {
      return std::any_of(subject.op.inputs.begin(), subject.op.inputs.end(),
                         [&](const auto& input) { return input.name == name; });
    });
    if (!known)
      throw InputError(fmt::format("--shape {}={}: none of the operators has such an input", name,
                                   runtime::to_string(shape)));
  }
}

/// Finds a tensor that the operator takes as an attribute; says so in the report, or that none was found.
bool find_tensor_attribute(Trial& trial) {
  trial.say("look for a tensor that it takes as an attribute");
  std::string refusal;
  for (const runtime::Tensor& tensor : tensors_to_try(trial.subject)) {
    trial.attributes = *usual_attributes(trial.subject, &tensor);
    for (const Case& one : trial.cases) {
      if (!trial.has_time()) return false;
      if (one.values != Values::normal || one.inputs.empty() || one.inputs[0].count() > 5000) continue;
      try {
        trial.open(one, {}).run(fed(trial.subject, one, false));
      } catch (const InputError& error) {
        refusal = error.what();
        continue;
      }
      trial.report.note(fmt::format("run with {}: the first tensor that was tried and that it takes",
                                    trial.attributes.text));
      return true;
    }
  }
  trial.report.note(
      fmt::format("not run: it needs a tensor as an attribute, and took none of those that were tried. "
                  "It said last: {}",
                  refusal));
  return false;
}

/// Says what a child that did not finish died of.
Report report_of(const ChildResult& result) {
  Report report;
  std::string stage = "at the start";
  for (const std::string& message : result.messages) {
    if (message.starts_with(report_mark)) report = unpack(message.substr(report_mark.size()));
    if (message.starts_with(stage_mark)) stage = message.substr(stage_mark.size());
  }
  if (result.end == ChildEnd::finished) return report;
  Finding finding;
  finding.code = result.end == ChildEnd::hung ? codes::hang : codes::crash;
  finding.what = stage;
  finding.expected = "that it returns";
  if (result.end == ChildEnd::hung)
    finding.got = "no end: the process was ended";
  else if (result.end == ChildEnd::left)
    finding.got = fmt::format("the process ended with exit code {}", result.number);
  else if (const char* name = sigabbrev_np(result.number))
    finding.got = fmt::format("the process died of SIG{}", name);
  else
    finding.got = fmt::format("the process died of signal {}", result.number);
  report.add(finding);
  return report;
}

}  // namespace

int64_t CheckedLibrary::findings() const {
  int64_t count = 0;
  for (const Checked& one : checked) count += static_cast<int64_t>(one.report.findings.size());
  return count;
}

CheckedLibrary check_library(std::shared_ptr<runtime::Runtime> runtime, const std::filesystem::path& library,
                             const CheckOptions& options) {
  std::vector<runtime::LibraryDescription> descriptions{runtime::describe_library(library)};
  for (const std::filesystem::path& file : options.definitions)
    rewrite::complete(descriptions, rewrite::read_definitions(file));
  const runtime::LibraryDescription& description = descriptions[0];
  runtime::try_library(*runtime, library);
  CheckedLibrary all;
  all.recorded = description.recorded;
  all.newest_opset = find_newest_opset(runtime);
  std::vector<Subject> subjects = subjects_of(description);
  refuse_unknown(options.operators, subjects, library);
  std::erase_if(subjects, [&](const Subject& subject) { return !is_wanted(subject, options.operators); });
  refuse_unknown_inputs(options.shapes, subjects);
  const runtime::ScratchFolder folder;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(options.seconds));
  for (size_t at = 0; at < subjects.size(); ++at) {
    Subject& subject = subjects[at];
    options.progress(fmt::format("{} of {}: {}", at + 1, subjects.size(), to_string(subject)));
    const auto attributes = usual_attributes(subject);
    Report report;
    if (subject.op.provider != "CPUExecutionProvider") {
      report.note(fmt::format("not run: it is for {}", subject.op.provider));
    } else if (const auto strange = std::find_if_not(subject.inputs.begin(), subject.inputs.end(), can_make);
               strange != subject.inputs.end()) {
      report.note(fmt::format("not run: no inputs of type {} are made here", runtime::type_name(*strange)));
    } else {
      const auto left = std::max(Clock::duration::zero(), end - Clock::now());
      const auto share = left / static_cast<int64_t>(subjects.size() - at);
      const ChildResult result = runtime::run_in_child(
          [&](const Say& say) {
            Trial trial{runtime,
                        library,
                        folder.path(),
                        subject,
                        attributes.value_or(AttributeSet{}),
                        {},
                        all.newest_opset,
                        options.threads,
                        Clock::now() + share,
                        [&](const std::string& stage) { say(std::string(stage_mark) + stage); },
                        {}};
            try {
              trial.cases = cases_of(subject, options.shapes);
              if (attributes || find_tensor_attribute(trial)) check_subject(trial);
            } catch (const std::exception& error) {
              trial.report.note(fmt::format("the check ended early: {}", error.what()));
              trial.report.cut_short = true;
            }
            say(std::string(report_mark) + pack(trial.report));
          },
          std::chrono::duration_cast<std::chrono::milliseconds>(
              share + std::min<Clock::duration>(patience_beyond, least_patience + share)));
      report = report_of(result);
    }
    all.checked.push_back({std::move(subject), std::move(report)});
  }
  return all;
}

}  // namespace graft::check
