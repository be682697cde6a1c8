#include "schedule.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "simplify.h"

namespace graft::fused {

int Schedule::add(const Item& item) {
  items_.push_back(item);
  return int(items_.size()) - 1;
}

int Schedule::add_constant(double number, Type type) {
  type = held_as(type);
  std::array<std::byte, 8> cell{};
  const auto put = [&](auto value) { std::memcpy(cell.data(), &value, sizeof value); };
  switch (type) {
    case Type::f64:
      put(number);
      break;
    case Type::i32:
      put(int32_t(number));
      break;
    case Type::i64:
      put(int64_t(number));
      break;
    case Type::boolean:
      put(uint8_t(number != 0));
      break;
    default:
      put(float(number));
      break;
  }
  cells_.push_back(cell);
  return add({.op = Op::constant, .type = type, .number = number, .constant = int(cells_.size()) - 1});
}

std::vector<int> Schedule::uses() const {
  std::vector<int> uses(items_.size());
  for (int output : outputs_) ++uses[size_t(output)];
  for (size_t v = items_.size(); v-- > 0;) {
    if (uses[v] == 0) continue;
    for (int k = 0; k < arity(int(v)); ++k) ++uses[size_t(items_[v].operands[size_t(k)])];
  }
  return uses;
}

Schedule::Schedule(const Program& program) {
  inputs_ = size_t(program.input_count());
  if (inputs_ > kMaxInputs) {
    throw std::invalid_argument("it has " + std::to_string(inputs_) + " inputs, more than " +
                                std::to_string(kMaxInputs));
  }
  simplify(program, *this);
}

std::vector<bool> Schedule::find_ones(uint64_t singles) const {
  std::vector<bool> one(items_.size());
  for (size_t v = 0; v < items_.size(); ++v) {  // a constant may stand behind what reads it
    if (v < inputs_)
      one[v] = (singles >> v) & 1;
    else if (is_constant(int(v)))
      one[v] = true;
  }
  for (size_t v = 0; v < items_.size(); ++v) {
    if (items_[v].family == nullptr) continue;
    one[v] = true;
    for (int k = 0; k < arity(int(v)); ++k) one[v] = one[v] && one[size_t(items_[v].operands[size_t(k)])];
  }
  return one;
}

std::optional<std::pair<Schedule, Schedule>> Schedule::split(size_t input) const {
  const std::vector<int> used = uses();
  std::vector<bool> alone(items_.size());  // made of this input and constants
  alone[input] = true;
  for (size_t v = inputs_; v < items_.size(); ++v) {
    bool any = false, all = true;
    for (int k = 0; k < arity(int(v)); ++k) {
      const int operand = items_[v].operands[size_t(k)];
      any = any || alone[size_t(operand)];
      all = all && (alone[size_t(operand)] || is_constant(operand));
    }
    alone[v] = any && all;
  }
  int last = -1;  // what others read of it
  const auto is_read = [&](int v) {
    if (!alone[size_t(v)]) return true;
    const bool first = last < 0 || last == v;
    last = v;
    return first;
  };
  bool one = true;
  for (int output : outputs_) one = one && is_read(output);
  for (size_t v = inputs_; v < items_.size(); ++v) {
    for (int k = 0; k < arity(int(v)) && used[v] && !alone[v]; ++k)
      one = one && is_read(items_[v].operands[size_t(k)]);
  }
  if (!one || last < 0 || size_t(last) == input) return {};
  std::pair<Schedule, Schedule> parts{*this, *this};
  parts.first.outputs_ = {last};
  parts.first.output_types_ = {items_[size_t(last)].type};
  Schedule& rest = parts.second;
  rest.items_[input] = {.op = Op::input, .type = items_[size_t(last)].type};
  for (size_t v = inputs_; v < items_.size(); ++v) {
    for (int& operand : rest.items_[v].operands) {
      if (!alone[v] && operand == last) operand = int(input);
    }
  }
  std::ranges::replace(rest.outputs_, last, int(input));
  return parts;
}

// ---- binding
// ---------------------------------------------------------------------------------------------------------

/// Makes the steps: gives every value a place, and every step the variant that fits its operands.
class Binder {
 public:
  Binder(const Schedule& schedule, uint64_t singles, bool stream)
      : s_(schedule),
        stream_(stream),
        uses_(schedule.uses()),
        one_(schedule.find_ones(singles)),
        place_(s_.items_.size(), kNowhere) {
    first_constant_ = s_.inputs_ + s_.outputs_.size();
    for (size_t v = 0; v < s_.items_.size(); ++v) {
      if (v < s_.inputs_) place_[v] = v;
      if (s_.is_constant(int(v))) place_[v] = first_constant_ + size_t(s_.items_[v].constant);
      bound_.cells += s_.items_[v].family && uses_[v] && one_[v];
    }
    first_cell_ = first_constant_ + s_.cells_.size();
    first_buffer_ = first_cell_ + bound_.cells;
  }

  Bound bind() {
    size_t cell = 0;
    for (size_t v = 0; v < s_.items_.size(); ++v) {
      if (uses_[v] == 0) continue;
      if (s_.items_[v].family && one_[v])
        emit_once(int(v), first_cell_ + cell++);
      else if (s_.items_[v].family)
        emit(int(v));
      store_outputs(int(v));
    }
    return std::move(bound_);
  }

