#pragma once
/// Lets you put the operators of libraries in the places of a model that compute what they define.
///
///   Injection injection = inject(model.proto, {describe_library("libgraft_ops.so")}, {});
///   for (const Site& site : injection.sites) fmt::print("{} makes {}\n", site.op, site.output);
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onnx-ml.pb.h"
#include "rewrite/neighbourhood.h"
#include "rewrite/reason.h"
#include "runtime/library.h"

namespace graft::rewrite {

/// Names a place that is to be replaced, and by what.
struct PlannedPlace {
  std::string op;     ///< "graft:HardSwish"
  std::string scope;  ///< as Site has it
  std::string output;
};

struct InjectOptions {
  std::vector<std::string> operators = {};  ///< names to look for, with or without domain; none: all of them
  std::vector<std::string> only = {};       ///< replace nothing but places that one of these patterns names
  std::vector<std::string> skip = {};       ///< leave places that one of these patterns names
  std::optional<std::vector<PlannedPlace>> plan = {};  ///< replace exactly these
  bool exact = false;                                  ///< decline what is the same within rounding only
  bool keep_ir = false;               ///< do not raise the IR version, and embed no functions below 8
  std::filesystem::path folder = {};  ///< of the model, where its external data is
  bool neighbourhoods = false;        ///< give the places as models of their own, too
};

/// Is a place that was replaced.
struct Site {
  std::string op;  ///< "graft:HardSwish"
  std::string scope;
  std::vector<std::string> inputs;
  std::string output;
  std::map<std::string, double> attributes;
  runtime::DataType type = runtime::DataType::undefined;
  bool exact = false;
  bool inner_value_read = false;  ///< nodes stay, since a value inside is read elsewhere
};

/// Is a place that is nearly what an operator defines, or that was refused.
struct NearMiss {
  std::string op;
  std::string scope;
  std::string output;
  Reason reason = Reason::not_the_pattern;
  std::string detail;
};

struct Injection {
  std::vector<Site> sites;
  std::vector<NearMiss> misses;
  std::map<std::string, int>
      already;  ///< nodes of the libraries' operators that were there before, by operator
  std::vector<std::string> searched;      ///< operators that have a definition
  std::vector<std::string> undefined;     ///< operators without one, which cannot be looked for
  std::vector<std::string> notes;         ///< what a user should know, one line each
  int nodes_before = 0, nodes_after = 0;  ///< of the model's graphs and functions, without the embedded ones
  bool embedded = false;                  ///< the result runs without the libraries
  std::vector<Neighbourhood>
      neighbourhoods;             ///< one for all places that look alike, when they were asked for
  int without_neighbourhood = 0;  ///< places that cannot be run alone
  bool changed() const { return !sites.empty(); }
};

/// Rewrites a model in place. A pattern is one of the shell (*, ?), and names a place by the value that
/// is made there, by its node, or by "scope:value". InputError when an operator's definition cannot be read,
/// an operator asked for is not there, a pattern names no place, or a planned place cannot be replaced.
Injection inject(onnx::ModelProto& model, const std::vector<runtime::LibraryDescription>& libraries,
                 const InjectOptions& options);

}  // namespace graft::rewrite
