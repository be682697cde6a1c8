#include <fmt/format.h>

#include <set>

#include "graph/model.h"

namespace graft::graph {
namespace {

namespace fs = std::filesystem;

void collect(const onnx::GraphProto& graph, std::set<std::string>& files);

void collect(const onnx::TensorProto& tensor, std::set<std::string>& files) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") files.insert(entry.value());
  }
}

void collect(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, std::set<std::string>& files) {
  for (const auto& node : nodes) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t()) collect(attribute.t(), files);
      for (const auto& tensor : attribute.tensors()) collect(tensor, files);
      if (attribute.has_g()) collect(attribute.g(), files);
      for (const auto& graph : attribute.graphs()) collect(graph, files);
    }
  }
}

void collect(const onnx::GraphProto& graph, std::set<std::string>& files) {
  for (const auto& tensor : graph.initializer()) collect(tensor, files);
  for (const auto& sparse : graph.sparse_initializer()) {
    collect(sparse.values(), files);
    collect(sparse.indices(), files);
  }
  collect(graph.node(), files);
}

/// Lists the files that tensors inside of nodes name, in subgraphs and attributes. ONNX Runtime has the ONNX
/// checker look at those, which refuses files with several hard links.
std::set<std::string> files_inside_nodes(const onnx::ModelProto& model) {
  std::set<std::string> files;
  collect(model.graph().node(), files);
  for (const auto& function : model.functions()) collect(function.node(), files);
  return files;
}

}  // namespace

std::vector<std::string> external_data_files(const onnx::ModelProto& model) {
  std::set<std::string> files;
  collect(model.graph(), files);
  for (const auto& function : model.functions()) collect(function.node(), files);
  return {files.begin(), files.end()};
}

void StagedModel::bring_external_data(const Model& input, const std::map<std::string, fs::path>& moved) {
  std::error_code error;
  const fs::path from = input.file.has_parent_path() ? input.file.parent_path() : fs::path(".");
  const fs::path to = output_.has_parent_path() ? output_.parent_path() : fs::path(".");
  const std::set<std::string> unlinkable = files_inside_nodes(input.proto);
  const bool same_folder = fs::equivalent(from, to, error);
  for (const std::string& location : external_data_files(input.proto)) {
    const auto elsewhere = moved.find(location);
    if (same_folder && elsewhere == moved.end()) continue;
    const fs::path relative = fs::path(location).lexically_normal();
    if (relative.empty() || relative.is_absolute() || *relative.begin() == "..")
      throw InputError(
          fmt::format("{}: its external data `{}` lies outside its folder, which ONNX Runtime refuses",
                      input.file.string(), location));
    const fs::path source = elsewhere == moved.end() ? from / relative : elsewhere->second;
    const fs::path target = to / relative;
    if (!fs::is_regular_file(source, error))
      throw InputError(
          fmt::format("{}: its external data file {} does not exist", input.file.string(), source.string()));
    if (fs::exists(fs::symlink_status(target, error))) {
      if (fs::equivalent(source, target, error)) continue;
      throw InputError(fmt::format(
          "{}: a file of that name is already there, and the model needs its external data under it",
          target.string()));
    }
    std::vector<fs::path> missing;
    for (fs::path folder = target.parent_path(); !folder.empty() && !fs::exists(folder, error);
         folder = folder.parent_path())
      missing.push_back(folder);
    for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
      if (fs::create_directory(*folder, error)) folders_.push_back(*folder);
    }
    const bool linkable = !unlinkable.count(location);
    if (linkable) fs::create_hard_link(fs::canonical(source, error), target, error);
    if (!linkable || error) {
      fs::copy_file(source, target, error);
      if (error)
        throw InputError(
            fmt::format("{}: the external data cannot be written: {}", target.string(), error.message()));
      notes_.push_back(fmt::format(
          "external data copied to {} ({})", target.string(),
          linkable ? "no hard link between these places" : "ONNX Runtime refuses a hard link in a subgraph"));
    } else {
      notes_.push_back(fmt::format("external data linked as {} (a hard link, no copy)", target.string()));
    }
    brought_.push_back(target);
  }
}

}  // namespace graft::graph
