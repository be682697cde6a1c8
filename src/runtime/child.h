#pragma once
/// Lets you run code that may crash, leave or hang, in a child process, and read what it said.
///
///   ChildResult result = run_in_child([](const Say& say) { say("loading"); ... }, std::chrono::seconds(20));
///   if (result.end == ChildEnd::killed) fmt::print("died by signal {}\n", result.number);
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace graft::runtime {

/// Sends one message to the parent.
using Say = std::function<void(std::string_view)>;

/// Names how the child ended: its work returned, it called exit, a signal killed it, or its time ran out.
enum class ChildEnd { finished, left, killed, hung };

struct ChildResult {
  ChildEnd end = ChildEnd::finished;
  int number = 0;                     ///< exit code or signal
  std::vector<std::string> messages;  ///< what it said, in order
};

/// Runs `work` in a fork of this process with its standard streams closed off, for at most `patience`. Its
/// memory is thrown away: only what it says comes back. std::system_error when no child can be started.
ChildResult run_in_child(const std::function<void(const Say&)>& work, std::chrono::milliseconds patience);

}  // namespace graft::runtime
