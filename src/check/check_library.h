#pragma once
/// Lets you check all operators of a library, each with each combination of element types in a process of its
/// own.
///
///   for (const Checked& one : check_library(runtime, "libmy_ops.so", {})) fmt::print("{}\n",
///   to_string(one.subject));
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "check/finding.h"
#include "check/subject.h"
#include "runtime/runtime.h"

namespace graft::check {

struct CheckOptions {
  std::vector<std::filesystem::path> definitions =
      {};                                   ///< files that say what operators mean, rewrite/definition_file.h
  std::vector<std::string> operators = {};  ///< names, with or without domain; none: all
  std::map<std::string, runtime::Shape> shapes = {};  ///< by input, in place of those that are tried
  int threads = 4;                                    ///< most threads within an operator
  double seconds = 120;  ///< for all of it; an operator that is not done by its share is cut short
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct Checked {
  Subject subject;
  Report report;
};

struct CheckedLibrary {
  bool recorded = false;  ///< it was not made with Graft: attributes and definitions are not known
  std::vector<Checked> checked;
  int64_t newest_opset = 17;

  int64_t findings() const;
};

/// Checks a library. InputError when it does not load, or an operator that was named is not in it.
CheckedLibrary check_library(std::shared_ptr<runtime::Runtime> runtime, const std::filesystem::path& library,
                             const CheckOptions& options);

}  // namespace graft::check
