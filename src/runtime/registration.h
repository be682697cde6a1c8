#pragma once
/// Lets you see what any library registers with ONNX Runtime, whatever it was made with, and how it fails:
/// its RegisterCustomOps is called in a child process, and every call that it makes is noted.
///
///   Registration seen = watch_registration(runtime, "libmy_ops.so");
///   if (seen.stage == Registration::registered) fmt::print("{} operators\n", seen.operators.size());
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/child.h"
#include "runtime/runtime.h"

namespace graft::runtime {

struct Registration {
  /// Tells how far the library came; in the order of the steps.
  enum Stage { unreadable, not_loaded, no_entry_point, refused, registered };

  Stage stage = unreadable;
  std::string text;                   ///< what the loader or ORT said
  ChildEnd end = ChildEnd::finished;  ///< not `finished`: the process died, at the step after `stage`
  int number = 0;                     ///< its signal or exit code
  bool died_at_load = false;
  int asked_version = 0;  ///< the newest API version that the library asked for
  std::vector<std::string> domains;
};

/// Loads the library in a child process and has it register its operators there.
Registration watch_registration(const Runtime& runtime, const std::filesystem::path& file,
                                std::chrono::milliseconds patience = std::chrono::seconds(20));

/// Lists the symbols of a shared library that contain a text, mangled ones and those that it hides too.
std::vector<std::string> symbols_like(const std::filesystem::path& file, const std::string& text);

}  // namespace graft::runtime
