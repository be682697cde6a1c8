// Tracing: a generic functor called with Symbols writes its own definition in standard ONNX operators.
//
//   Tracer tracer;
//   Symbol y = HardSwish{}(tracer.input("x"));
//   tracer.definition({"y"}, y).text;     // "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)"
#pragma once

#include <array>
#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "graft/definition.h"
#include "graft/dtype.h"
#include "graft/error.h"

namespace graft {

namespace detail {

/// Is the opset of the default domain from which on an operator means what a traced definition says.
inline int opset_of(std::string_view op) {
  op = op.substr(0, op.find('<'));
  struct Since {
    std::string_view op;
    int opset;
  };
  static constexpr Since table[] = {
      {"Abs", 6},   {"Add", 7},   {"And", 7},    {"Cast", 9}, {"Clip", 11},           {"Cos", 7},          {"Div", 7},
      {"Equal", 11}, {"Erf", 9},  {"Exp", 6},    {"Greater", 9},         {"Less", 9},         {"Log", 6},
      {"Max", 8},   {"Min", 8},   {"Mul", 7},    {"Neg", 6},             {"Not", 1},          {"Or", 7},
      {"Reciprocal", 6}, {"Sigmoid", 6}, {"Sin", 7}, {"Softplus", 1},    {"Sqrt", 6},         {"Sub", 7},
      {"Tanh", 6},  {"Where", 9}, {"GreaterOrEqual", 12}, {"LessOrEqual", 12}, {"Identity", 1},
      {"Ceil", 6},  {"Floor", 6}, {"Pow", 7},    {"Round", 11},          {"Sign", 9},         {"Relu", 6},
      {"IsNaN", 9}, {"IsInf", 10}, {"Mod", 10},  {"Xor", 7}};
  for (const Since& entry : table) {
    if (entry.op == op) return entry.opset;
  }
  fail("the operator ", op, " has no opset in the table of graft/trace.h");
}

/// Is a node of a traced expression: an operator with arguments, or a leaf that is written as it stands.
struct TracedNode {
  std::string text;
  std::vector<int> arguments;
  bool leaf = true;
  int uses = 0;
};

}  // namespace detail

class Tracer;

/// Stands for the outcome of a comparison while a functor is traced.
struct SymbolicCondition {
  Tracer* tracer;
  int node;

  template <class T = SymbolicCondition>
  constexpr operator bool() const {
    static_assert(!std::is_same_v<T, SymbolicCondition>, "a branch in an elementwise functor is written where(condition, a, b)");
    return false;
  }
};

/// Stands for a number while a functor is traced.
struct Symbol {
  Tracer* tracer = nullptr;
  int node = -1;
  double literal = 0;  ///< When tracer is null.

  Symbol(Tracer* t, int n) : tracer(t), node(n) {}
  template <class A>
    requires std::is_arithmetic_v<A>
  constexpr Symbol(A a) : literal(double(a)) {}
};

/// Records what a functor does to Symbols.
class Tracer {
 public:
  Symbol input(std::string_view name) { return leaf(std::string(name)); }
  Symbol attribute(std::string_view name) { return leaf("@" + std::string(name)); }

  /// Adds a node, or finds the same one.
  [[gnu::cold, gnu::noinline]] int add(std::string_view op, std::initializer_list<Symbol> arguments) {
    std::vector<int> nodes;
    for (const Symbol& argument : arguments) nodes.push_back(node_of(argument));
    return find_or_add({std::string(op), std::move(nodes), false});
  }
  [[gnu::cold, gnu::noinline]] int add_condition(std::string_view op, std::initializer_list<int> arguments) {
    return find_or_add({std::string(op), arguments, false});
  }
  [[gnu::cold, gnu::noinline]] int node_of(const Symbol& symbol) {
    if (symbol.tracer == nullptr) return leaf(number(symbol.literal)).node;
    return symbol.node;
  }

  int node_of(const SymbolicCondition& condition) { return condition.node; }
  SymbolicCondition condition(std::string_view name) { return {this, leaf(std::string(name)).node}; }

  /// Writes the definition whose outputs are these results (Symbols or conditions). A part that is used twice gets a
  /// name of its own.
  template <class... Result>
  Definition definition(const std::vector<std::string>& names, const Result&... results) {
    return definition(names, std::vector<int>{node_of(results)...});
  }

