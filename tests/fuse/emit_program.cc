// Reads programs, a line each, and makes a library of them, for the tests.
//
//   emit_program source SOURCE [DOMAIN] < programs            # the source; prints the operators' names, a
//   line each emit_program library LIBRARY SOURCE [DOMAIN] < programs   # compiles it too; $PARTS files,
//   $COMPILER emit_program compile LIBRARY SOURCE                       # compiles what is there emit_program
//   flags                                        # prints the flags of sources, entry points and the linker
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fuse/compile.h"
#include "fuse/emit.h"
#include "runtime/files.h"
#include "runtime/scratch_folder.h"

namespace {

using namespace graft;
namespace fs = std::filesystem;

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

std::vector<fuse::Operator> read_operators() {
  std::vector<fuse::Operator> operators;
  std::set<std::string> taken;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    fuse::Operator op;
    // PROGRAM [| places | input names, one space between | where]
    std::vector<std::string> fields;
    for (size_t at = 0; at <= line.size();) {
      const size_t end = std::min(line.find('|', at), line.size());
      fields.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    const auto words = [](const std::string& text) {
      std::vector<std::string> result;
      std::string word;
      for (const char c : text + " ") {
        if (c != ' ')
          word += c;
        else if (!word.empty())
          result.push_back(std::exchange(word, ""));
      }
      return result;
    };
    op.program = fused::read_program(fields[0]);
    if (fields.size() > 1) op.places = std::atoi(fields[1].c_str());
    if (fields.size() > 2) op.input_names = words(fields[2]);
    if (fields.size() > 3) op.where = words(fields[3]);
    op.name = fuse::name_for(op.program, taken);
    std::printf("%s\n", op.name.c_str());
    operators.push_back(op);
  }
  return operators;
}

void print(const std::vector<std::string>& words) {
  for (const std::string& word : words) std::printf("%s ", word.c_str());
  std::printf("\n");
}

int run(const std::vector<std::string>& words) {
  fuse::CompileOptions options;
  options.compiler = variable("COMPILER", "");
  options.use_cache = variable("CACHE", "1") == "1";
  if (words[0] == "flags") {
    const fuse::Compiler compiler = fuse::find_compiler(options.compiler);
    print(fuse::compile_flags(compiler, options, false));
    print(fuse::compile_flags(compiler, options, true));
    print(fuse::link_flags(options));
    return 0;
  }
  fuse::Compiled done;
  if (words[0] == "compile") {
    done = fuse::compile_library({words.at(2)}, words.at(1), options);
  } else {
    const bool source_only = words[0] == "source";
    const std::string source = words.at(source_only ? 1 : 2);
    const std::string domain = words.size() > (source_only ? 2 : 3) ? words.back() : "test.fused";
    const auto operators = read_operators();
    runtime::write_file(source, fuse::write_source(domain, operators, "model.onnx"));
    if (source_only) return 0;
    const runtime::ScratchFolder scratch;
    std::vector<fs::path> parts;
    for (const std::string& text :
         fuse::write_parts(domain, operators, "model.onnx", fs::path(source).filename().string(),
                           size_t(std::atoi(variable("PARTS", "2").c_str())))) {
      parts.push_back(scratch.path() / (std::to_string(parts.size()) + ".cc"));
      runtime::write_file(parts.back(), text);
    }
    options.shown_source = source;
    done = fuse::compile_library(parts, words.at(1), options);
  }
  std::fprintf(stderr, "%s: %.2f s, %d compiled, %d cached\n", done.compiler.c_str(), done.seconds,
               done.compiled, done.cached);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return argc < 2 ? 2 : run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
