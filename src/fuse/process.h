#pragma once
/// Lets another program be run, and what it prints be read.
///
///   ProcessResult result = run_process({"g++", "--version"});
#include <string>
#include <vector>

namespace graft::fuse {

struct ProcessResult {
  int exit_code = 0;   ///< 127: the program is not there; 128 and more: a signal ended it
  std::string output;  ///< standard output and error
};

/// Runs a program (found on PATH) to its end, without standard input.
ProcessResult run_process(const std::vector<std::string>& command);

}  // namespace graft::fuse
