#include "rewrite/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace graft::rewrite {
namespace {

constexpr int most_depth = 200;

/// Writes an expression so that equal texts mean equal bits.
class Writer {
 public:
  Writer(const NormalForm& normal, DataType type, const Match& match, const Pattern* pattern)
      : normal_(normal), type_(type), match_(match), pattern_(pattern) {
    if (!pattern) {
      for (size_t at = 0; at < match.inputs.size(); ++at) {
        if (match.inputs[at] != none)
          keys_.emplace_back(normal.constants().behind_identity(match.inputs[at]), at);
      }
    }
  }

  std::string write(ValueId raw, int depth = 0) {
    if (depth > most_depth || raw == none) {
      failed_ = true;
      return "?";
    }
    if (!pattern_) {
      const ValueId key = normal_.constants().behind_identity(raw);
      for (const auto& [value, at] : keys_) {
        if (value == key) return fmt::format("#{}", at);
      }
    }
    const ValueId value = normal_.resolve(raw);
    if (pattern_) {
      const int input = pattern_->input(value);
      if (input >= 0) return fmt::format("#{}", input);
    }
    if (const graph::Constant* constant = normal_.constants().find(value))
      return write_constant(*constant, value);
    const NodeId node = normal_.producer(value);
    if (node == none) {
      failed_ = true;
      return "?";
    }
    const std::string_view op = normal_.op(node);
    const graph::Index& index = normal_.index();
    const auto operand = [&](int32_t slot) { return index.input(node, slot); };
    if (op == "Mul") {
      for (const int32_t slot : {0, 1}) {
        const graph::Constant* one = normal_.scalar(operand(slot));
        if (one && one->attribute.empty() && one->value == 1) return write(operand(1 - slot), depth + 1);
      }
      return pair("*", operand(0), operand(1), depth);
    }
    if (op == "Div") {
      const graph::Constant* divisor = normal_.scalar(operand(1));
      int exponent = 0;
      if (divisor && divisor->attribute.empty() && std::abs(std::frexp(divisor->value, &exponent)) == 0.5)
        return sorted("*", write(operand(0), depth + 1), number(1 / divisor->value));
      return fmt::format("(/ {} {})", write(operand(0), depth + 1), write(operand(1), depth + 1));
    }
    if (op == "Reciprocal") return fmt::format("(/ {} {})", number(1), write(operand(0), depth + 1));
    if (op == "Neg") return fmt::format("(- {})", write(operand(0), depth + 1));
    if (const auto sum = normal_.sum(value)) {
      std::string terms[2];
      for (int at = 0; at < 2; ++at) {
        const Term& term = sum->terms[at];
        const graph::Constant* constant = normal_.scalar(term.bare);
        if (constant && constant->attribute.empty()) {
          terms[at] = "+" + number(term.bare_sign * constant->value);
        } else if (!pattern_ && is_input(term.value)) {
          terms[at] = (term.sign < 0 ? "-" : "+") + write(term.value, depth + 1);
        } else {
          terms[at] = (term.bare_sign < 0 ? "-" : "+") + write(term.bare, depth + 1);
        }
      }
      return sorted("sum", terms[0], terms[1]);
    }
    if (normal_.form(value) == Form::clip) {
      std::optional<Clip> clip;
      for (int merge = 3; merge >= 1 && !clip; --merge) clip = normal_.clip(value, merge);
      if (clip)
        return fmt::format("(clip {} {} {})", write(clip->operand, depth + 1), bound(clip->low),
                           bound(clip->high));
    }
    if (op == "Pow") {
      const graph::Constant* power = normal_.scalar(operand(1));
      if (power && power->attribute.empty() && power->value == 2)
        return pair("*", operand(0), operand(0), depth);
    }
    const auto operation = normal_.operation(value);
    if (!operation) {
      failed_ = true;
      return "?";
    }
    std::vector<std::string> operands;
    for (const ValueId next : operation->operands)
      operands.push_back(next == none ? "_" : write(next, depth + 1));
    if (operands.size() == 2 &&
        (op == "Equal" || op == "And" || op == "Or" || op == "Xor" || op == "Max" || op == "Min"))
      std::sort(operands.begin(), operands.end());
    return fmt::format("({}.{} {})", operation->op, operation->slot, fmt::join(operands, " "));
  }

  bool failed() const { return failed_; }

 private:
  std::string number(double value) const { return fmt::format("{:a}", graph::round_to(type_, value)); }

  bool is_input(ValueId raw) const {
    const ValueId key = normal_.constants().behind_identity(raw);
    return std::any_of(keys_.begin(), keys_.end(), [key](const auto& entry) { return entry.first == key; });
  }

  std::string bound(const Bound& bound) {
    switch (bound.kind) {
      case Bound::number:
        return number(bound.real.value);
      case Bound::attribute:
        return attribute(bound.name);
      case Bound::absent:
        return "none";
      default:
        failed_ = true;
        return "?";
    }
  }

  std::string attribute(const std::string& name) {
    const auto place = match_.attributes.find(name);
    if (pattern_ && place != match_.attributes.end()) return number(place->second);
    failed_ = true;
    return "?";
  }

  std::string write_constant(const graph::Constant& constant, ValueId value) {
    if (!constant.attribute.empty()) {
      const auto integers = match_.integers.find(constant.attribute);
      if (pattern_ && integers != match_.integers.end())
        return fmt::format("{}", fmt::join(integers->second, ","));
      return attribute(constant.attribute);
    }
    if (constant.type == DataType::int64) {
      const auto numbers = normal_.constants().integers(value);
      if (numbers) return fmt::format("{}", fmt::join(*numbers, ","));
    }
    if (constant.count == 1) return number(constant.value);
    const auto elements = normal_.constants().elements(value, 4096);
    if (!elements) failed_ = true;
    std::string text;
    for (const double element : elements.value_or(std::vector<double>{})) text += number(element) + ",";
    return text;
  }

  std::string sorted(std::string_view op, std::string first, std::string second) {
    if (second < first) std::swap(first, second);
    return fmt::format("({} {} {})", op, first, second);
  }

  std::string pair(std::string_view op, ValueId first, ValueId second, int depth) {
    return sorted(op, write(first, depth + 1), write(second, depth + 1));
  }

  const NormalForm& normal_;
  DataType type_;
  const Match& match_;
  const Pattern* pattern_;
  std::vector<std::pair<ValueId, size_t>> keys_;
  bool failed_ = false;
};

}  // namespace

bool is_exact(const NormalForm& model, const Pattern& pattern, ValueId root, const Match& match,
              DataType type) {
  Writer wanted(pattern.normal(), type, match, &pattern), found(model, type, match, nullptr);
  const std::string want = wanted.write(pattern.root()), have = found.write(root);
  return !wanted.failed() && !found.failed() && want == have;
}

}  // namespace graft::rewrite
