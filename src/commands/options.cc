#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "commands/command.h"
#include "error.h"

namespace graft {

void add_common_options(CLI::App& command, CommonOptions& options, bool runs_models) {
  if (runs_models) {
    command.add_option("--runtime", options.runtime,
                       "ONNX Runtime to use: its library, or a folder that holds it (else ORT_LIBRARY, else "
                       "the Python in use)");
  }
  command.add_flag("--json", options.json, "Print the report as JSON");
  command.add_flag("--quiet", options.quiet, "Print no report");
}

std::map<std::string, runtime::Shape> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, runtime::Shape> shapes;
  for (const std::string& text : texts) {
    const auto fail = [&](const std::string& what) {
      throw InputError(fmt::format("--shape {}: {}", text, what));
    };
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) fail("write it as NAME=1,3,32,32");
    runtime::Shape& shape = shapes[text.substr(0, equals)];
    shape.clear();
    const std::string sizes = text.substr(equals + 1);
    if (sizes.ends_with(',')) fail("a size is missing at the end");
    for (size_t at = 0; at < sizes.size();) {
      const size_t end = std::min(sizes.find(',', at), sizes.size());
      const std::string size = sizes.substr(at, end - at);
      if (size.empty() || size.size() > 12 || size.find_first_not_of("0123456789") != std::string::npos)
        fail(fmt::format("\"{}\" is not a size", size));
      shape.push_back(std::stoll(size));
      at = end + 1;
    }
  }
  return shapes;
}

std::map<std::string, runtime::Tensor> read_inputs(const std::vector<std::string>& texts) {
  std::map<std::string, runtime::Tensor> values;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos && text.ends_with(".npz")) {
      values.merge(runtime::read_npz(text));
      continue;
    }
    if (equals == std::string::npos || equals == 0)
      throw InputError(fmt::format("--input {}: write it as NAME=FILE", text));
    values[text.substr(0, equals)] = runtime::read_tensor(text.substr(equals + 1));
  }
  return values;
}

}  // namespace graft
