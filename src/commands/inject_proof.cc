#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "commands/inject_report.h"
#include "error.h"
#include "report/table.h"
#include "runtime/files.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "runtime/scratch_folder.h"

namespace graft {

using rewrite::Injection;

namespace {

/// Bounds how many distinct places are run, and for how long.
constexpr size_t most_parts = 200;
constexpr std::chrono::seconds most_time{60};

std::shared_ptr<runtime::Runtime> load_runtime(const InjectRequest& request, verify::JudgeOptions& options,
                                               report::Progress& progress) {
  progress.say("loading ONNX Runtime");
  auto runtime = runtime::Runtime::load(runtime::find_runtime(request.common.runtime));
  options.libraries.assign(request.libraries.begin(), request.libraries.end());
  for (const auto& library : options.libraries) runtime::try_library(*runtime, library);
  options.threads = request.threads;
  return runtime;
}

std::filesystem::path write_model(const std::filesystem::path& file, const onnx::ModelProto& model) {
  runtime::write_file(file, model.SerializeAsString());
  return file;
}

/// Keeps the larger differences of two judgements on models whose outputs have other names.
void merge(verify::Judgement& all, verify::Judgement part) {
  for (verify::Comparison* comparison :
       {&part.optimised, &part.plain, &part.ort_itself, &part.reference_error, &part.candidate_error}) {
    for (verify::Difference& difference : comparison->outputs) difference.output.clear();
  }
  if (all.sets == 0) {
    all = std::move(part);
  } else {
    all.merge(part);
    all.sets += part.sets;
  }
  all.plan = {};
}

}  // namespace

Proof prove(const InjectRequest& request, const std::filesystem::path& injected, const Injection& injection,
            report::Progress& progress) {
  Proof proof;
  verify::JudgeOptions options;
  const auto runtime = load_runtime(request, options, progress);
  proof.runtime_version = runtime->version();
  options.plan.shapes = parse_shapes(request.shapes);
  progress.say("comparing the injected model with the original");
  proof.with_library = verify::judge(runtime, request.model, injected, options);
  proof.drift = proof.with_library.reason;
  if (!proof.drift.empty()) return proof;
  if (injection.embedded) {
    progress.say("comparing the injected model without the library");
    verify::JudgeOptions alone = options;
    alone.libraries.clear();
    alone.plan = proof.with_library.plan;
    alone.seeds = 1;
    proof.without_library = verify::judge(runtime, request.model, injected, alone);
    if (!proof.without_library->passed()) {
      proof.drift = "without the library: " + proof.without_library->reason;
      return proof;
    }
  }
  if (request.check) return proof;
  progress.say("measuring both models");
  runtime::SessionOptions session;
  session.threads = request.threads;
  runtime::Session original(runtime, request.model, session);
  session.libraries = options.libraries;
  runtime::Session grafted(runtime, injected, session);
  verify::TimingOptions timing;
  timing.budget_seconds = request.seconds;
  proof.timing = verify::time_interleaved(original, grafted,
                                          verify::make_inputs(original, proof.with_library.plan), timing);
  return proof;
}

Proof prove_parts(const InjectRequest& request, const Injection& injection, report::Progress& progress) {
  Proof proof;
  verify::JudgeOptions options;
  const auto runtime = load_runtime(request, options, progress);
  proof.runtime_version = runtime->version();
  proof.parts_left = injection.without_neighbourhood;
  const auto end = std::chrono::steady_clock::now() + most_time;
  const runtime::ScratchFolder folder;
  if (injection.embedded) proof.without_library.emplace();
  for (const rewrite::Neighbourhood& part : injection.neighbourhoods) {
    if (static_cast<size_t>(proof.parts) >= most_parts || std::chrono::steady_clock::now() > end) {
      proof.parts_left += part.places;
      continue;
    }
    progress.say(fmt::format("comparing place {} of {} that differ", proof.parts + 1,
                             injection.neighbourhoods.size()));
    const auto before = write_model(folder.path() / "before.onnx", part.before),
               after = write_model(folder.path() / "after.onnx", part.after);
    for (const bool with_library : {true, false}) {
      if (!with_library && !injection.embedded) break;
      verify::JudgeOptions each = options;
      if (!with_library) each.libraries.clear();
      verify::Judgement judgement = verify::judge(runtime, before, after, each);
      if (!judgement.passed()) {
        proof.drift = fmt::format("{} at `{}` in {}{}: {}", part.op, report::printable(part.output),
                                  part.scope, with_library ? "" : ", without the library", judgement.reason);
      }
      merge(with_library ? proof.with_library : *proof.without_library, std::move(judgement));
    }
    ++proof.parts;
    if (!proof.drift.empty()) break;
  }
  return proof;
}

}  // namespace graft