  [[gnu::cold, gnu::noinline]] Definition definition(const std::vector<std::string>& outputs, const std::vector<int>& roots) {
    for (auto& node : nodes_) node.uses = 0;
    for (int root : roots) ++nodes_[size_t(root)].uses;
    // Nodes are in order of creation, so a node's arguments come before it.
    std::vector<bool> needed(nodes_.size(), false);
    for (int root : roots) needed[size_t(root)] = true;
    for (size_t i = nodes_.size(); i-- > 0;) {
      if (!needed[i]) continue;
      for (int argument : nodes_[i].arguments) {
        needed[size_t(argument)] = true;
        ++nodes_[size_t(argument)].uses;
      }
    }
    std::string text;
    int opset = 1;
    std::vector<std::string> names(nodes_.size());  // of the parts that are used twice
    size_t named = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!needed[i] || nodes_[i].leaf) continue;
      opset = std::max(opset, detail::opset_of(nodes_[i].text));
      if (nodes_[i].uses < 2) continue;
      const std::string name = "t" + std::to_string(named++);
      text += name + " = " + write(int(i), names) + "; ";
      names[i] = name;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      text += (i ? "; " : "") + outputs[i] + " = ";
      // A leaf or a named part needs a node of its own to become an output.
      const bool plain = nodes_[size_t(roots[i])].leaf || !names[size_t(roots[i])].empty();
      text += plain ? "Identity(" + write(roots[i], names) + ")" : write(roots[i], names);
    }
    return {opset, text, true};
  }

 private:
  [[gnu::cold, gnu::noinline]] Symbol leaf(std::string text) { return {this, find_or_add({std::move(text), {}, true})}; }

  [[gnu::cold, gnu::noinline]] int find_or_add(detail::TracedNode node) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].text == node.text && nodes_[i].arguments == node.arguments && nodes_[i].leaf == node.leaf) return int(i);
    }
    nodes_.push_back(std::move(node));
    return int(nodes_.size()) - 1;
  }

  [[gnu::cold, gnu::noinline]] static std::string number(double value) {
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
  }

  [[gnu::cold, gnu::noinline]] std::string write(int index, const std::vector<std::string>& names) const {
    if (!names[size_t(index)].empty()) return names[size_t(index)];
    const detail::TracedNode& node = nodes_[size_t(index)];
    if (node.leaf) return node.text;
    std::string text = node.text + "(";
    for (size_t i = 0; i < node.arguments.size(); ++i) text += (i ? ", " : "") + write(node.arguments[i], names);
    return text + ")";
  }

  std::vector<detail::TracedNode> nodes_;
};

namespace detail {

inline Tracer* tracer_of(std::initializer_list<Symbol> arguments) {
  for (const Symbol& argument : arguments) {
    if (argument.tracer) return argument.tracer;
  }
  return nullptr;
}
/// Records one operator; an expression of literals alone never gets here, C++ has computed it.
[[gnu::cold, gnu::noinline]] inline Symbol record(std::string_view op, std::initializer_list<Symbol> arguments) {
  Tracer* tracer = tracer_of(arguments);
  return {tracer, tracer->add(op, arguments)};
}
[[gnu::cold, gnu::noinline]] inline SymbolicCondition record_condition(std::string_view op, std::initializer_list<Symbol> arguments) {
  Tracer* tracer = tracer_of(arguments);
  return {tracer, tracer->add(op, arguments)};
}

}  // namespace detail

inline Symbol operator+(Symbol a, Symbol b) { return detail::record("Add", {a, b}); }
inline Symbol operator-(Symbol a, Symbol b) { return detail::record("Sub", {a, b}); }
inline Symbol operator*(Symbol a, Symbol b) { return detail::record("Mul", {a, b}); }
inline Symbol operator/(Symbol a, Symbol b) { return detail::record("Div", {a, b}); }
inline Symbol operator-(Symbol a) { return detail::record("Neg", {a}); }
inline Symbol operator+(Symbol a) { return a; }

inline SymbolicCondition operator<(Symbol a, Symbol b) { return detail::record_condition("Less", {a, b}); }
inline SymbolicCondition operator<=(Symbol a, Symbol b) { return detail::record_condition("LessOrEqual", {a, b}); }
inline SymbolicCondition operator>(Symbol a, Symbol b) { return detail::record_condition("Greater", {a, b}); }
inline SymbolicCondition operator>=(Symbol a, Symbol b) { return detail::record_condition("GreaterOrEqual", {a, b}); }
inline SymbolicCondition operator==(Symbol a, Symbol b) { return detail::record_condition("Equal", {a, b}); }
inline SymbolicCondition operator!(SymbolicCondition a) { return {a.tracer, a.tracer->add_condition("Not", {a.node})}; }
inline SymbolicCondition operator!=(Symbol a, Symbol b) { return !(a == b); }
inline SymbolicCondition operator&&(SymbolicCondition a, SymbolicCondition b) {
  return {a.tracer, a.tracer->add_condition("And", {a.node, b.node})};
}
inline SymbolicCondition operator||(SymbolicCondition a, SymbolicCondition b) {
  return {a.tracer, a.tracer->add_condition("Or", {a.node, b.node})};
}

