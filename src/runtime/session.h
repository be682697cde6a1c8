#pragma once
/// Lets you load a model into ORT and run it on tensors.
///
///   Session session(runtime, "model.onnx", {.libraries = {"libgraft_ops.so"}});
///   std::vector<Tensor> outputs = session.run({x});
///   PreparedRun run = session.prepare({x});
///   run.once();  // the same inputs again, nothing copied
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runtime.h"
#include "runtime/tensor.h"

struct OrtSessionOptions;

namespace graft::runtime {

enum class Optimisation { none, basic, extended, all };

/// Registers operators that this process holds itself, as a library's RegisterCustomOps does.
using RegisterOperators = OrtStatus* (*)(OrtSessionOptions*, const OrtApiBase*);

struct SessionOptions {
  int threads = 1;
  Optimisation optimisation = Optimisation::all;
  std::vector<std::filesystem::path> libraries = {};
  std::vector<RegisterOperators> operators = {};
  std::vector<std::string> providers = {};     ///< in order of preference (providers.h); the CPU is always last
  std::filesystem::path optimised_model = {};  ///< ORT writes the model that it really runs here
  std::filesystem::path profile = {};          ///< prefix of ORT's profile file
  bool quiet = true;                           ///< keeps ORT's warnings off stderr
};

/// Gives a dimension's size, or -1 and the name that the model gives it, if it does.
struct Dimension {
  int64_t size = -1;
  std::string symbol = {};
};

/// Describes an input or an output. `kind` is "tensor", or "sequence", "map", "optional", "sparse tensor",
/// which have neither type nor shape here. ORT does not tell an unknown rank from a scalar: both have an
/// empty shape.
struct ValueDescription {
  std::string name;
  std::string kind = "tensor";
  DataType type = DataType::undefined;
  std::vector<Dimension> shape;
};

/// Writes "float[N,3,640,?]" or the kind.
std::string to_string(const ValueDescription& value);

/// Runs a session again and again on inputs bound once.
class PreparedRun {
 public:
  ~PreparedRun();
  PreparedRun(PreparedRun&&) noexcept;
  PreparedRun& operator=(PreparedRun&&) noexcept;

  /// Runs once and drops the outputs; OrtError as in Session::run.
  void once();

 private:
  friend class Session;
  struct State;
  explicit PreparedRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Session {
 public:
  /// Loads a model from its file, so that external data beside it is found. OrtError names the file and keeps
  /// ORT's text.
  Session(std::shared_ptr<Runtime> runtime, const std::filesystem::path& model,
          const SessionOptions& options = {});

  /// Loads a model from its bytes; `name` stands for it in messages.
  static Session from_bytes(std::shared_ptr<Runtime> runtime, std::string_view bytes,
                            const SessionOptions& options = {}, const std::string& name = "model");

  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Gives the file or the name that stands for the model in messages.
  const std::string& name() const;
  const Runtime& runtime() const;

  /// Lists the inputs that a run must be given, in the model's order (no initializers).
  const std::vector<ValueDescription>& inputs() const;
  const std::vector<ValueDescription>& outputs() const;

  /// Runs the model on its inputs in order. OrtError when ORT refuses, InputError when an output is not a
  /// tensor.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs);

  /// Binds inputs for timing; the session must outlive the result.
  PreparedRun prepare(const std::vector<Tensor>& inputs);

  /// Ends the profile asked for in the options, and gives its file.
  std::filesystem::path end_profile();

 private:
  friend class PreparedRun;
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace graft::runtime
