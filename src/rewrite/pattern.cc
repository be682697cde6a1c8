#include "rewrite/pattern.h"

#include <unordered_set>

namespace graft::rewrite {

Pattern::Pattern(Definition definition)
    : definition_(std::move(definition)), function_(write_function(definition_, {})) {
  index_ = std::make_unique<graph::Index>(function_);
  constants_ = std::make_unique<graph::Constants>(*index_);
  spellings_ = std::make_unique<Spellings>(*index_);
  normal_ = std::make_unique<NormalForm>(*index_, *constants_, *spellings_);
  root_ = normal_->resolve(index_->scope(0).outputs.at(0));
  weigh();
}

int Pattern::input(ValueId value) const {
  const auto& inputs = index_->scope(0).inputs;
  for (size_t at = 0; at < inputs.size(); ++at) {
    if (inputs[at] == value) return static_cast<int>(at);
  }
  return -1;
}

Form Pattern::form(ValueId value) const {
  const Form form = normal_->form(value);
  if (form != Form::clip) return form;
  const auto scaled = normal_->scaled_clip(value);
  return scaled && !scaled->scale.neutral ? Form::product : Form::clip;
}

const Product& Pattern::product(ValueId value) const { return products_.at(value); }

/// Takes all products apart and counts the operations, each value once.
void Pattern::weigh() {
  std::unordered_set<ValueId> seen;
  std::vector<Factor> open{{root_, 1, false}};
  const auto visit = [&](ValueId next) {
    if (next != none) open.push_back({next, 1, false});
  };
  while (!open.empty()) {
    const Factor at = open.back();
    open.pop_back();
    const ValueId value = normal_->resolve(at.value);
    if (value == none || (!at.scaled && !seen.insert(value).second)) continue;
    const Form form = at.scaled ? Form::clip : this->form(value);
    if (form == Form::input || form == Form::constant || form == Form::opaque) continue;
    ++weight_;
    if (form == Form::product) {
      Product product;
      std::vector<Factor> factors{{value, 1, false}};
      for (size_t position = 0; position < factors.size();) {
        Factor factor = factors[position];
        const auto expansion = factors.size() < 64 ? normal_->expand(factor) : std::nullopt;
        if (!expansion || (!expansion->attribute.empty() && !product.attribute.empty())) {
          ++position;
          continue;
        }
        product.coefficient = product.coefficient * expansion->coefficient;
        if (!expansion->attribute.empty()) {
          product.attribute = expansion->attribute;
          product.attribute_exponent = expansion->attribute_exponent;
        }
        factors.erase(factors.begin() + static_cast<long>(position));
        factors.insert(factors.begin() + static_cast<long>(position), expansion->factors.begin(),
                       expansion->factors.end());
      }
      // Inputs last: by then the rest has said what they must be.
      for (const bool inputs : {false, true}) {
        for (const Factor& factor : factors) {
          const ValueId resolved = normal_->resolve(factor.value);
          const bool is_input = !factor.scaled && normal_->form(resolved) == Form::input;
          if (is_input == inputs) product.factors.push_back({resolved, factor.exponent, factor.scaled});
        }
      }
      for (const Factor& factor : product.factors) open.push_back(factor);
      products_.emplace(value, std::move(product));
    } else if (form == Form::sum) {
      if (const auto sum = normal_->sum(value)) {
        for (const Term& term : sum->terms) visit(term.bare);
      }
    } else if (form == Form::clip) {
      if (at.scaled) {
        if (const auto clip = normal_->scaled_clip(value)) visit(clip->x);
      } else if (const auto clip = normal_->clip(value, 1)) {
        visit(clip->operand);
      }
    } else if (const auto operation = normal_->operation(value)) {
      for (const ValueId operand : operation->operands) visit(operand);
    }
  }
}

}  // namespace graft::rewrite
