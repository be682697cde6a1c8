#pragma once
/// Lets a person at a terminal see what takes so long; elsewhere nothing is printed.
///
///   Progress progress(!quiet);
///   progress.say("comparing outputs");
#include <string>

namespace graft::report {

class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows one line on stderr in place of the last one.
  void say(const std::string& what);

  /// Takes the line away, before something is printed.
  void clear();

 private:
  bool shown_ = false;
  bool wanted_;
};

}  // namespace graft::report
