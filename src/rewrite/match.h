#pragma once
/// Lets you ask whether a value of a model is what a definition defines, and if not, what stands in the way.
///
///   Matcher matcher(normal, types);
///   if (auto match = matcher.match(pattern, value)) ...
///   else if (auto miss = matcher.nearest_miss(pattern, value)) fmt::print("{}\n", code(miss->reason));
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/infer.h"
#include "rewrite/normal_form.h"
#include "rewrite/pattern.h"
#include "rewrite/reason.h"

namespace graft::rewrite {

struct Match {
  std::vector<ValueId> inputs;  ///< by the operator's inputs; `none` where the definition does not read one
  std::map<std::string, double> attributes;  ///< numbers that the definition left open
  std::map<std::string, std::vector<int64_t>> integers;
  std::vector<NodeId> nodes;       ///< that the operator stands for, the root among them
  std::vector<ValueId> constants;  ///< that were read
};

struct Miss {
  Reason reason;
  std::string detail;
  std::vector<NodeId> nodes;  ///< that are as the definition has it
};

class Matcher {
 public:
  Matcher(const NormalForm& model, const graph::Types& types) : model_(model), types_(types) {}

  /// Matches the definition's first output with a value. All of the ways to read the model are tried, within
  /// a budget.
  std::optional<Match> match(const Pattern& pattern, ValueId root);

  /// Says what is wrong with a value that is nearly what the definition defines; nothing when it is far from
  /// it.
  std::optional<Miss> nearest_miss(const Pattern& pattern, ValueId root);

  /// Tells whether the root is of the kind that the pattern's root is; a match needs that.
  bool may_match(const Pattern& pattern, ValueId root) const;

 private:
  struct Goal {
    ValueId wanted = none;
    ValueId found = none;
    bool wanted_scaled = false, found_scaled = false;
    int8_t sign = 1;
    bool under_tanh = false;
    int next = -1;
  };
  struct Mark {
    size_t goals, nodes, constants, misses;
    int structural;
  };

  bool run(const Pattern& pattern, ValueId root, size_t tolerated);
  bool solve(int goal);
  bool solve_input(const Goal& goal, int input);
  ValueId without_ones(ValueId value);
  bool solve_constant(const Goal& goal, ValueId wanted);
  bool solve_product(const Goal& goal, const Product& product);
  bool has_factors(const Product& product, ValueId found);
  bool solve_sum(const Goal& goal, ValueId wanted);
  bool solve_clip(const Goal& goal, ValueId wanted);
  bool solve_scaled_clip(const Goal& goal, ValueId wanted);
  bool solve_operation(const Goal& goal, ValueId wanted);
  bool solve_operands(const Goal& goal, const Operation& wanted, const Operation& found, bool swapped);
  bool solve_logistic(const Goal& goal, const Operation& wanted, ValueId sum);
  bool cut(const Goal& goal, const Product& product, std::vector<Factor>& frontier, size_t at,
           const Real& coefficient, int opened);
  bool settle_coefficient(const Goal& goal, const Product& product, const std::vector<Factor>& frontier,
                          Real coefficient);
  bool assign(const Goal& goal, const Product& product, const std::vector<Factor>& frontier,
              std::vector<int>& partner, size_t at);
  bool push_and_solve(std::vector<Goal> goals, int next);
  bool compatible(ValueId wanted, bool wanted_scaled, ValueId found, bool found_scaled, int8_t sign = 1,
                  int8_t exponent = 1) const;
  bool same_attributes(const Operation& wanted, const Operation& found);
  bool same_bound(const Bound& wanted, const Bound& found);

  /// Notes something in the way; false when no more is tolerated.
  bool miss(Reason reason, std::string detail);
  bool miss_constant(ValueId found, double wanted);
  bool use(const std::vector<NodeId>& nodes);
  bool use_constant(ValueId constant, NodeId reader);
  bool use_constants(const std::vector<std::pair<ValueId, NodeId>>& constants);
  bool bind(const std::string& attribute, double value, DataType type);
  std::string_view head(const NormalForm& normal, ValueId value) const;

  Mark mark() const { return {goals_.size(), nodes_.size(), constants_.size(), misses_.size(), structural_}; }
  void restore(const Mark& mark);

  const NormalForm& model_;
  const graph::Types& types_;
  const Pattern* pattern_ = nullptr;
  graph::ScopeId scope_ = none;
  std::vector<Goal> goals_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> input_keys_;
  std::map<std::string, double> attributes_;
  std::map<std::string, std::vector<int64_t>> integers_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> constants_;
  std::vector<Miss> misses_;
  ValueId region_root_ = none;
  std::vector<Factor> region_;
  size_t tolerated_ = 0;
  int steps_ = 0;
  int structural_ = 0;
  int best_ = 0;
  std::vector<NodeId> best_nodes_;
};

}  // namespace graft::rewrite
