#include "graph/model.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace graft::graph {
namespace {

namespace fs = std::filesystem;

/// Closes a file descriptor when it goes.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

/// Maps a file read-only for as long as it lives.
struct Mapping {
  const char* bytes = nullptr;
  size_t size = 0;
  ~Mapping() {
    if (bytes) ::munmap(const_cast<char*>(bytes), size);
  }
};

void map_file(const fs::path& file, Mapping& mapping) {
  Descriptor descriptor{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (descriptor.number < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      throw InputError(fmt::format("{}: the file does not exist", file.string()));
    throw InputError(fmt::format("{}: the file cannot be read: {}", file.string(), std::strerror(errno)));
  }
  struct stat status {};
  if (::fstat(descriptor.number, &status) != 0)
    throw InputError(fmt::format("{}: the file cannot be read: {}", file.string(), std::strerror(errno)));
  if (S_ISDIR(status.st_mode))
    throw InputError(fmt::format("{}: this is a folder, not a model file", file.string()));
  if (!S_ISREG(status.st_mode))
    throw InputError(fmt::format("{}: this is not a regular file", file.string()));
  if (status.st_size == 0) throw InputError(fmt::format("{}: the file is empty", file.string()));
  mapping.size = static_cast<size_t>(status.st_size);
  void* bytes = ::mmap(nullptr, mapping.size, PROT_READ, MAP_PRIVATE, descriptor.number, 0);
  if (bytes == MAP_FAILED)
    throw InputError(fmt::format("{}: the file cannot be read: {}", file.string(), std::strerror(errno)));
  mapping.bytes = static_cast<const char*>(bytes);
}

/// Keeps protobuf's own complaints off stderr; the command says it in its own words.
struct SilentProtobuf {
  google::protobuf::LogHandler* before = google::protobuf::SetLogHandler(nullptr);
  ~SilentProtobuf() { google::protobuf::SetLogHandler(before); }
};

}  // namespace

Model read_model(const fs::path& file) {
  Model model;
  model.file = file;
  Mapping mapping;
  map_file(file, mapping);
  model.size = mapping.size;
  if (mapping.size > static_cast<size_t>(INT32_MAX))
    throw InputError(fmt::format(
        "{}: the file has {} bytes, a model file may have 2 GiB at most; keep the weights in external data",
        file.string(), mapping.size));
  SilentProtobuf silent;
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(mapping.bytes),
                                               static_cast<int>(mapping.size));
  input.SetTotalBytesLimit(INT32_MAX);
  const bool parsed = model.proto.ParseFromCodedStream(&input) && input.ConsumedEntireMessage();
  if (!parsed || !model.proto.has_graph()) {
    std::string cause = explain_not_a_model(mapping.bytes, mapping.size);
    if (cause.empty())
      cause = parsed ? "this is not an ONNX model: it has no graph"
                     : "this is not an ONNX model, or it is damaged";
    throw InputError(fmt::format("{}: {}", file.string(), cause));
  }
  return model;
}

StagedModel::StagedModel(const Model& input, const fs::path& output,
                         const std::map<std::string, fs::path>& moved)
    : output_(output) {
  std::error_code ignored;
  if (output_.filename().empty() || fs::is_directory(output_, ignored))
    throw InputError(fmt::format("{}: the output is a folder; name a file", output.string()));
  if (fs::equivalent(input.file, output_, ignored))
    throw InputError(fmt::format(
        "{}: the output is the input itself, which is never changed; give another name", output.string()));
  const fs::path folder = output_.has_parent_path() ? output_.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored))
    throw InputError(
        fmt::format("{}: the output's folder {} does not exist", output.string(), folder.string()));
  std::string name = (folder / ("." + output_.filename().string() + ".XXXXXX")).string();
  Descriptor descriptor{::mkostemp(name.data(), O_CLOEXEC)};
  if (descriptor.number < 0)
    throw InputError(
        fmt::format("{}: the output cannot be written: {}", output.string(), std::strerror(errno)));
  temporary_ = name;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  (void)::fchmod(descriptor.number, 0666 & ~mask);
  try {
    bring_external_data(input, moved);
  } catch (...) {
    for (const fs::path& file : brought_) fs::remove(file, ignored);
    for (auto made = folders_.rbegin(); made != folders_.rend(); ++made) fs::remove(*made, ignored);
    fs::remove(temporary_, ignored);
    throw;
  }
}

StagedModel::~StagedModel() {
  if (committed_) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
  for (const fs::path& file : brought_) fs::remove(file, ignored);
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) fs::remove(*folder, ignored);
}

void StagedModel::write(const onnx::ModelProto& proto) {
  if (proto.ByteSizeLong() > static_cast<size_t>(INT32_MAX))
    throw InputError(fmt::format(
        "{}: the result would be larger than 2 GiB; keep the weights in external data", output_.string()));
  Descriptor descriptor{::open(temporary_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)};
  if (descriptor.number < 0)
    throw InputError(
        fmt::format("{}: the output cannot be written: {}", output_.string(), std::strerror(errno)));
  google::protobuf::io::FileOutputStream stream(descriptor.number);
  if (!proto.SerializePartialToZeroCopyStream(&stream) || !stream.Flush())
    throw InputError(fmt::format("{}: the output cannot be written: {}", output_.string(),
                                 std::strerror(stream.GetErrno() ? stream.GetErrno() : EIO)));
}

void StagedModel::write_unchanged(const Model& input) {
  std::error_code error;
  fs::copy_file(input.file, temporary_, fs::copy_options::overwrite_existing, error);
  if (error)
    throw InputError(fmt::format("{}: the output cannot be written: {}", output_.string(), error.message()));
}

void StagedModel::commit() {
  std::error_code error;
  fs::rename(temporary_, output_, error);
  if (error)
    throw InputError(fmt::format("{}: the output cannot be written: {}", output_.string(), error.message()));
  committed_ = true;
}

}  // namespace graft::graph