 private:
  static constexpr size_t kNowhere = size_t(-1);

  int operand(int v, int k) const { return s_.items_[size_t(v)].operands[size_t(k)]; }

  void emit_once(int v, size_t cell) {
    Step step{s_.items_[size_t(v)].family->variants[0].run[target()], true};
    const int arity = s_.arity(v);
    for (int k = 0; k < arity; ++k) step.places[size_t(k)] = uint16_t(place_[size_t(operand(v, k))]);
    place_[size_t(v)] = cell;
    step.places[size_t(arity)] = uint16_t(cell);
    bound_.steps.push_back(step);
    release_operands(v);
  }

  void emit(int v) {
    const Family& family = *s_.items_[size_t(v)].family;
    std::array<int, 7> operands = s_.items_[size_t(v)].operands;
    if (family.commutative && one_[size_t(operands[0])] && !one_[size_t(operands[1])])
      std::swap(operands[0], operands[1]);
    unsigned singles = 0;
    for (int k = 0; k < family.arity; ++k) singles |= unsigned(one_[size_t(operands[size_t(k)])]) << k;
    const Variant* best = &family.variants.front();
    for (const Variant& variant : family.variants) {
      if ((variant.singles & ~singles) == 0 && std::popcount(variant.singles) >= std::popcount(best->singles))
        best = &variant;
    }
    // What the variant reads element by element and is one value is written into a tile first.
    Step step{best->run[target()], false};
    std::vector<size_t> filled;
    for (int k = 0; k < family.arity; ++k) {
      const size_t o = size_t(operands[size_t(k)]);
      size_t place = place_[o];
      if (one_[o] && !((best->singles >> k) & 1)) {
        filled.push_back(take_buffer(s_.items_[o].type));
        const Family& copy = storing(s_.items_[o].type);
        bound_.steps.push_back(
            {copy.variants[1].run[target()], false, {uint16_t(place), uint16_t(filled.back())}});
        place = filled.back();
      }
      step.places[size_t(k)] = uint16_t(place);
    }
    // An operand's buffer that is free after this step may take the result, since each element is read before
    // it is written; but not when operands and result are of several widths.
    const Type type = s_.items_[size_t(v)].type;
    bool one_width = true;
    for (int k = 0; k < family.arity; ++k)
      one_width = one_width && size_of(s_.items_[size_t(operands[size_t(k)])].type) == size_of(type);
    size_t result = direct_output(v);
    if (result == kNowhere && !one_width) result = take_buffer(type);
    release_operands(v);
    for (size_t place : filled) free_.push_back(place);
    place_[size_t(v)] = result != kNowhere ? result : take_buffer(type);
    step.places[size_t(family.arity)] = uint16_t(place_[size_t(v)]);
    bound_.steps.push_back(step);
    bound_.cost += family.cost;
  }

  /// Finds the output that a value is written into as it is computed.
  size_t direct_output(int v) const {
    for (size_t i = 0; i < s_.outputs_.size(); ++i) {
      const Type type = s_.output_types_[i];
      if (s_.outputs_[i] == v && held_as(type) == type && !(stream_ && streaming(type)))
        return s_.inputs_ + i;
    }
    return kNowhere;
  }

  void store_outputs(int v) {
    for (size_t i = 0; i < s_.outputs_.size(); ++i) {
      if (s_.outputs_[i] != v) continue;
      const size_t to = s_.inputs_ + i;
      size_t from = place_[size_t(v)];
      if (from != to) {
        const Type type = s_.output_types_[i];
        const bool passes = stream_ && streaming(type);
        const Family& family = passes ? *streaming(type) : storing(type);
        size_t variant = 0;
        if (one_[size_t(v)] && family.variants.size() > 1) {
          variant = 1;
        } else if (one_[size_t(v)]) {
          const size_t filled = take_buffer(s_.items_[size_t(v)].type);
          bound_.steps.push_back({storing(held_as(s_.items_[size_t(v)].type)).variants[1].run[target()],
                                  false,
                                  {uint16_t(from), uint16_t(filled)}});
          free_.push_back(filled);
          from = filled;
        }
        bound_.steps.push_back(
            {family.variants[variant].run[target()], false, {uint16_t(from), uint16_t(to)}});
      }
      release(v);
    }
  }

  void release_operands(int v) {
    for (int k = 0; k < s_.arity(v); ++k) release(operand(v, k));
  }
  void release(int v) {
    if (--uses_[size_t(v)] == 0 && place_[size_t(v)] >= first_buffer_ && place_[size_t(v)] != kNowhere)
      free_.push_back(place_[size_t(v)]);
  }
  size_t take_buffer(Type type) {
    bound_.width = std::max(bound_.width, size_of(type));
    if (free_.empty()) return first_buffer_ + bound_.buffers++;
    const size_t place = free_.back();
    free_.pop_back();
    return place;
  }

  const Schedule& s_;
  bool stream_;
  std::vector<int> uses_;
  std::vector<bool> one_;
  std::vector<size_t> place_;
  size_t first_constant_, first_cell_, first_buffer_;
  std::vector<size_t> free_;
  Bound bound_;
};

Bound Schedule::bind(uint64_t singles, bool stream) const {
  Schedule joined = *this;
  join(joined, singles);
  Bound bound = Binder(joined, singles, stream).bind();
  bound.constants = std::move(joined.cells_);
  return bound;
}

}  // namespace graft::fused
