/// Constants: do they hold as much as their shape asks for, and are the files there that hold the large ones?
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "doctor/patient.h"
#include "graph/constant.h"
#include "graph/names.h"

namespace graft::doctor {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;
using Visit = std::function<void(TensorProto&)>;

void visit(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const Visit& each);

void visit(onnx::GraphProto& graph, const Visit& each) {
  for (auto& tensor : *graph.mutable_initializer()) each(tensor);
  for (auto& sparse : *graph.mutable_sparse_initializer()) {
    each(*sparse.mutable_values());
    each(*sparse.mutable_indices());
  }
  visit(*graph.mutable_node(), each);
}

void visit(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const Visit& each) {
  for (auto& node : nodes) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) each(*attribute.mutable_t());
      for (auto& tensor : *attribute.mutable_tensors()) each(tensor);
      if (attribute.has_g()) visit(*attribute.mutable_g(), each);
      for (auto& graph : *attribute.mutable_graphs()) visit(graph, each);
    }
  }
}

/// Gives the bits of an element as they lie in raw data and in files; 0 for strings and types not known here.
int64_t bits_of(int32_t type) {
  switch (type) {
    case TensorProto::INT4:
    case TensorProto::UINT4:
      return 4;
    default:
      return 8 * static_cast<int64_t>(runtime::element_size(static_cast<runtime::DataType>(type)));
  }
}

/// Gives the number of entries that the tensor's typed field must have, and that it has; nothing when that is
/// not known.
struct Entries {
  int64_t wanted = 0;
  int64_t there = 0;
};

bool count_entries(const TensorProto& tensor, int64_t elements, Entries& entries) {
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      entries = {elements, tensor.float_data_size()};
      return true;
    case TensorProto::DOUBLE:
      entries = {elements, tensor.double_data_size()};
      return true;
    case TensorProto::INT64:
      entries = {elements, tensor.int64_data_size()};
      return true;
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      entries = {elements, tensor.uint64_data_size()};
      return true;
    case TensorProto::STRING:
      entries = {elements, tensor.string_data_size()};
      return true;
    case TensorProto::INT32:
    case TensorProto::INT16:
    case TensorProto::INT8:
    case TensorProto::UINT16:
    case TensorProto::UINT8:
    case TensorProto::BOOL:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      entries = {elements, tensor.int32_data_size()};
      return true;
    default:
      return false;
  }
}

std::string shape_text(const TensorProto& tensor) {
  return fmt::format("{}{}", type_name(static_cast<runtime::DataType>(tensor.data_type())),
                     runtime::to_string({tensor.dims().begin(), tensor.dims().end()}));
}

std::string name_of(const TensorProto& tensor) {
  return tensor.name().empty() ? "a constant without a name" : tensor.name();
}

void say_size(Patient& patient, const TensorProto& tensor, int64_t wanted, int64_t there,
              const std::string& unit) {
  Finding& found = patient.add(Cause::initializer_size, name_of(tensor));
  found.evidence.push_back(fmt::format("{} is {}, which are {} {}; it holds {}", name_of(tensor),
                                       shape_text(tensor), wanted, unit, there));
  found.cure.push_back(
      "export the model again, or give the constant the shape that its data have: " +
      patient.python(fmt::format(
          "t = next(t for t in m.graph.initializer if t.name == '{}'); t.dims[:] = [SIZES]", tensor.name())));
}

void check_size(Patient& patient, const TensorProto& tensor) {
  const int64_t elements = graph::count_elements(tensor);
  if (elements < 0) return;
  const int64_t bits = bits_of(tensor.data_type());
  if (tensor.has_raw_data()) {
    const int64_t wanted = (elements * bits + 7) / 8;
    const auto there = static_cast<int64_t>(tensor.raw_data().size());
    if (bits && wanted != there) say_size(patient, tensor, wanted, there, "bytes");
    return;
  }
  Entries entries;
  if (count_entries(tensor, elements, entries) && entries.wanted != entries.there)
    say_size(patient, tensor, entries.wanted, entries.there, "elements");
}