inline SymbolicCondition operator!=(SymbolicCondition a, SymbolicCondition b) {
  return {a.tracer, a.tracer->add_condition("Xor", {a.node, b.node})};
}
inline SymbolicCondition operator==(SymbolicCondition a, SymbolicCondition b) {
  return {a.tracer, a.tracer->add_condition("Equal", {a.node, b.node})};
}
inline SymbolicCondition isnan(Symbol x) { return detail::record_condition("IsNaN", {x}); }
inline SymbolicCondition isinf(Symbol x) { return detail::record_condition("IsInf", {x}); }

inline Symbol where(SymbolicCondition c, Symbol a, Symbol b) {
  return {c.tracer, c.tracer->add_condition("Where", {c.node, c.tracer->node_of(a), c.tracer->node_of(b)})};
}
inline SymbolicCondition where(SymbolicCondition c, SymbolicCondition a, SymbolicCondition b) {
  return {c.tracer, c.tracer->add_condition("Where", {c.node, a.node, b.node})};
}
template <class T>
auto cast(Symbol x) {
  const int node = x.tracer->add("Cast<to=" + std::to_string(int(dtype_of<T>)) + ">", {x});
  if constexpr (std::is_same_v<T, bool>) return SymbolicCondition{x.tracer, node};
  else return Symbol{x.tracer, node};
}
template <class T>
auto cast(SymbolicCondition c) {
  if constexpr (std::is_same_v<T, bool>) return c;
  else return Symbol{c.tracer, c.tracer->add_condition("Cast<to=" + std::to_string(int(dtype_of<T>)) + ">", {c.node})};
}
inline Symbol mod(Symbol a, Symbol b) { return detail::record("Mod", {a, b}); }
inline Symbol fmod(Symbol a, Symbol b) { return detail::record("Mod<fmod=1>", {a, b}); }
inline Symbol sign(Symbol x) { return detail::record("Sign", {x}); }
inline Symbol relu(Symbol x) { return detail::record("Relu", {x}); }
inline Symbol reciprocal(Symbol x) { return detail::record("Reciprocal", {x}); }
inline Symbol min(Symbol a, Symbol b) { return detail::record("Min", {a, b}); }
inline Symbol max(Symbol a, Symbol b) { return detail::record("Max", {a, b}); }
inline Symbol clamp(Symbol x, Symbol low, Symbol high) { return detail::record("Clip", {x, low, high}); }
inline Symbol abs(Symbol x) { return detail::record("Abs", {x}); }
inline Symbol floor(Symbol x) { return detail::record("Floor", {x}); }
inline Symbol ceil(Symbol x) { return detail::record("Ceil", {x}); }
inline Symbol round(Symbol x) { return detail::record("Round", {x}); }
inline Symbol sqrt(Symbol x) { return detail::record("Sqrt", {x}); }
inline Symbol rsqrt(Symbol x) { return detail::record("Reciprocal", {sqrt(x)}); }
inline Symbol pow(Symbol x, Symbol y) { return detail::record("Pow", {x, y}); }
inline Symbol exp(Symbol x) { return detail::record("Exp", {x}); }
inline Symbol exp2(Symbol x) { return pow(2, x); }
inline Symbol expm1(Symbol x) { return exp(x) - 1; }
inline Symbol log(Symbol x) { return detail::record("Log", {x}); }
inline Symbol log1p(Symbol x) { return log(1 + x); }
inline Symbol tanh(Symbol x) { return detail::record("Tanh", {x}); }
inline Symbol sigmoid(Symbol x) { return detail::record("Sigmoid", {x}); }
inline Symbol erf(Symbol x) { return detail::record("Erf", {x}); }
inline Symbol sin(Symbol x) { return detail::record("Sin", {x}); }
inline Symbol cos(Symbol x) { return detail::record("Cos", {x}); }
inline Symbol softplus(Symbol x) { return detail::record("Softplus", {x}); }
// Composites, by their definitions.
inline Symbol silu(Symbol x) { return x * sigmoid(x); }
inline Symbol mish(Symbol x) { return x * tanh(softplus(x)); }
inline Symbol gelu(Symbol x) { return 0.5 * x * (1 + erf(x / 1.4142135623730951)); }
inline Symbol gelu_tanh(Symbol x) {
  return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))));
}

}  // namespace graft
