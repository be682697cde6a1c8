#pragma once
/// Lets files be written that are needed for a moment: a folder of its own, gone with all that is in it.
///
///   const ScratchFolder folder;
///   write_file(folder.path() / "before.onnx", bytes);
#include <filesystem>

namespace graft::runtime {

class ScratchFolder {
 public:
  /// Makes the folder where the system keeps temporary files; InputError when it cannot.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace graft::runtime
