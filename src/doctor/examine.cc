#include "doctor/examine.h"

#include <fmt/format.h>

#include <algorithm>

#include "doctor/error_texts.h"
#include "doctor/opset_choice.h"
#include "doctor/patient.h"
#include "doctor/providers.h"
#include "error.h"
#include "graph/names.h"

namespace graft::doctor {
namespace {

namespace fs = std::filesystem;

constexpr int most_looks = 3;  ///< a repair may bring to light what was hidden behind it

bool is_error(const Finding& finding) { return finding.severity == Severity::error; }

}  // namespace

Examination::Examination(std::shared_ptr<runtime::Runtime> runtime, const fs::path& model,
                         const Request& request) {
  try {
    model_ = graph::read_model(model);
  } catch (const InputError& error) {
    std::error_code failure;
    if (!fs::is_regular_file(model, failure)) throw;
    Finding& found = findings_.add(Cause::not_a_model, "");
    found.evidence.push_back(std::string(error.what()).substr(model.string().size() + 2));
    found.cure.push_back("give the .onnx file itself; fetch or export it again if it was cut off");
  }
  libraries_ = std::make_unique<Libraries>(*runtime, request.libraries, findings_);
  check_providers(runtime, request.providers, findings_);
  check_packages(*runtime, findings_);
  prober_ = std::make_unique<Prober>(runtime, libraries_->usable());
  attempt_ = prober_->load_file(model);
  as_given_ = attempt_;
  if (libraries_->any_hangs()) {
    as_given_ = {.died = true, .text = "it does not come to an end"};
  } else if (libraries_->usable().size() < request.libraries.size()) {
    as_given_ = Prober(runtime, request.libraries).load_file(model);
  }
  if (!model_) return;
  look(attempt_.loaded);
  if (attempt_.loaded) return;
  // What the repairs leave is looked at again: ONNX Runtime stops at the first thing that is wrong, and so
  // may a check.
  Attempt attempt = attempt_;
  for (int looks = 1; looks < most_looks && has_errors() && all_fixable(); ++looks) {
    apply();
    if (!graph::external_data_files(model_->proto).empty())
      return;  // needs its files: repair() tries it beside them
    attempt = prober_->load_model(model_->proto);
    if (attempt.loaded) return;
    const size_t before = findings_.list().size();
    look(false);
    if (findings_.list().size() == before) break;
  }
  if (has_errors() && !(all_fixable() && !done_.empty())) return;
  explain(attempt);
}

void Examination::explain(const Attempt& attempt) {
  Findings recognised;
  if (!attempt.died && recognise(attempt.text, recognised)) {
    for (const Finding& finding : recognised.list()) {
      Finding& found = findings_.add(finding.cause, finding.subject);
      found.evidence.insert(found.evidence.end(), finding.evidence.begin(), finding.evidence.end());
      for (const std::string& step : finding.cure) {
        // Advice to ask the doctor is of no use here.
        if (step.find("graft doctor MODEL") == std::string::npos) found.cure.push_back(step);
      }
      if (finding.cause == Cause::attribute_missing) name_candidates(found);
      if (found.cure.empty() && !found.fixable())
        found.cure.push_back("the text above says where; correct it there");
    }
    return;
  }
  Finding& found = findings_.add(Cause::unexplained, "");
  found.evidence.push_back(fmt::format("ONNX Runtime {} {} {}", prober_->runtime().version(),
                                       attempt.died ? "says nothing:" : "says:", attempt.text));
  found.cure.push_back(
      "search the issues of ONNX Runtime for these words: https://github.com/microsoft/onnxruntime/issues");
}

void Examination::name_candidates(Finding& finding) const {
  const graph::Index& index = *indexes_.back();
  for (graph::NodeId node = 0; node < index.node_count(); ++node) {
    const onnx::NodeProto& proto = index.proto(node);
    if (libraries_->find(proto.domain(), proto.op_type()).empty()) continue;
    const bool has = std::any_of(proto.attribute().begin(), proto.attribute().end(),
                                 [&](const auto& attribute) { return attribute.name() == finding.subject; });
    if (!has) {
      finding.evidence.push_back(fmt::format("{}:{}, which makes {}, has no such attribute", proto.domain(),
                                             proto.op_type(),
                                             proto.output_size() ? proto.output(0) : "nothing"));
    }
  }
}

Examination::~Examination() = default;

void Examination::look(bool loads) {
  indexes_.push_back(std::make_unique<graph::Index>(model_->proto));
  const graph::Index& index = *indexes_.back();
  const ElementTypes types(model_->proto, index, *libraries_);
  Patient patient{*model_, index, types, *libraries_, *prober_, loads, findings_, moved_};
  if (!loads) {
    const int64_t imported = graph::imported_version(model_->proto.opset_import(), "");
    const bool of_use = imported > 0 && imported <= prober_->newest_version("");
    patient.model_opset = of_use ? imported : choose_opset(patient).newest;
  }
  check_versions(patient);
  check_operators(patient);
  check_custom_nodes(patient);
  check_standard_nodes(patient);
  check_functions(patient);
  check_wiring(patient);
  check_order(patient);
  check_declarations(patient);
  check_tensors(patient);
}

void Examination::apply() {
  for (Finding& finding : findings_.list()) {
    if (!finding.fixable()) continue;
    for (Repair& repair : finding.repairs) {
      if (!repair.apply) continue;
      repair.apply();
      repair.apply = nullptr;
      done_.push_back(repair.what);
    }
  }
}

bool Examination::has_errors() const {
  return std::any_of(findings_.list().begin(), findings_.list().end(), is_error);
}

bool Examination::all_fixable() const {
  return std::all_of(findings_.list().begin(), findings_.list().end(),
                     [](const Finding& finding) { return !is_error(finding) || finding.fixable(); });
}

Outcome Examination::repair(const fs::path& output) {
  Outcome outcome;
  if (!model_) return outcome;
  apply();
  outcome.done = done_;
  const bool healthy = attempt_.loaded && !has_errors();
  if (done_.empty() && !healthy) return outcome;
  graph::StagedModel staged(*model_, output, moved_);
  if (done_.empty()) {
    staged.write_unchanged(*model_);
  } else {
    staged.write(model_->proto);
  }
  const Attempt attempt = prober_->load_file(staged.file());
  outcome.loads = attempt.loaded;
  outcome.text = attempt.text;
  if (!attempt.loaded && all_fixable()) return outcome;
  staged.commit();
  outcome.written = true;
  outcome.notes = staged.notes();
  return outcome;
}

}  // namespace graft::doctor