/// Is what a tensor says of its file.
struct Location {
  std::string file;
  int64_t offset = 0;
  int64_t length = -1;
};

Location location_of(const TensorProto& tensor) {
  Location location;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location.file = entry.value();
    if (entry.key() == "offset") location.offset = std::strtoll(entry.value().c_str(), nullptr, 10);
    if (entry.key() == "length") location.length = std::strtoll(entry.value().c_str(), nullptr, 10);
  }
  return location;
}

/// Is one file of weights, with all that the model asks of it.
struct DataFile {
  std::vector<TensorProto*> tensors;
  uint64_t end = 0;  ///< the bytes that it must have
};

bool is_pointer(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string start(sizeof "version https://git-lfs" - 1, '\0');
  return stream.read(start.data(), static_cast<std::streamsize>(start.size())) &&
         start == "version https://git-lfs";
}

/// Looks for a file of a name that has at least as many bytes, in the folders beside and below the model and
/// one above.
std::vector<fs::path> search(const fs::path& folder, const fs::path& name, uint64_t size) {
  std::vector<fs::path> found;
  std::set<fs::path> seen;
  const std::function<void(const fs::path&, int)> look = [&](const fs::path& place, int depth) {
    std::error_code error;
    int entries = 0;
    for (const auto& entry : fs::directory_iterator(place, error)) {
      if (++entries > 2000) return;
      if (entry.is_directory(error) && !entry.is_symlink(error) && depth > 0) look(entry.path(), depth - 1);
      if (entry.path().filename() == name && entry.is_regular_file(error) && entry.file_size(error) >= size &&
          !is_pointer(entry.path()) && seen.insert(fs::weakly_canonical(entry.path(), error)).second)
        found.push_back(entry.path());
    }
  };
  look(folder, 3);
  if (found.empty()) look(folder / "..", 1);
  return found;
}

/// Writes a path without detours.
std::string shown(const fs::path& path) { return path.lexically_normal().string(); }

std::string tensors_text(const DataFile& data) {
  if (data.tensors.size() == 1) return name_of(*data.tensors[0]) + " is";
  return fmt::format("{} and {} more are", name_of(*data.tensors[0]), data.tensors.size() - 1);
}

void set_location(const std::vector<TensorProto*>& tensors, const std::string& file) {
  for (TensorProto* tensor : tensors) {
    for (auto& entry : *tensor->mutable_external_data()) {
      if (entry.key() == "location") entry.set_value(file);
    }
  }
}

void say_missing(Patient& patient, const fs::path& folder, const std::string& file, const DataFile& data) {
  Finding& found = patient.add(Cause::external_data_missing, file);
  found.evidence.push_back(
      fmt::format("{} to be read from {}, which is not there", tensors_text(data), shown(folder / file)));
  const std::vector<fs::path> elsewhere = search(folder, fs::path(file).filename(), data.end);
  if (elsewhere.size() == 1) {
    found.evidence.push_back(fmt::format("a file of that name and size lies at {}", shown(elsewhere[0])));
    patient.moved[file] = elsewhere[0];
    found.repairs.push_back(
        {fmt::format("bring {} to where the model looks for it", shown(elsewhere[0])), [] {}});
    return;
  }
  for (const fs::path& candidate : elsewhere)
    found.evidence.push_back(fmt::format("a file of that name and size lies at {}", shown(candidate)));
  found.cure.push_back(
      fmt::format("put it there: cp {} {}",
                  elsewhere.empty() ? "PATH/" + fs::path(file).filename().string() : shown(elsewhere[0]),
                  shown(folder / file)));
  if (elsewhere.empty())
    found.cure.push_back("fetch it from where the model came from: both files belong together");
}

