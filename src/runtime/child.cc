#include "runtime/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace graft::runtime {
namespace {

constexpr char message_mark = 'm';
constexpr char finished_mark = 'f';

bool write_all(int file, const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(file, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

[[noreturn]] void live_as_child(const std::function<void(const Say&)>& work, int results) {
  // What the work prints, and what exit() flushes from buffers shared with the parent, must not be seen.
  const int nothing = open("/dev/null", O_RDWR);
  for (int stream = 0; stream < 3; ++stream) dup2(nothing, stream);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) std::signal(signal, SIG_DFL);
  // A library that calls exit() must not run what the parent has registered for its end: threads that this
  // would wait for are not in the child. Handlers run from the last to the first, so this one comes before
  // them.
  on_exit([](int code, void*) { _exit(code); }, nullptr);
  const Say say = [results](std::string_view text) {
    const uint64_t size = text.size();
    write_all(results, &message_mark, 1);
    write_all(results, &size, sizeof size);
    write_all(results, text.data(), text.size());
  };
  try {
    work(say);
  } catch (...) {
    std::abort();  // never unwind into the parent's copy of the caller
  }
  write_all(results, &finished_mark, 1);
  _exit(0);
}

/// Moves the complete messages out of what was received; true when the finished mark follows them.
bool unpack(std::string& received, std::vector<std::string>& messages) {
  while (!received.empty()) {
    if (received[0] == finished_mark) return true;
    uint64_t size = 0;
    constexpr size_t head = 1 + sizeof size;
    if (received.size() < head) return false;
    std::memcpy(&size, received.data() + 1, sizeof size);
    if (received.size() - head < size) return false;
    messages.push_back(received.substr(head, size));
    received.erase(0, head + size);
  }
  return false;
}

/// Collects messages until the child has finished, its end of the pipe closes, or the time is up.
enum class Collected { finished, closed, late };

Collected collect(int results, std::chrono::milliseconds patience, std::vector<std::string>& messages) {
  const auto end = std::chrono::steady_clock::now() + patience;
  std::string received;
  std::vector<char> buffer(65536);
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return Collected::late;
    pollfd waiting{results, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Collected::late;
    const ssize_t size = read(results, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return Collected::closed;
    received.append(buffer.data(), static_cast<size_t>(size));
    if (unpack(received, messages)) return Collected::finished;
  }
}

}  // namespace

ChildResult run_in_child(const std::function<void(const Say&)>& work, std::chrono::milliseconds patience) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    const int reason = errno;
    close(ends[0]);
    close(ends[1]);
    throw std::system_error(reason, std::generic_category(), "fork");
  }
  if (child == 0) {
    close(ends[0]);
    live_as_child(work, ends[1]);
  }
  close(ends[1]);
  ChildResult result;
  const Collected collected = collect(ends[0], patience, result.messages);
  close(ends[0]);
  if (collected == Collected::late) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (collected == Collected::finished) return result;
  if (collected == Collected::late) {
    result.end = ChildEnd::hung;
  } else if (WIFSIGNALED(status)) {
    result.end = ChildEnd::killed;
    result.number = WTERMSIG(status);
  } else {
    result.end = ChildEnd::left;
    result.number = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace graft::runtime
