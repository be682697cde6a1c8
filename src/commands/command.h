#pragma once
/// Lets a command be one file: it adds its subcommand, and says what to do when that was chosen.
///
///   void add_describe(CLI::App& app, Command& chosen) {
///     auto arguments = std::make_shared<Arguments>();
///     CLI::App* command = app.add_subcommand("describe", "Say what a library registers");
///     add_common_options(*command, arguments->common);
///     command->callback([arguments, &chosen] { chosen = [arguments] { return describe(*arguments); }; });
///   }
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace CLI {
class App;
}

namespace graft {

/// Does the work and gives the exit code; errors are thrown (error.h).
using Command = std::function<int()>;

struct CommonOptions {
  std::string runtime;
  bool json = false;
  bool quiet = false;
};

/// Adds --json, --quiet and, where the command runs models, --runtime.
void add_common_options(CLI::App& command, CommonOptions& options, bool runs_models = true);

/// Reads what --shape gives, NAME=1,3,32,32 each. InputError says what is wrong with it.
std::map<std::string, runtime::Shape> parse_shapes(const std::vector<std::string>& texts);

/// Reads what --input gives: NAME=FILE each, or a .npz file whose arrays bear the names of the inputs.
std::map<std::string, runtime::Tensor> read_inputs(const std::vector<std::string>& texts);

void add_bench(CLI::App& app, Command& chosen);
void add_check(CLI::App& app, Command& chosen);
void add_describe(CLI::App& app, Command& chosen);
void add_doctor(CLI::App& app, Command& chosen);
void add_eject(CLI::App& app, Command& chosen);
void add_fuse(CLI::App& app, Command& chosen);
void add_inject(CLI::App& app, Command& chosen);
void add_verify(CLI::App& app, Command& chosen);

}  // namespace graft
