#pragma once
/// Lets fused regions be written as C++ that a person would write: one function object for each operator, and
/// the block that registers them.
///
///   std::set<std::string> taken;
///   Operator op{.name = name_for(program, taken), .program = program, .places = 3};
///   write_file("fused.cc", write_source("my.model", {op}, "model.onnx"));
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ops/fused/program.h"

namespace graft::fuse {

/// Is one operator of the library to be: what it computes, and what its comment says.
struct Operator {
  std::string name;  ///< in PascalCase, one of its own within the library: see name_for
  fused::Program program;
  std::vector<std::string>
      input_names;  ///< after their roles ("x", "scale"); empty: chosen by what is done with them
  int places = 1;   ///< how many regions of the model it serves
  std::vector<std::string> where;  ///< a few names of values that it makes
  std::string definition;          ///< what it means in ONNX's operators; empty: as it is traced
  int64_t definition_opset = 0;
};

/// Gives the names of an operator's inputs as its source has them: those wanted, made into words that C++
/// takes, or words for what the program does with each.
std::vector<std::string> input_names_for(const fused::Program& program,
                                         const std::vector<std::string>& wanted = {});

/// Names a program after what it computes, in the order of the computation: "MulAddHardSwish". The name is
/// not among those taken, and is added to them.
std::string name_for(const fused::Program& program, std::set<std::string>& taken);

/// Writes the operators as one readable file.
std::string write_source(const std::string& domain, const std::vector<Operator>& operators,
                         const std::string& made_from);

/// Writes them as `parts` files that compile side by side into the same library. The compiler is told that
/// their lines are those of the one file, which lies at `path`.
std::vector<std::string> write_parts(const std::string& domain, const std::vector<Operator>& operators,
                                     const std::string& made_from, const std::string& path, size_t parts);

}  // namespace graft::fuse
