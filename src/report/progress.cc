#include "report/progress.h"

#include <unistd.h>

#include <cstdio>

namespace graft::report {

Progress::Progress(bool wanted) : wanted_(wanted && ::isatty(STDERR_FILENO) != 0) {}

void Progress::say(const std::string& what) {
  if (!wanted_) return;
  std::fprintf(stderr, "\r\033[K%s ...", what.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace graft::report
