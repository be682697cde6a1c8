#include "runtime/scratch_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <string>

#include "error.h"

namespace graft::runtime {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "graft-XXXXXX").string();
  if (!mkdtemp(name.data())) throw InputError(fmt::format("{}: the folder cannot be made", name));
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace graft::runtime
