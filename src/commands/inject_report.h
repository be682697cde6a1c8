#pragma once
/// Lets `graft inject` prove what it did, on the whole model or on parts of it, and report it.
///
///   Proof proof = prove(request, "model.onnx", staged.file(), injection, progress);
///   if (proof.drift.empty()) print_report(request, injection, &proof, notes);
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands/command.h"
#include "report/progress.h"
#include "rewrite/inject.h"
#include "verify/judgement.h"
#include "verify/timing.h"

namespace graft {

/// Says what is run to prove an injection.
enum class Extent { automatic, whole, parts, none };

/// Holds what `graft inject` was asked for.
struct InjectRequest {
  std::string model;
  std::vector<std::string> libraries;
  std::vector<std::string> definitions;
  std::string output;
  std::vector<std::string> operators;
  std::vector<std::string> only;
  std::vector<std::string> skip;
  std::string plan;
  std::vector<std::string> shapes;
  int at_least = 0;
  bool check = false;
  bool dry_run = false;
  bool exact = false;
  bool keep_ir = false;
  bool allow_none = false;
  Extent extent = Extent::automatic;
  int threads = 1;
  double seconds = 4;
  CommonOptions common;
};

/// Is what running the models showed.
struct Proof {
  std::string runtime_version;
  verify::Judgement with_library;  ///< of the whole model, or the largest differences of all parts
  std::optional<verify::Judgement> without_library;  ///< nothing where no fallback is embedded
  verify::PairTiming timing;                         ///< of whole models only
  int parts = 0;       ///< distinct places that were run alone; 0: the whole model was
  int parts_left = 0;  ///< distinct places for which there was no time or no way
  std::string drift;   ///< why it is not the same; empty when it is
};

/// Runs the model and what has become of it. InputError when one does not load.
Proof prove(const InjectRequest& request, const std::filesystem::path& injected,
            const rewrite::Injection& injection, report::Progress& progress);

/// Runs the places of a model that is too large to be run, each distinct one alone.
Proof prove_parts(const InjectRequest& request, const rewrite::Injection& injection,
                  report::Progress& progress);

/// Writes the report, schema graft.inject/1.
nlohmann::ordered_json report_of(const InjectRequest& request, const rewrite::Injection& injection,
                                 const Proof* proof, const std::vector<std::string>& notes,
                                 const std::string& outcome);

/// Prints the operators with their places and near misses.
void print_places(const rewrite::Injection& injection);

/// Prints the differences and times.
void print_proof(const InjectRequest& request, const Proof& proof);

}  // namespace graft
