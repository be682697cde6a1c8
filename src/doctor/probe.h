#pragma once
/// Lets you ask a runtime what it knows, by having it load small models in a child process: no tables to
/// keep.
///
///   Prober prober(runtime, {"libmy_ops.so"});
///   prober.newest_ir_version();                      // 14
///   prober.schema("", "Gelu", 17).known;             // false: it came with opset 20
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "onnx-ml.pb.h"
#include "runtime/child.h"
#include "runtime/runtime.h"
#include "runtime/session.h"

namespace graft::doctor {

/// Says how loading a model ended. `text` is ORT's own, or, when the process died, what it died of.
struct Attempt {
  bool loaded = false;
  bool died = false;
  std::string text = {};
};

/// Says what a runtime knows of an operator at a version of its domain.
struct Schema {
  bool known = false;
  bool removed = false;  ///< it existed at an earlier version
  int64_t since = 0;     ///< the version that it last changed in, 0 when the runtime does not tell
};

class Prober {
 public:
  /// `libraries` are those that load without harm; they are registered where a probe wants them.
  Prober(std::shared_ptr<runtime::Runtime> runtime, std::vector<std::filesystem::path> libraries)
      : runtime_(std::move(runtime)), libraries_(std::move(libraries)) {}

  /// Loads a model file as a user would: all optimisation, the libraries registered.
  Attempt load_file(const std::filesystem::path& model) const;

  /// Loads a model that is not in a file; it must have no external data.
  Attempt load_model(const onnx::ModelProto& model) const;

  /// Makes a session on an execution provider.
  Attempt start_provider(const std::string& provider) const;

  /// Loads small models one after the other in one child; one that kills it costs the others nothing.
  std::vector<Attempt> load(const std::vector<onnx::ModelProto>& models, bool with_libraries) const;

  /// Runs two sessions, without and with the libraries, on the same generated inputs, and says in a sentence
  /// how the outputs differ. Empty: they do not, or it cannot be told.
  std::string difference_made_by_libraries(const onnx::ModelProto& model) const;

  int64_t newest_ir_version() const;

  /// Tells whether a model that imports the version loads.
  bool accepts_import(const std::string& domain, int64_t version) const;

  /// Gives the newest version of a domain that the runtime accepts.
  int64_t newest_version(const std::string& domain) const;

  /// Asks about an operator, without the libraries.
  Schema schema(const std::string& domain, const std::string& op, int64_t version) const;

  /// Asks about many at once, which takes a fraction of the time.
  void learn(const std::vector<std::tuple<std::string, std::string, int64_t>>& operators) const;

  const runtime::Runtime& runtime() const { return *runtime_; }

 private:
  Attempt attempt(const std::function<void(const runtime::SessionOptions&)>& load) const;

  std::shared_ptr<runtime::Runtime> runtime_;
  std::vector<std::filesystem::path> libraries_;
  mutable std::map<std::tuple<std::string, std::string, int64_t>, Schema> schemas_;
  mutable std::map<std::string, int64_t> newest_;
  mutable int64_t newest_ir_ = 0;
};

/// Adds the import of a domain to a model.
void add_import(onnx::ModelProto& model, const std::string& domain, int64_t version);

}  // namespace graft::doctor
