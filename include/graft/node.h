// Node: the node that a kernel belongs to, by what the model and the session say of it.
//
//   void blend(In<float> x, Out<float> y, Node node) {
//     const float weight = node.attribute<float>("weight").value_or(0.5f);
//     const bool exact = node.option("my.ops.exact") == "1";
//   }
//
// Attributes that an operator always has are better parameters: the schema then knows them, and they are read once. What
// is read by name is looked up in each call; an operator with state reads it once, in prepare(Node).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graft/attribute.h"
#include "graft/operator.h"

namespace graft {

/// Is the node that a kernel belongs to. Take it as a parameter of a tensor function or of prepare().
class Node {
 public:
  explicit Node(const NodeInfo& info) : info_(&info) {}

  /// Gives the node's name in the model; it may be empty.
  std::string_view name() const { return info_->name(); }

  /// Finds an attribute by its name; nothing when the node has none. T is what an attribute as a parameter may be: float,
  /// an integer, bool, std::string, std::vector<float>, std::vector<int64_t>, TensorOf<float>, ... Throws an Error when the
  /// attribute is of another type.
  template <class T>
  auto attribute(const std::string& name) const {
    using Param = detail::attribute_param<T>;
    static_assert(Param::supported,
                  "node.attribute<T>(name): an attribute is a float, double, an integer, bool, std::string, std::vector of float "
                  "or int64_t, or TensorOf<T>");
    using Found = std::optional<typename Param::Stored>;
    AttributeValue value = info_->find(name, Param::type);
    if (std::holds_alternative<std::monostate>(value)) return Found();
    return Found(detail::stored_attribute<T>(name, std::move(value)));
  }

  /// Lists the types of the node's inputs, and counts its outputs: for a prepare() of an operator whose number of tensors
  /// varies. They are known there only.
  std::vector<DType> input_types() const { return info_->input_types(); }
  size_t output_count() const { return info_->output_count(); }

  /// Gives an entry of the session's configuration (session_options.add_session_config_entry in Python,
  /// AddSessionConfigEntry in C); nothing when the session has none of this key. Throws an Error before ORT 1.24, which does
  /// not show them to kernels.
  std::optional<std::string> option(const std::string& key) const { return info_->option(key); }

 private:
  const NodeInfo* info_;
};

}  // namespace graft
