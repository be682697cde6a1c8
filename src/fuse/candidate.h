#pragma once
/// Lets a choice of regions be tried: the model with them fused, as a file that can be run, and whether ORT
/// still does everything else that it did.
///
///   Operators operators = portable_operators(analysis, "libgraft_ops.so");
///   Candidate candidate = make_candidate(runtime, analysis, operators, chosen, "faster.onnx", libraries);
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "fuse/analysis.h"
#include "fuse/surgery.h"
#include "graph/model.h"

namespace graft::fuse {

/// Says which operators compute the kinds of an analysis.
struct Operators {
  std::filesystem::path library;
  std::string domain;
  std::vector<std::string> names;  ///< by kind; empty: there is none for it
  std::vector<std::vector<std::string>>
      parameters;              ///< by kind: the attributes' names; none: those of the kind
  bool take_programs = false;  ///< the operator's node brings the program as an attribute
};

/// Adds a library to a model's own, unless it is one of them: no session takes a domain twice.
std::vector<std::filesystem::path> with_library(std::vector<std::filesystem::path> libraries,
                                                const std::filesystem::path& library);

/// Gives names of the ready-made operators of a library to the kinds, in the order of `wanted` (kinds, the
/// most important first), as long as there are names for their types that the model has no use for yet.
/// InputError when the library has no such operators.
Operators portable_operators(const Analysis& analysis, const std::filesystem::path& library,
                             const std::vector<size_t>& wanted);

struct CompiledAs {
  std::filesystem::path source, library;  ///< to write
  std::string domain;
  std::string compiler;  ///< empty: the one that is found
};

/// Writes the operators of all kinds as one C++ file and compiles it. Errors are those of compile_library.
/// `seconds` is what the compiler took.
Operators compiled_operators(const Analysis& analysis, const CompiledAs& as, std::string& compiler,
                             double& seconds);

struct Candidate {
  std::unique_ptr<graph::StagedModel> file;
  std::vector<size_t> sites;       ///< that are fused in it
  std::vector<std::string> nodes;  ///< names of their new nodes
  std::vector<std::string> notes;
  bool embedded = false;
  int nodes_after = 0;
};

/// Writes the model with the chosen sites fused, beside `output`. Sites whose kind has no operator are left.
Candidate make_candidate(const Analysis& analysis, const Operators& operators,
                         const std::vector<size_t>& chosen, const std::filesystem::path& output);

/// Lists the sites of a candidate that took something away that ORT did before; empty when all its own
/// fusions are still there.
std::vector<size_t> in_the_way(const std::shared_ptr<runtime::Runtime>& runtime, const Analysis& analysis,
                               const Operators& operators, const Candidate& candidate,
                               const std::vector<std::filesystem::path>& libraries);

}  // namespace graft::fuse
