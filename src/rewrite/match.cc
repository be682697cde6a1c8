#include "rewrite/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "graph/names.h"
#include "rewrite/opsets.h"

namespace graft::rewrite {
namespace {

/// Bounds the search for one definition at one value; real matches take a few dozen steps.
constexpr int most_steps = 4000;

/// How much of a product is looked at before its factors are tried.
constexpr size_t most_region = 16;

/// How many things may stand in the way of a near miss.
constexpr size_t most_misses = 4;

const std::set<std::string_view> commutative = {
    "Equal", "And", "Or", "Xor", "Max", "Min", "Sum", "Mean", "BitwiseAnd", "BitwiseOr", "BitwiseXor"};

/// Operators whose inputs broadcast, so that a constant's rank may raise that of the result.
const std::set<std::string_view> broadcasting = {
    "Equal", "And",         "Or",         "Xor",       "Max",        "Min",     "Sum", "Mean",
    "Less",  "LessOrEqual", "Where",      "Pow",       "Mod",        "PRelu",   "Add", "Sub",
    "Mul",   "Div",         "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"};

struct DefaultValue {
  std::string_view op, attribute;
  double value;
};

/// What an attribute means when it is left out.
constexpr DefaultValue default_values[] = {{"", "keepdims", 1},
                                           {"", "noop_with_empty_axes", 0},
                                           {"Softmax", "axis", -1},
                                           {"LogSoftmax", "axis", -1},
                                           {"LeakyRelu", "alpha", 0.01f},
                                           {"Elu", "alpha", 1},
                                           {"Celu", "alpha", 1},
                                           {"ThresholdedRelu", "alpha", 1},
                                           {"HardSigmoid", "alpha", 0.2f},
                                           {"HardSigmoid", "beta", 0.5},
                                           {"Gemm", "alpha", 1},
                                           {"Gemm", "beta", 1},
                                           {"Gemm", "transA", 0},
                                           {"Gemm", "transB", 0},
                                           {"DFT", "onesided", 0},
                                           {"DFT", "inverse", 0},
                                           {"STFT", "onesided", 1},
                                           {"Mod", "fmod", 0},
                                           {"LayerNormalization", "axis", -1},
                                           {"CumSum", "exclusive", 0},
                                           {"CumSum", "reverse", 0},
                                           {"Gather", "axis", 0},
                                           {"GatherElements", "axis", 0},
                                           {"Flatten", "axis", 1},
                                           {"IsInf", "detect_negative", 1},
                                           {"IsInf", "detect_positive", 1},
                                           {"Selu", "alpha", 1.67326319217681884765625},
                                           {"Selu", "gamma", 1.05070102214813232421875},
                                           {"Reshape", "allowzero", 0},
                                           {"Trilu", "upper", 1},
                                           {"ArgMax", "axis", 0},
                                           {"ArgMin", "axis", 0},
                                           {"ArgMax", "select_last_index", 0},
                                           {"ArgMin", "select_last_index", 0}};

std::optional<double> default_value(std::string_view op, std::string_view attribute) {
  for (const DefaultValue& entry : default_values) {
    if (entry.attribute == attribute && (entry.op.empty() ? op.substr(0, 6) == "Reduce" : entry.op == op))
      return entry.value;
  }
  return {};
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

std::string number(double value) { return fmt::format("{:.9g}", value); }

}  // namespace

void Matcher::restore(const Mark& mark) {
  goals_.resize(mark.goals);
  nodes_.resize(mark.nodes);
  constants_.resize(mark.constants);
  misses_.resize(mark.misses, {Reason::not_the_pattern, "", {}});
  structural_ = mark.structural;
}

bool Matcher::miss(Reason reason, std::string detail) {
  if (misses_.size() >= tolerated_) return false;
  misses_.push_back({reason, std::move(detail), {}});
  return true;
}

/// Notes why a value cannot stand where the definition has a constant.
bool Matcher::miss_constant(ValueId found, double wanted) {
  if (tolerated_ == 0) return false;
  const std::string name(model_.index().value(found).name);
  const graph::Constant* constant = model_.constants().find(found);
  if (!constant || !constant->attribute.empty())
    return miss(Reason::constant_unknown,
                fmt::format("`{}` is computed where the definition has {}", name, number(wanted)));
  if (constant->overridable)
    return miss(Reason::constant_overridable, fmt::format("`{}` is also an input", name));
  if (!constant->readable) return miss(Reason::constant_unknown, fmt::format("`{}` cannot be read", name));
  if (constant->count == 1)
    return miss(Reason::constant_differs, fmt::format("`{}` is {} where the definition has {}", name,
                                                      number(constant->value), number(wanted)));
  const auto elements = model_.constants().elements(found, 1 << 20);
  if (elements && !elements->empty()) {
    const auto differs = std::find_if(elements->begin(), elements->end(),
                                      [&](double element) { return element != (*elements)[0]; });
    if (differs != elements->end() ||
        !agree(Real::of(wanted, DataType::float64), Real::of((*elements)[0], constant->type)))
      return miss(
          Reason::constant_differs,
          fmt::format("`{}` holds {} where the definition has {}", name,
                      number(differs == elements->end() ? (*elements)[0] : *differs), number(wanted)));
  }
  return miss(Reason::constant_not_scalar, fmt::format("`{}` has {} elements", name, constant->count));
}

bool Matcher::use(const std::vector<NodeId>& nodes) {
  for (NodeId node : nodes) {
    const graph::Node& made = model_.index().node(node);
    if (made.owner != none) node = made.owner;
    if (made.scope != scope_ &&
        !miss(Reason::crosses_scopes, fmt::format("`{}` is made in {}", model_.index().proto(node).output(0),
                                                  model_.index().scope_name(made.scope))))
      return false;
    nodes_.push_back(node);
  }
  return true;
}

/// Notes a constant that a node reads, and refuses one that gives the node's result more dimensions.
bool Matcher::use_constant(ValueId value, NodeId reader) {
  constants_.push_back(value);
  const graph::Constant* constant = model_.constants().find(value);
  if (!constant || constant->rank() == 0) return true;
  const graph::Index& index = model_.index();
  if (index.node(reader).owner != none) return true;
  int32_t rank = -1;
  bool seen = false, unknown = false;
  for (const ValueId operand : index.inputs(reader)) {
    if (operand == none || operand == value) continue;
    seen = true;
    const int32_t other = types_.of(operand).rank();
    if (other < 0) unknown = true;
    rank = std::max(rank, other);
  }
  if (!seen || rank >= constant->rank()) return true;
  const std::string name(index.value(value).name);
  if (unknown)
    return miss(Reason::rank_unknown,
                fmt::format("`{}` has rank {}, the rank of the value beside it is not known", name,
                            constant->rank()));
  return miss(Reason::output_shape_changes,
              fmt::format("`{}` has rank {}, the value beside it rank {}", name, constant->rank(), rank));
}

bool Matcher::use_constants(const std::vector<std::pair<ValueId, NodeId>>& constants) {
  return std::all_of(constants.begin(), constants.end(),
                     [this](const auto& read) { return use_constant(read.first, read.second); });
}

bool Matcher::bind(const std::string& attribute, double value, DataType type) {
  // Attributes are single floats; a double that is none would change.
  if (type == DataType::float64 && static_cast<double>(static_cast<float>(value)) != value &&
      !miss(Reason::constant_differs,
            fmt::format("{:.17g} is no float, which the attribute `{}` is", value, attribute)))
    return false;
  const double kept = static_cast<float>(value);
  const auto [place, added] = attributes_.emplace(attribute, kept);
  return added || place->second == kept;
}

std::string_view Matcher::head(const NormalForm& normal, ValueId value) const {
  const NodeId node = normal.producer(value);
  if (node == none) return "";
  const std::string& op = normal.index().proto(node).op_type();
  if (op == "Greater") return "Less";
  if (op == "GreaterOrEqual") return "LessOrEqual";
  return op;
}

/// Tells by a glance whether two values can match.
bool Matcher::compatible(ValueId wanted, bool wanted_scaled, ValueId found, bool found_scaled, int8_t sign,
                         int8_t exponent) const {
  const ValueId w = pattern_->normal().resolve(wanted);
  const Form form = wanted_scaled ? Form::clip : pattern_->form(w);
  if (exponent < 0 && form != Form::operation) return false;
  if (form == Form::input) return !found_scaled;
  if (form == Form::constant) return tolerated_ > 0 || model_.constants().find(found) != nullptr;
  const ValueId f = model_.resolve(found);
  if (f == none) return false;
  const Form other = model_.form(f);
  switch (form) {
    case Form::product:
      return !found_scaled && (other == Form::product || other == Form::clip);
    case Form::sum:
      return other == Form::sum;
    case Form::clip:
      return other == Form::clip;
    case Form::operation: {
      const std::string_view w_head = head(pattern_->normal(), w), f_head = head(model_, f);
      // Sigmoid may be written 1 / (1 + exp(-x)), of which a product shows the sum, to the power -1.
      if (exponent < 0) return w_head == "Sigmoid" && other == Form::sum;
      if (w_head == f_head) return true;
      if (sign < 0 && other == Form::product) return true;
      if (w_head == "Sigmoid") return f_head == "Div" || f_head == "Reciprocal";
      return (w_head == "Softplus" && f_head == "Log") || (w_head == "Sqrt" && f_head == "Pow");
    }
    default:
      return false;
  }
}

bool Matcher::may_match(const Pattern& pattern, ValueId root) const {
  const ValueId f = model_.resolve(root);
  if (f == none || model_.form(f) == Form::constant) return false;
  const Form wanted = pattern.form(pattern.root());
  const Form found = model_.form(f);
  switch (wanted) {
    case Form::product:
      return found == Form::product || found == Form::clip;
    case Form::sum:
    case Form::clip:
      return found == wanted;
    case Form::operation: {
      const std::string_view w_head = head(pattern.normal(), pattern.root()), f_head = head(model_, f);
      if (w_head == f_head) return true;
      if (w_head == "Sigmoid") return f_head == "Div" || f_head == "Reciprocal";
      return w_head == "Sqrt" && f_head == "Pow";
    }
    default:
      return false;
  }
}

bool Matcher::run(const Pattern& pattern, ValueId root, size_t tolerated) {
  pattern_ = &pattern;
  const graph::Value& value = model_.index().value(root);
  scope_ = value.scope;
  goals_.clear();
  const size_t inputs = pattern.definition().signature.inputs.size();
  inputs_.assign(inputs, none);
  input_keys_.assign(inputs, none);
  attributes_.clear();
  integers_.clear();
  nodes_.clear();
  constants_.clear();
  misses_.clear();
  tolerated_ = tolerated;
  steps_ = 0;
  structural_ = 0;
  Goal goal;
  goal.wanted = pattern.root();
  goal.found = root;
  goals_.push_back(goal);
  return solve(0);
}

std::optional<Match> Matcher::match(const Pattern& pattern, ValueId root) {
  best_ = 0;
  if (!may_match(pattern, root) || !run(pattern, root, 0)) return {};
  Match match;
  match.inputs = inputs_;
  match.attributes = attributes_;
  match.integers = integers_;
  match.nodes = nodes_;
  std::sort(match.nodes.begin(), match.nodes.end());
  match.nodes.erase(std::unique(match.nodes.begin(), match.nodes.end()), match.nodes.end());
  match.constants = constants_;
  std::sort(match.constants.begin(), match.constants.end());
  match.constants.erase(std::unique(match.constants.begin(), match.constants.end()), match.constants.end());
  return match;
}

std::optional<Miss> Matcher::nearest_miss(const Pattern& pattern, ValueId root) {
  if (pattern.weight() < 2 || !may_match(pattern, root)) return {};
  best_ = 0;
  best_nodes_.clear();
  for (size_t tolerated = 1; tolerated <= most_misses; ++tolerated) {
    if (run(pattern, root, tolerated)) {
      if (misses_.empty()) return {};
      Miss miss = misses_.front();
      miss.nodes = nodes_;
      return miss;
    }
    // A value that shares less than half of the operations is another thing, not a near miss.
    if (2 * best_ <= pattern.weight()) return {};
  }
  return Miss{Reason::not_the_pattern, "", best_nodes_};
}

bool Matcher::push_and_solve(std::vector<Goal> goals, int next) {
  for (auto goal = goals.rbegin(); goal != goals.rend(); ++goal) {
    goal->next = next;
    next = static_cast<int>(goals_.size());
    goals_.push_back(*goal);
  }
  return solve(next);
}

bool Matcher::solve(int id) {
  if (id < 0) return true;
  if (++steps_ > most_steps) return false;
  const Goal goal = goals_[static_cast<size_t>(id)];
  if (goal.found == none) return false;
  const ValueId wanted = pattern_->normal().resolve(goal.wanted);
  const Mark before = mark();
  bool done = false;
  const Form form = goal.wanted_scaled ? Form::clip : pattern_->form(wanted);
  const bool same_head =
      form != Form::operation || head(pattern_->normal(), wanted) == head(model_, model_.resolve(goal.found));
  if (form != Form::input && form != Form::constant && same_head) {
    ++structural_;
    if (structural_ > best_) {
      best_ = structural_;
      best_nodes_ = nodes_;
    }
  }
  switch (form) {
    case Form::input:
      done = solve_input(goal, pattern_->input(wanted));
      break;
    case Form::constant:
      done = solve_constant(goal, wanted);
      break;
    case Form::product:
      done = solve_product(goal, pattern_->product(wanted));
      break;
    case Form::sum:
      done = solve_sum(goal, wanted);
      break;
    case Form::clip:
      done = goal.wanted_scaled || goal.found_scaled ? solve_scaled_clip(goal, wanted)
                                                     : solve_clip(goal, wanted);
      break;
    case Form::operation:
      done = solve_operation(goal, wanted);
      break;
    case Form::opaque:
      break;
  }
  if (!done) restore(before);
  return done;
}

/// Looks through multiplications by 1 that change neither bits nor shape; some exporters write x * sigmoid(1
/// * x).
ValueId Matcher::without_ones(ValueId value) {
  for (int step = 0; step < 8; ++step) {
    const NodeId node = model_.producer(value);
    if (node == none || model_.index().node(node).owner != none || model_.index().node(node).scope != scope_)
      return value;
    const std::string_view op = model_.op(node);
    if (op != "Mul" && op != "Div") return value;
    ValueId other = none, one = none;
    for (int32_t slot = 0; slot < 2; ++slot) {
      const ValueId operand = model_.index().input(node, slot);
      const graph::Constant* constant =
          operand == none || (op == "Div" && slot == 0) ? nullptr : model_.scalar(operand);
      if (constant && constant->attribute.empty() && constant->value == 1 && one == none) {
        one = operand;
      } else {
        other = operand;
      }
    }
    if (one == none || other == none) return value;
    const graph::Constant* constant = model_.scalar(one);
    if (constant->rank() > 0 && types_.of(other).rank() < constant->rank()) return value;
    constants_.push_back(one);
    nodes_.push_back(node);
    value = other;
  }
  return value;
}

bool Matcher::solve_input(const Goal& goal, int input) {
  if (input < 0 || goal.found_scaled) return false;
  ValueId found = goal.found;
  if (goal.sign < 0) {
    // A minus has to be found somewhere.
    const auto expansion = model_.expand({found, 1, false});
    if (!expansion || expansion->factors.size() != 1 || expansion->factors[0].exponent != 1 ||
        expansion->coefficient.neutral || expansion->coefficient.value != -1 || !expansion->attribute.empty())
      return false;
    if (!use(expansion->nodes)) return false;
    if (!use_constants(expansion->constants)) return false;
    found = expansion->factors[0].value;
  }
  found = without_ones(found);
  const NodeId producer = model_.producer(found);
  if (producer != none && model_.index().node(producer).owner != none) return false;
  const ValueId key = model_.constants().behind_identity(found);
  const auto slot = static_cast<size_t>(input);
  if (input_keys_[slot] != none) return input_keys_[slot] == key && solve(goal.next);
  inputs_[slot] = found;
  input_keys_[slot] = key;
  if (solve(goal.next)) return true;
  inputs_[slot] = input_keys_[slot] = none;
  return false;
}

bool Matcher::solve_constant(const Goal& goal, ValueId wanted) {
  const graph::Constant* asked = pattern_->normal().constants().find(wanted);
  const graph::Constant* known = model_.constants().find(goal.found);
  if (!asked || goal.found_scaled) return false;
  constants_.push_back(goal.found);
  if (!asked->attribute.empty()) {
    if (!known || known->overridable || !known->attribute.empty())
      return miss_constant(goal.found, 0) && solve(goal.next);
    if (asked->type == DataType::int64) {
      const auto numbers = model_.constants().integers(goal.found);
      if (!numbers) return false;
      const auto [place, added] = integers_.emplace(asked->attribute, *numbers);
      if (!added && place->second != *numbers) return false;
      if (solve(goal.next)) return true;
      if (added) integers_.erase(asked->attribute);
      return false;
    }
    if (known->count != 1 || !known->readable) return miss_constant(goal.found, 0) && solve(goal.next);
    const bool fresh = attributes_.find(asked->attribute) == attributes_.end();
    if (bind(asked->attribute, goal.sign * known->value, known->type) && solve(goal.next)) return true;
    if (fresh) attributes_.erase(asked->attribute);
    return false;
  }
  if (asked->type == DataType::int64 || asked->count != 1) {
    if (!known || known->overridable || !known->attribute.empty())
      return miss_constant(goal.found, asked->value) && solve(goal.next);
    const auto asked_elements = pattern_->normal().constants().elements(wanted, 4096);
    const auto elements = model_.constants().elements(goal.found, 4096);
    bool same = asked_elements && elements && asked_elements->size() == elements->size();
    for (size_t at = 0; same && at < elements->size(); ++at) {
      same = graph::round_to(known->type, (*asked_elements)[at]) == goal.sign * (*elements)[at];
    }
    if (!same && !miss(Reason::constant_differs, fmt::format("`{}` holds other values than the definition",
                                                             model_.index().value(goal.found).name)))
      return false;
    return solve(goal.next);
  }
  const graph::Constant* scalar = model_.scalar(goal.found);
  if (!scalar || !scalar->attribute.empty())
    return miss_constant(goal.found, asked->value) && solve(goal.next);
  Real real = Real::of(scalar->value, scalar->type);
  if (goal.sign < 0) real = -real;
  if (!agree(Real::of(asked->value, asked->type), real) &&
      !miss_constant(goal.found, goal.sign * asked->value))
    return false;
  return solve(goal.next);
}

/// Tells whether the product that was found holds, near its top, something that each factor of the definition
/// can be. Long products of other things are told apart by this at once.
bool Matcher::has_factors(const Product& product, ValueId found) {
  if (region_root_ != found) {
    // Kept for the other definitions that are tried on the same value.
    region_root_ = found;
    region_.assign(1, {found, 1, false});
    for (size_t at = 0; at < region_.size() && region_.size() < most_region; ++at) {
      const auto expansion = model_.expand(region_[at]);
      if (expansion) region_.insert(region_.end(), expansion->factors.begin(), expansion->factors.end());
    }
  }
  for (const Factor& wanted : product.factors) {
    if (!wanted.scaled && pattern_->form(wanted.value) == Form::input) continue;
    const bool any = std::any_of(region_.begin() + 1, region_.end(), [&](const Factor& factor) {
      return compatible(wanted.value, wanted.scaled, factor.value, factor.scaled, 1,
                        static_cast<int8_t>(wanted.exponent * factor.exponent));
    });
    if (!any) return false;
  }
  return true;
}

bool Matcher::solve_product(const Goal& goal, const Product& product) {
  if (!goal.found_scaled && !has_factors(product, goal.found)) return false;
  std::vector<Factor> frontier{{goal.found, 1, goal.found_scaled}};
  return cut(goal, product, frontier, 0, Real(), 0);
}

/// Tries the ways to take the found product apart into as many factors as the definition has.
bool Matcher::cut(const Goal& goal, const Product& product, std::vector<Factor>& frontier, size_t at,
                  const Real& coefficient, int opened) {
  if (++steps_ > most_steps) return false;
  const size_t count = product.factors.size();
  const size_t spare = tolerated_ > misses_.size() && !product.coefficient.neutral ? 1 : 0;
  if (frontier.size() > count + spare) return false;
  if (at == frontier.size()) {
    if (opened == 0 || frontier.size() < count) return false;
    return settle_coefficient(goal, product, frontier, coefficient);
  }
  const Factor factor = frontier[at];
  const auto open = [&] {
    if (opened > static_cast<int>(count) + 8) return false;
    const auto expansion = model_.expand(factor);
    if (!expansion || !expansion->attribute.empty()) return false;
    const Mark before = mark();
    if (use(expansion->nodes) && use_constants(expansion->constants)) {
      std::vector<Factor> next(frontier.begin(), frontier.begin() + static_cast<long>(at));
      next.insert(next.end(), expansion->factors.begin(), expansion->factors.end());
      next.insert(next.end(), frontier.begin() + static_cast<long>(at) + 1, frontier.end());
      if (cut(goal, product, next, at, coefficient * expansion->coefficient, opened + 1)) return true;
    }
    restore(before);
    return false;
  };
  const auto leave = [&] {
    // A factor that no factor of the definition can be ends this way early.
    bool any = spare > 0;
    for (const Factor& wanted : product.factors) {
      if (any) break;
      const auto exponent = static_cast<int8_t>(wanted.exponent * factor.exponent);
      any = compatible(wanted.value, wanted.scaled, factor.value, factor.scaled, 1, exponent);
    }
    return any && cut(goal, product, frontier, at + 1, coefficient, opened);
  };
  if (frontier.size() < count || opened == 0) return open() || leave();
  return leave() || open();
}

/// Checks the coefficient of a product that was taken apart, then pairs off the factors.
bool Matcher::settle_coefficient(const Goal& goal, const Product& product,
                                 const std::vector<Factor>& frontier, Real coefficient) {
  if (goal.sign < 0) coefficient = -coefficient;
  const Mark before = mark();
  std::vector<int> partner;
  if (frontier.size() == product.factors.size()) {
    if (!product.attribute.empty()) {
      if (coefficient.neutral) return false;
      double value = coefficient.value;
      if (!product.coefficient.neutral) value /= product.coefficient.value;
      if (product.attribute_exponent < 0) value = 1 / value;
      const bool fresh = attributes_.find(product.attribute) == attributes_.end();
      if (std::isfinite(value) &&
          bind(product.attribute, value, coefficient.direct ? coefficient.type : DataType::float32) &&
          assign(goal, product, frontier, partner, 0))
        return true;
      if (fresh) attributes_.erase(product.attribute);
      restore(before);
      return false;
    }
    const bool agrees = agree(product.coefficient, coefficient) ||
                        miss(Reason::constant_differs,
                             fmt::format("the factor is {} where the definition has {}",
                                         number(coefficient.value), number(product.coefficient.value)));
    if (agrees && assign(goal, product, frontier, partner, 0)) return true;
    restore(before);
    return false;
  }
  // One factor too many, where the definition has a constant: that is the one it should have been.
  for (const bool constants : {true, false}) {
    for (size_t extra = 0; extra < frontier.size(); ++extra) {
      if (frontier[extra].scaled || (model_.constants().find(frontier[extra].value) != nullptr) != constants)
        continue;
      const double wanted =
          frontier[extra].exponent > 0 ? product.coefficient.value : 1 / product.coefficient.value;
      if (!miss_constant(frontier[extra].value, wanted)) continue;
      std::vector<Factor> rest = frontier;
      rest.erase(rest.begin() + static_cast<long>(extra));
      partner.clear();
      if (assign(goal, product, rest, partner, 0)) return true;
      restore(before);
    }
  }
  return false;
}

/// Pairs the factors of the definition with those that were found, in every way that could be.
bool Matcher::assign(const Goal& goal, const Product& product, const std::vector<Factor>& frontier,
                     std::vector<int>& partner, size_t at) {
  if (++steps_ > most_steps) return false;
  if (at == product.factors.size()) {
    std::vector<Goal> goals;
    for (size_t factor = 0; factor < partner.size(); ++factor) {
      const Factor& wanted = product.factors[factor];
      const Factor& found = frontier[static_cast<size_t>(partner[factor])];
      Goal next;
      next.wanted = wanted.value;
      next.wanted_scaled = wanted.scaled;
      next.found = found.value;
      next.found_scaled = found.scaled;
      // Sigmoid is the inverse of 1 + exp(-x): said by a sign of 0.
      if (wanted.exponent != found.exponent) next.sign = 0;
      goals.push_back(next);
    }
    return push_and_solve(std::move(goals), goal.next);
  }
  const Factor& wanted = product.factors[at];
  // Equal factors of the definition, as in x*x*x, need one order only.
  int first = 0;
  if (at > 0 && product.factors[at - 1].value == wanted.value &&
      product.factors[at - 1].exponent == wanted.exponent && product.factors[at - 1].scaled == wanted.scaled)
    first = partner.back() + 1;
  for (int candidate = first; candidate < static_cast<int>(frontier.size()); ++candidate) {
    if (std::find(partner.begin(), partner.end(), candidate) != partner.end()) continue;
    const Factor& found = frontier[static_cast<size_t>(candidate)];
    const auto exponent = static_cast<int8_t>(wanted.exponent * found.exponent);
    if (!compatible(wanted.value, wanted.scaled, found.value, found.scaled, 1, exponent)) continue;
    partner.push_back(candidate);
    if (assign(goal, product, frontier, partner, at + 1)) return true;
    partner.pop_back();
  }
  return false;
}

bool Matcher::solve_sum(const Goal& goal, ValueId wanted) {
  if (goal.found_scaled || goal.sign == 0) return false;
  std::vector<NodeId> passed;
  const ValueId found = model_.resolve(goal.found, &passed);
  const auto asked = pattern_->normal().sum(wanted);
  const auto sum = model_.sum(found);
  if (!asked || !sum || !use(passed) || !use({sum->node})) return false;
  const Mark before = mark();
  // Each term may be read with its Neg as a sign, or as it stands: x may be a negated value itself.
  for (int reading = 0; reading < 4; ++reading) {
    bool sensible = true;
    for (int at = 0; at < 2; ++at)
      sensible = sensible && (!(reading >> at & 1) || !sum->terms[at].nodes.empty());
    if (!sensible) continue;
    for (const int swapped : {0, 1}) {
      std::vector<Goal> goals;
      bool possible = true;
      for (int at = 0; at < 2 && possible; ++at) {
        const Term& want = asked->terms[at];
        const Term& have = sum->terms[at ^ swapped];
        const bool raw = reading >> (at ^ swapped) & 1;
        Goal next;
        next.wanted = want.bare;
        next.found = raw ? have.value : have.bare;
        next.sign = static_cast<int8_t>(want.bare_sign * (raw ? have.sign : have.bare_sign) * goal.sign);
        possible = compatible(next.wanted, false, next.found, false, next.sign) && (raw || use(have.nodes));
        if (possible && pattern_->normal().constants().find(next.wanted) && model_.scalar(next.found))
          possible = use_constant(next.found, sum->node);
        goals.push_back(next);
      }
      // What is easy to refute comes first: constants, then operations, then inputs.
      const auto rank = [this](const Goal& next) {
        const Form form = pattern_->form(pattern_->normal().resolve(next.wanted));
        return form == Form::constant ? 0 : form == Form::input ? 2 : 1;
      };
      if (possible && rank(goals[1]) < rank(goals[0])) std::swap(goals[0], goals[1]);
      if (possible && push_and_solve(std::move(goals), goal.next)) return true;
      restore(before);
    }
  }
  return false;
}

bool Matcher::same_bound(const Bound& wanted, const Bound& found) {
  if (wanted.kind == Bound::absent || found.kind == Bound::absent) return wanted.kind == found.kind;
  if (found.value != none) constants_.push_back(found.value);
  if (wanted.kind == Bound::number) {
    if (found.kind != Bound::number) return miss_constant(found.value, wanted.real.value);
    if (agree(wanted.real, found.real)) return true;
    if (found.value != none) return miss_constant(found.value, wanted.real.value);
    return miss(Reason::constant_differs, fmt::format("a bound is {} where the definition has {}",
                                                      number(found.real.value), number(wanted.real.value)));
  }
  if (wanted.kind == Bound::attribute && found.kind == Bound::number)
    return bind(wanted.name, found.real.value, found.real.type);
  return false;
}

bool Matcher::solve_clip(const Goal& goal, ValueId wanted) {
  if (goal.sign != 1) return false;
  std::optional<Clip> asked;
  for (int merge = 3; merge >= 1 && !asked; --merge) asked = pattern_->normal().clip(wanted, merge);
  if (!asked) return false;
  std::vector<NodeId> passed;
  const ValueId found = model_.resolve(goal.found, &passed);
  const Mark before = mark();
  const auto attributes = attributes_;
  for (int merge = 1; merge <= 3; ++merge) {
    const auto clip = model_.clip(found, merge);
    if (!clip) break;
    if (use(passed) && use(clip->nodes) && use_constants(clip->constants) &&
        same_bound(asked->low, clip->low) && same_bound(asked->high, clip->high)) {
      Goal next;
      next.wanted = asked->operand;
      next.found = clip->operand;
      if (compatible(next.wanted, false, next.found, false) && push_and_solve({next}, goal.next)) return true;
    }
    attributes_ = attributes;
    restore(before);
  }
  return false;
}

bool Matcher::solve_scaled_clip(const Goal& goal, ValueId wanted) {
  if (goal.sign != 1) return false;
  std::vector<NodeId> passed;
  const ValueId found = model_.resolve(goal.found, &passed);
  const auto asked = pattern_->normal().scaled_clip(wanted);
  const auto clip = model_.scaled_clip(found);
  if (!asked || !clip) return false;
  if ((!goal.wanted_scaled && !asked->scale.neutral) || (!goal.found_scaled && !clip->scale.neutral))
    return false;
  if (!use(passed) || !use(clip->nodes)) return false;
  if (!use_constants(clip->constants)) return false;
  const std::pair<const Real*, const Real*> pairs[] = {
      {&asked->offset, &clip->offset}, {&asked->low, &clip->low}, {&asked->high, &clip->high}};
  for (const auto& [want, have] : pairs) {
    if (!agree(*want, *have) &&
        !miss(Reason::constant_differs, fmt::format("a constant amounts to {} where the definition has {}",
                                                    number(have->value), number(want->value))))
      return false;
  }
  Goal next;
  next.wanted = asked->x;
  next.found = clip->x;
  return push_and_solve({next}, goal.next);
}

bool Matcher::same_attributes(const Operation& wanted, const Operation& found) {
  const onnx::NodeProto& want = pattern_->normal().index().proto(wanted.node);
  const onnx::NodeProto& have = model_.index().proto(found.node);
  const auto ignored = [&](const std::string& name) { return name == "axes" && (wanted.axes || found.axes); };
  for (const auto& attribute : want.attribute()) {
    if (ignored(attribute.name())) continue;
    const auto* given = find_attribute(have, attribute.name());
    if (given && !given->ref_attr_name().empty()) return false;
    const auto absent = default_value(want.op_type(), attribute.name());
    if (!attribute.ref_attr_name().empty()) {
      if (!given && !absent) return false;
      switch (attribute.type()) {
        case onnx::AttributeProto::FLOAT:
          if (!bind(attribute.ref_attr_name(), given ? given->f() : *absent, DataType::float32)) return false;
          break;
        case onnx::AttributeProto::INT: {
          const std::vector<int64_t> value{given ? given->i() : static_cast<int64_t>(*absent)};
          const auto [place, added] = integers_.emplace(attribute.ref_attr_name(), value);
          if (!added && place->second != value) return false;
          break;
        }
        default:
          return false;
      }
      continue;
    }
    if (given) {
      if (given->type() != attribute.type() || given->SerializeAsString() != attribute.SerializeAsString()) {
        // Doc strings do not count, and a float may have been written as a whole number.
        const bool same =
            given->type() == attribute.type() && given->i() == attribute.i() && given->f() == attribute.f() &&
            given->s() == attribute.s() && given->ints_size() == attribute.ints_size() &&
            std::equal(given->ints().begin(), given->ints().end(), attribute.ints().begin()) &&
            given->floats_size() == attribute.floats_size() &&
            std::equal(given->floats().begin(), given->floats().end(), attribute.floats().begin()) &&
            !given->has_t() && !attribute.has_t() && !given->strings_size() && !attribute.strings_size();
        if (!same) return false;
      }
    } else {
      const double value = attribute.type() == onnx::AttributeProto::FLOAT
                               ? attribute.f()
                               : static_cast<double>(attribute.i());
      if (!absent || *absent != value || attribute.ints_size() || attribute.has_s()) return false;
    }
  }
  for (const auto& attribute : have.attribute()) {
    if (ignored(attribute.name()) || find_attribute(want, attribute.name())) continue;
    if (!attribute.ref_attr_name().empty()) return false;
    const auto absent = default_value(have.op_type(), attribute.name());
    const double value =
        attribute.type() == onnx::AttributeProto::FLOAT ? attribute.f() : static_cast<double>(attribute.i());
    if (!absent || *absent != value || attribute.ints_size() || attribute.has_s()) return false;
  }
  if (wanted.axes.has_value() != found.axes.has_value()) return false;
  if (!wanted.axes) return true;
  // Axes count from the front or from the back; the same where the rank is known.
  if (*wanted.axes == *found.axes) return true;
  const int32_t rank = types_.of(found.operands.at(0)).rank();
  if (rank < 0) return false;
  const int64_t total = rank + (have.op_type() == "Unsqueeze" ? static_cast<int64_t>(found.axes->size()) : 0);
  const auto normal = [total](std::vector<int64_t> axes) {
    for (int64_t& axis : axes) axis = axis < 0 ? axis + total : axis;
    std::sort(axes.begin(), axes.end());
    return axes;
  };
  return normal(*wanted.axes) == normal(*found.axes);
}

bool Matcher::solve_operation(const Goal& goal, ValueId wanted) {
  if (goal.found_scaled) return false;
  const auto asked = pattern_->normal().operation(wanted);
  if (!asked) return false;
  std::vector<NodeId> passed;
  ValueId found = model_.resolve(goal.found, &passed);
  if (found == none || !use(passed)) return false;
  if (goal.sign == 0) return asked->op == "Sigmoid" && solve_logistic(goal, *asked, found);
  if (goal.sign < 0) {
    const auto expansion = model_.expand({found, 1, false});
    if (!expansion || expansion->factors.size() != 1 || expansion->factors[0].exponent != 1 ||
        expansion->coefficient.neutral || expansion->coefficient.value != -1)
      return false;
    if (!use(expansion->nodes)) return false;
    if (!use_constants(expansion->constants)) return false;
    passed.clear();
    found = model_.resolve(expansion->factors[0].value, &passed);
    if (found == none || !use(passed)) return false;
  }
  if (model_.constants().find(found)) return false;
  const auto operation = model_.operation(found);
  if (!operation) return false;
  if (asked->op == "Sigmoid" && asked->domain.empty() && operation->op != "Sigmoid") {
    // 1 / (1 + exp(-x)), as a division or a Reciprocal.
    const auto expansion = model_.expand({found, 1, false});
    if (!expansion || expansion->factors.size() != 1 || expansion->factors[0].exponent != -1 ||
        !(expansion->coefficient.neutral || expansion->coefficient.value == 1))
      return false;
    if (!use(expansion->nodes)) return false;
    if (!use_constants(expansion->constants)) return false;
    return solve_logistic(goal, *asked, expansion->factors[0].value);
  }
  if (asked->op == "Softplus" && operation->op == "Log" && operation->domain.empty() && goal.under_tanh) {
    // Log(1 + exp(x)) overflows where Softplus does not; under Tanh both give 1.
    std::vector<NodeId> more;
    const auto sum = model_.sum(model_.resolve(operation->operands.at(0), &more));
    if (!sum || !use(operation->nodes) || !use(more) || !use({sum->node})) return false;
    for (int at = 0; at < 2; ++at) {
      const graph::Constant* one = model_.scalar(sum->terms[at].value);
      if (!one || !one->attribute.empty() || one->value * sum->terms[at].sign != 1 ||
          sum->terms[1 - at].sign != 1)
        continue;
      std::vector<NodeId> behind;
      const auto exponential = model_.operation(model_.resolve(sum->terms[1 - at].value, &behind));
      if (!exponential || exponential->op != "Exp" || !exponential->domain.empty()) continue;
      if (!use_constant(sum->terms[at].value, sum->node) || !use(behind) || !use(exponential->nodes))
        return false;
      Goal next;
      next.wanted = asked->operands.at(0);
      next.found = exponential->operands.at(0);
      return push_and_solve({next}, goal.next);
    }
    return false;
  }
  if (asked->op != operation->op || asked->domain != operation->domain || asked->slot != operation->slot ||
      asked->operands.size() != operation->operands.size())
    return false;
  const auto attributes = attributes_;
  const auto integers = integers_;
  const Mark before = mark();
  if (use(operation->nodes) && use_constants(operation->constants) && same_attributes(*asked, *operation)) {
    if (solve_operands(goal, *asked, *operation, false)) return true;
    if (asked->operands.size() == 2 && commutative.count(asked->op) &&
        solve_operands(goal, *asked, *operation, true))
      return true;
  }
  attributes_ = attributes;
  integers_ = integers;
  restore(before);
  return false;
}

/// Matches Sigmoid(x) with 1 + exp(-x), of which the inverse was taken.
bool Matcher::solve_logistic(const Goal& goal, const Operation& wanted, ValueId value) {
  std::vector<NodeId> passed;
  const auto sum = model_.sum(model_.resolve(value, &passed));
  if (!sum || !use(passed) || !use({sum->node})) return false;
  for (int at = 0; at < 2; ++at) {
    const graph::Constant* one = model_.scalar(sum->terms[at].value);
    if (!one || !one->attribute.empty() || one->value * sum->terms[at].sign != 1 ||
        sum->terms[1 - at].sign != 1)
      continue;
    std::vector<NodeId> behind;
    const ValueId inner = model_.resolve(sum->terms[1 - at].value, &behind);
    const auto exponential =
        inner == none || model_.constants().find(inner) ? std::nullopt : model_.operation(inner);
    if (!exponential || exponential->op != "Exp" || !exponential->domain.empty()) continue;
    if (!use_constant(sum->terms[at].value, sum->node) || !use(behind) || !use(exponential->nodes))
      return false;
    Goal next;
    next.wanted = wanted.operands.at(0);
    next.found = exponential->operands.at(0);
    next.sign = -1;
    return push_and_solve({next}, goal.next);
  }
  return false;
}

bool Matcher::solve_operands(const Goal& goal, const Operation& wanted, const Operation& found,
                             bool swapped) {
  const Mark before = mark();
  std::vector<Goal> constants, others, inputs;
  for (size_t at = 0; at < wanted.operands.size(); ++at) {
    const ValueId want = wanted.operands[at];
    const ValueId have = found.operands[swapped ? wanted.operands.size() - 1 - at : at];
    if (want == none || have == none) {
      if (want != have) return false;
      continue;
    }
    if (!compatible(want, false, have, false)) return false;
    if (found.domain.empty() && broadcasting.count(found.op) && model_.scalar(have) &&
        !use_constant(have, found.node)) {
      restore(before);
      return false;
    }
    Goal next;
    next.wanted = want;
    next.found = have;
    next.under_tanh = wanted.op == "Tanh" && wanted.domain.empty();
    const Form form = pattern_->form(pattern_->normal().resolve(want));
    (form == Form::constant ? constants : form == Form::input ? inputs : others).push_back(next);
  }
  constants.insert(constants.end(), others.begin(), others.end());
  constants.insert(constants.end(), inputs.begin(), inputs.end());
  if (push_and_solve(std::move(constants), goal.next)) return true;
  restore(before);
  return false;
}

}  // namespace graft::rewrite
