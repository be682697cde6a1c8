#pragma once
/// Lets a definition be looked for: it is written as a graph and read in the same normal form as models are.
///
///   Pattern pattern(parse_definition(text, 17, signature));
///   pattern.weight();  // how many operations a match replaces, roughly
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "rewrite/expression.h"
#include "rewrite/normal_form.h"

namespace graft::rewrite {

/// Is a product of a definition, taken apart as far as it goes.
struct Product {
  std::vector<Factor> factors;
  Real coefficient;
  std::string attribute;
  int8_t attribute_exponent = 1;
};

class Pattern {
 public:
  explicit Pattern(Definition definition);
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  const Definition& definition() const { return definition_; }
  const NormalForm& normal() const { return *normal_; }
  ValueId root() const { return root_; }
  int weight() const { return weight_; }

  /// Gives the number of an input, -1 when the value is none.
  int input(ValueId value) const;

  /// Tells what a resolved value is; a clip whose scale can be taken out is a product.
  Form form(ValueId value) const;
  const Product& product(ValueId value) const;

 private:
  void weigh();

  Definition definition_;
  onnx::FunctionProto function_;
  std::unique_ptr<graph::Index> index_;
  std::unique_ptr<graph::Constants> constants_;
  std::unique_ptr<Spellings> spellings_;
  std::unique_ptr<NormalForm> normal_;
  std::unordered_map<ValueId, Product> products_;
  ValueId root_ = none;
  int weight_ = 0;
};

}  // namespace graft::rewrite
