#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "commands/command.h"
#include "graph/nearest.h"
#include "error.h"

namespace {

/// Makes one line of a text of several.
std::string one_line(std::string text) {
  std::string line;
  for (const char c : text) {
    if (c != '\n' && c != '\r') {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

int complain(const std::string& text, int code) {
  std::fflush(stdout);
  fmt::print(stderr, "graft: error: {}\n", one_line(text));
  return code;
}

bool is_command(const CLI::App& app, const std::string& word) {
  const auto commands = app.get_subcommands(nullptr);
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return command->get_name() == word; });
}

/// Lets an option that may be given several times take one value each time, so that `--library LIB MODEL` leaves the
/// model alone.
void take_one_value_each(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    for (CLI::Option* option : command->get_options()) {
      if (!option->get_positional()) option->allow_extra_args(false);
    }
  }
}

/// Says which command was meant by a word that is none.
std::string explain_unknown_command(const CLI::App& app, const std::string& word) {
  std::string nearest;
  size_t least = 3;
  std::string all;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    const std::string name = command->get_name();
    all += (all.empty() ? "" : ", ") + name;
    if (const size_t changes = graft::graph::distance(word, name); changes < least) {
      least = changes;
      nearest = name;
    }
  }
  if (!nearest.empty()) return fmt::format("`{}` is not a command; did you mean `{}`?", word, nearest);
  return fmt::format("`{}` is not a command; there are {}", word, all);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Grafts C++ operators into ONNX models: the operator's definition is looked for in the model, "
      "replaced, and kept\n"
      "as a fallback, so that the model runs everywhere and faster where the library is.");
  app.name("graft");
  app.set_version_flag("--version", "graft " GRAFT_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit code: 0 done, 1 the answer is bad (drift, no match), 2 the call or an input file is wrong.\n"
      "`graft COMMAND --help` explains a command.");
  graft::Command chosen;
  graft::add_inject(app, chosen);
  graft::add_fuse(app, chosen);
  graft::add_eject(app, chosen);
  graft::add_verify(app, chosen);
  graft::add_bench(app, chosen);
  graft::add_check(app, chosen);
  graft::add_describe(app, chosen);
  graft::add_doctor(app, chosen);
  take_one_value_each(app);
  try {
    if (argc > 1 && argv[1][0] != '-' && !is_command(app, argv[1]))
      return complain(explain_unknown_command(app, argv[1]), 2);
    app.parse(argc, argv);
    return chosen();
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::RequiredError& error) {
    if (argc > 1)
      return complain(std::string(error.what()) + fmt::format(" (see `graft {} --help`)", argv[1]), 2);
    fmt::print("{}", app.help());
    return 2;
  } catch (const CLI::ParseError& error) {
    return complain(error.what(), 2);
  } catch (const graft::AnswerError& error) {
    return complain(error.what(), 1);
  } catch (const graft::InputError& error) {
    return complain(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", 2);
  } catch (const std::exception& error) {
    return complain(error.what(), 2);
  }
}
