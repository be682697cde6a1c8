#pragma once
/// Lets you read a model and write it without ever leaving a broken one behind.
///
///   Model model = read_model("model.onnx");
///   StagedModel staged(model, "out/model.onnx");  // written beside, with its external data in reach
///   staged.write(model.proto);
///   staged.commit();                              // renamed; without this nothing is left
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "error.h"
#include "onnx-ml.pb.h"

namespace graft::graph {

struct Model {
  std::filesystem::path file;
  uint64_t size = 0;  ///< of the file
  onnx::ModelProto proto;
};

/// Reads a model. InputError names the file and the cause: it does not exist, is a folder, is empty, is
/// something else (a text, an archive, a pointer to a file kept elsewhere, ...), is cut short, or is larger
/// than protobuf allows (2 GiB). Weights in external files are not read.
Model read_model(const std::filesystem::path& file);

/// Says what a file is that is not a model, or where a model breaks off; `bytes` is all of it. Empty: nothing
/// is known.
std::string explain_not_a_model(const char* bytes, size_t size);

/// Lists the external data files that the model's tensors name, each once, as written there (relative to its
/// folder).
std::vector<std::string> external_data_files(const onnx::ModelProto& model);

/// Holds an output while it is made: a file beside the final place, removed again unless committed.
/// External data files of the input are hard-linked into the output's folder, or copied where links do not
/// work.
class StagedModel {
 public:
  /// InputError when the place cannot be written, is a folder, or is the input itself. `moved` says where
  /// external data files really are that do not lie where the model says, by the name in the model.
  StagedModel(const Model& input, const std::filesystem::path& output,
              const std::map<std::string, std::filesystem::path>& moved = {});
  ~StagedModel();
  StagedModel(const StagedModel&) = delete;
  StagedModel& operator=(const StagedModel&) = delete;

  /// Gives the file that holds the model until commit(), for other programs to read.
  const std::filesystem::path& file() const { return temporary_; }

  /// Writes a changed model.
  void write(const onnx::ModelProto& proto);

  /// Writes the input's bytes as they are.
  void write_unchanged(const Model& input);

  /// Renames the file to its final name.
  void commit();

  /// Tells what a user should know of the external data files, one line each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void bring_external_data(const Model& input, const std::map<std::string, std::filesystem::path>& moved);

  std::filesystem::path output_;
  std::filesystem::path temporary_;
  std::vector<std::filesystem::path> brought_;
  std::vector<std::filesystem::path> folders_;
  std::vector<std::string> notes_;
  bool committed_ = false;
};

}  // namespace graft::graph
