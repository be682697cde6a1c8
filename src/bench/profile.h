#pragma once
/// Lets you read what ORT's profile says of every node: its time, its provider, and the tensors that it was
/// given and gave.
///
///   Profile profile = read_profile(text, "profile.json", 2);
///   for (const OperatorUse& use : profile.operators) fmt::print("{} {} calls\n", use.op, use.nodes.size());
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graft::bench {

/// Holds one node of the model as ORT runs it (after its own optimisation), in the order of execution; a node
/// inside of a loop stands here once for each pass.
struct NodeUse {
  std::string name;
  std::string op;
  std::string provider;
  double milliseconds = 0;           ///< median over the runs, without the nodes of its subgraphs
  std::optional<uint64_t> bytes_in;  ///< of all inputs, parameters included; nothing where ORT does not say
  std::optional<uint64_t> bytes_out;

  std::optional<uint64_t> bytes() const {
    return bytes_in && bytes_out ? std::optional(*bytes_in + *bytes_out) : std::nullopt;
  }
};

/// Gathers the nodes of one operator type.
struct OperatorUse {
  std::string op;
  std::vector<std::string> providers;
  std::vector<size_t> nodes;         ///< places in Profile::nodes
  std::vector<double> milliseconds;  ///< of all its nodes, one figure a run
  uint64_t bytes_in = 0, bytes_out = 0;
  size_t without_bytes = 0;  ///< nodes of which ORT does not tell the tensors
};

struct Profile {
  std::vector<double> run_milliseconds;  ///< whole runs, as ORT times them
  std::vector<NodeUse> nodes;
  std::vector<OperatorUse> operators;  ///< the one that takes longest first
};

/// Tells whether an operator gives its input on under another shape, or looks at nothing but the shape: it
/// moves no bytes worth counting.
bool moves_nothing(std::string_view op);

/// Reads a profile, without its first `warm_up` runs. ORT counts whole microseconds, cut off; half of one is
/// added to each figure, which is right on average. `who` names the profile in errors. InputError when it is
/// none, or holds no run.
Profile read_profile(std::string_view json, const std::string& who, size_t warm_up = 0);

}  // namespace graft::bench
