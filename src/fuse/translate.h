#pragma once
/// Lets one ONNX node be said in the words of a fused program (ops/fused/program.h).
///
///   if (const std::string why = why_not_elementwise(view, node); !why.empty()) ...   // it stays
///   ProgramBuilder builder(view);
///   builder.add(node);                    // node after node, in topological order
///   Translation found = builder.finish({output});
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fuse/view.h"
#include "ops/fused/program.h"

namespace graft::fuse {

/// Gives the type of a program's value that stands for tensors of an element type; nothing for types that
/// programs do not compute with.
std::optional<fused::Type> program_type(DataType type);

/// Gives the element type that a program's type stands for.
DataType data_type(fused::Type type);

/// Says why a node is no elementwise operator that a program can compute, in a few words ("MatMul is not
/// elementwise", "Clip reads a min that is no scalar"); empty when it can.
std::string why_not_elementwise(const View& view, int node);

/// Is a program with the values of the view that its inputs are.
struct Translation {
  fused::Program program;
  std::vector<int> inputs;
  std::vector<std::vector<int>>
      literals;  ///< by the program's value: the constants of the view that it stands for. Empty
                 ///< for what is no constant, or also comes from what an operator means
};

/// Builds the program of a set of nodes. What a node means comes from the ONNX standard at the node's opset.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(const View& view) : view_(view) {}

  /// Adds a node; empty, or why it cannot be added (nothing is added then).
  std::string add(int node);

  /// Ends the program with the view's values that it gives, each made by a node that was added.
  Translation finish(const std::vector<int>& outputs) const;

 private:
  friend class NodeTranslator;
  struct Statement {
    fused::Value value;
    int input = -1;                  ///< the view's value, of an input
    std::vector<int> literals = {};  ///< of a constant: the view's values that it stands for
    bool meant = false;              ///< of a constant: an operator's meaning needs it
  };

  int append(const fused::Value& value);
  int read(int value, bool literal);

  const View& view_;
  std::vector<Statement> statements_;
  std::unordered_map<int, int> made_;    ///< view's value -> statement that computes it
  std::unordered_map<int, int> inputs_;  ///< view's value -> statement `in`
};

}  // namespace graft::fuse