/// Says so even of a model that loads: a small tensor is then read out of the pointer's text.
void say_pointer(Patient& patient, const fs::path& folder, const std::string& file, const DataFile& data) {
  Finding& found = patient.findings.add(Cause::external_data_pointer, file);
  found.evidence.push_back(
      fmt::format("{} has {} bytes and begins with \"version https://git-lfs\"; {} to be read from it",
                  shown(folder / file), fs::file_size(folder / file), tensors_text(data)));
  found.cure.push_back(fmt::format("fetch the weights: git lfs pull --include={}, in the folder {}", file,
                                   fs::absolute(folder).lexically_normal().string()));
}

void check_file(Patient& patient, const fs::path& folder, const std::string& file, DataFile& data) {
  const fs::path relative = fs::path(file).lexically_normal();
  const fs::path place = folder / relative;
  std::error_code error;
  if (is_pointer(place)) return say_pointer(patient, folder, file, data);
  if (patient.loads) return;
  if (relative.is_absolute() || (!relative.empty() && *relative.begin() == "..")) {
    Finding& found = patient.add(Cause::external_data_outside, file);
    found.evidence.push_back(fmt::format("{} to be read from {}, outside the model's folder {}",
                                         tensors_text(data), file,
                                         fs::absolute(folder).lexically_normal().string()));
    const std::string name = relative.filename().string();
    if (!fs::is_regular_file(place, error) || fs::file_size(place, error) < data.end ||
        fs::exists(folder / name, error)) {
      found.cure.push_back("copy the file into the model's folder, and save the model with that location");
      return;
    }
    patient.moved[name] = place;
    found.repairs.push_back({fmt::format("bring {} into the model's folder", shown(place)),
                             [tensors = data.tensors, name] { set_location(tensors, name); }});
    return;
  }
  if (!fs::is_regular_file(place, error)) return say_missing(patient, folder, file, data);
  if (const uint64_t size = fs::file_size(place, error); size < data.end) {
    Finding& found = patient.add(Cause::external_data_short, file);
    found.evidence.push_back(
        fmt::format("{} has {} bytes, and the model reads {} of it", shown(place), size, data.end));
    found.cure.push_back(
        "fetch the file again: a download or a copy was cut off, or it belongs to another model");
  } else if (fs::is_symlink(place, error) && !patient.loads) {
    Finding& found = patient.add(Cause::external_data_outside, file);
    found.evidence.push_back(
        fmt::format("{} is a symbolic link, to {}", shown(place), fs::read_symlink(place, error).string()));
    std::string fresh = file + ".data";
    while (fs::exists(folder / fresh, error)) fresh += "_";
    patient.moved[fresh] = fs::canonical(place, error);
    found.repairs.push_back({fmt::format("bring the file itself into the folder, as {}", fresh),
                             [tensors = data.tensors, fresh] { set_location(tensors, fresh); }});
  }
}

}  // namespace

void check_tensors(Patient& patient) {
  const fs::path folder =
      patient.model.file.has_parent_path() ? patient.model.file.parent_path() : fs::path(".");
  std::map<std::string, DataFile> files;
  const Visit each = [&](TensorProto& tensor) {
    if (tensor.data_location() != TensorProto::EXTERNAL) {
      if (!patient.loads) check_size(patient, tensor);
      return;
    }
    const Location location = location_of(tensor);
    const int64_t elements = graph::count_elements(tensor);
    const int64_t wanted = elements < 0 ? 0 : (elements * bits_of(tensor.data_type()) + 7) / 8;
    if (!patient.loads && location.length >= 0 && elements >= 0 && location.length != wanted)
      say_size(patient, tensor, wanted, location.length, "bytes");
    DataFile& data = files[location.file];
    data.tensors.push_back(&tensor);
    data.end = std::max(data.end, static_cast<uint64_t>(std::max<int64_t>(location.offset, 0) +
                                                        (location.length >= 0 ? location.length : wanted)));
  };
  visit(*patient.model.proto.mutable_graph(), each);
  for (auto& function : *patient.model.proto.mutable_functions()) visit(*function.mutable_node(), each);
  for (auto& [file, data] : files) check_file(patient, folder, file, data);
}

}  // namespace graft::doctor
