#pragma once
/// Lets you find out why a model does not load, or does not run as meant.
///
///   Examination examination(runtime, "model.onnx", {.libraries = {"libmy_ops.so"}});
///   for (const Finding& finding : examination.findings().list()) fmt::print("{}\n",
///   sentence(finding.cause)); examination.repair("fixed.onnx");
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/libraries.h"
#include "doctor/probe.h"
#include "graph/index.h"
#include "graph/model.h"
#include "runtime/runtime.h"

namespace graft::doctor {

struct Request {
  std::vector<std::filesystem::path> libraries = {};
  std::vector<std::string> providers = {};
};

/// Says what became of a repair.
struct Outcome {
  bool written = false;
  bool loads = false;
  std::vector<std::string> done;   ///< "set the IR version to 14"
  std::vector<std::string> notes;  ///< where files of weights went
  std::string text;                ///< ORT's, when it still does not load
};

class Examination {
 public:
  /// Examines a model. InputError when the file does not exist or cannot be read at all.
  Examination(std::shared_ptr<runtime::Runtime> runtime, const std::filesystem::path& model,
              const Request& request);
  ~Examination();

  const Findings& findings() const { return findings_; }

  /// Tells whether ONNX Runtime loads the model as it is, with the libraries as they are.
  bool loads() const { return as_given_.loaded; }

  /// Tells whether the process died, in which case text() says of what.
  bool died() const { return as_given_.died; }

  /// Gives ORT's words when it does not load the model, else an empty text.
  const std::string& text() const { return as_given_.text; }

  /// Tells whether anything is found that is not only a warning.
  bool has_errors() const;

  /// Tells whether an error is found that no repair takes away.
  bool has_unfixable_errors() const { return !all_fixable(); }

  /// Writes the model with all repairs done. Nothing is written when nothing can be repaired, or when all was
  /// repaired and the model does not load all the same.
  Outcome repair(const std::filesystem::path& output);

 private:
  /// Says what ORT's words mean, when no check has found why.
  void explain(const Attempt& attempt);

  /// Names the library's nodes that lack the attribute which a library asked for in vain.
  void name_candidates(Finding& finding) const;
  void look(bool loads);
  void apply();
  bool all_fixable() const;

  Findings findings_;
  std::optional<graph::Model> model_;
  std::unique_ptr<Libraries> libraries_;
  std::unique_ptr<Prober> prober_;
  std::vector<std::unique_ptr<graph::Index>> indexes_;  ///< of each look; repairs refer to them
  std::map<std::string, std::filesystem::path> moved_;
  std::vector<std::string> done_;
  Attempt as_given_;  ///< with all libraries that were given
  Attempt attempt_;   ///< with those that are of use
};

}  // namespace graft::doctor
