#include "rewrite/inject.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "graph/names.h"
#include "graph/nearest.h"
#include "graph/sort.h"
#include "rewrite/definition.h"
#include "rewrite/exact.h"
#include "rewrite/fallback.h"
#include "rewrite/match.h"
#include "rewrite/replace.h"
#include "rewrite/selection.h"

namespace graft::rewrite {
namespace {

using runtime::OperatorDescription;

/// From this IR version on a model may have functions.
constexpr int64_t functions_ir = 8;
/// Below this one, constants are inputs, and raising it would change the model's interface.
constexpr int64_t separate_constants_ir = 4;

/// Is an operator to look for, with what is known of it in this model.
struct Candidate {
  const OperatorDescription* op = nullptr;
  std::string name;
  std::vector<std::unique_ptr<Pattern>> patterns;  ///< one a definition
  int weight = 0;
  bool asked_for = false;
  const onnx::FunctionProto* existing = nullptr;
  std::string shadowed;  ///< a function of the model that loading the library would change
  std::map<DataType, std::string> unsupported;  ///< why the opset has no words, by type; empty: it has
  std::map<DataType, bool> serves;              ///< whether the function that is there means the same
  std::vector<LiteralAttribute> literals;       ///< that nodes bring to the function
  std::set<DataType> types;                     ///< of the sites
};

/// Tells whether one node of ONNX's own is worth replacing by one operator. ONNX Runtime computes these from
/// several others, or one element at a time; the rest has kernels that it also fuses into convolutions, and
/// stays unless it is asked for.
bool is_worth_replacing(std::string_view op) {
  return op == "HardSwish" || op == "Gelu" || op == "Mish" || op == "Softplus" || op == "Swish";
}

class Search {
 public:
  Search(onnx::ModelProto& model, const std::vector<runtime::LibraryDescription>& libraries,
         const InjectOptions& options)
      : model_(model),
        options_(options),
        index_(model),
        constants_(index_, options.folder),
        spellings_(index_),
        normal_(index_, constants_, spellings_),
        types_(index_, constants_),
        matcher_(normal_, types_),
        replacement_(index_, constants_),
        neighbourhoods_(index_, constants_, types_),
        selection_(options) {
    collect(libraries);
    find_unknown_attributes(libraries);
  }

  Injection run() {
    for (graph::NodeId node = 0; node < index_.node_count(); ++node) {
      if (index_.node(node).owner == none && !is_fallback(index_.node(node).scope)) ++result_.nodes_before;
    }
    find_already();
    search();
    selection_.refuse_unused(result_);
    find_near_misses();
    result_.nodes_after = result_.nodes_before;
    if (result_.changed()) apply();
    return std::move(result_);
  }

 private:
  void collect(const std::vector<runtime::LibraryDescription>& libraries) {
    std::set<std::string> found;
    for (const auto& library : libraries) {
      const std::string shadowed = find_shadowed(library);
      // An operator for several providers is looked for once, for the types of its CPU kernels if it has any.
      std::vector<std::reference_wrapper<const OperatorDescription>> operators(library.operators.begin(),
                                                                               library.operators.end());
      std::stable_sort(
          operators.begin(), operators.end(), [](const OperatorDescription& a, const OperatorDescription& b) {
            return (a.provider == "CPUExecutionProvider") > (b.provider == "CPUExecutionProvider");
          });
      for (const OperatorDescription& op : operators) {
        const std::string name = graph::qualified_name(op.domain, op.name);
        const bool wanted = options_.operators.empty() || is_asked_for(op);
        if (!wanted) continue;
        if (!found.insert(name).second) continue;
        if (op.definitions.empty()) {
          // What an operator of a pool means is written in its nodes: there is nothing to look for.
          if (op.pool.empty() || !options_.operators.empty()) result_.undefined.push_back(name);
          continue;
        }
        if (op.outputs.size() != 1) {
          result_.notes.push_back(
              fmt::format("{} has {} outputs; operators with several outputs are not looked for", name,
                          op.outputs.size()));
          continue;
        }
        Candidate candidate;
        candidate.op = &op;
        candidate.name = name;
        candidate.asked_for = !options_.operators.empty();
        candidate.shadowed = shadowed;
        std::set<std::string> texts;
        for (const auto& text : op.definitions) {
          if (!texts.insert(text.text).second) continue;
          candidate.patterns.push_back(
              std::make_unique<Pattern>(parse_definition(text.text, text.opset, signature_of(op))));
          candidate.weight = std::max(candidate.weight, candidate.patterns.back()->weight());
        }
        candidate.existing = function_named(op);
        result_.searched.push_back(name);
        candidates_.push_back(std::move(candidate));
      }
    }
    for (const std::string& asked : options_.operators) {
      const bool known = std::any_of(libraries.begin(), libraries.end(), [&](const auto& library) {
        return std::any_of(library.operators.begin(), library.operators.end(),
                           [&](const auto& op) { return graph::is_named(asked, op.domain, op.name); });
      });
      if (!known) throw InputError(fmt::format("--op {}: none of the libraries has this operator", asked));
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.weight > b.weight; });
  }

  const onnx::FunctionProto* function_named(const OperatorDescription& op) const {
    for (const auto& function : model_.functions()) {
      if (function.name() == op.name && graph::same_domain(function.domain(), op.domain)) return &function;
    }
    return nullptr;
  }

  /// Finds a function that the model calls and that an operator of the library takes the place of, meaning
  /// something else: with the library loaded the model would compute something else even without a change.
  std::string find_shadowed(const runtime::LibraryDescription& library) const {
    for (const OperatorDescription& op : library.operators) {
      const onnx::FunctionProto* function = function_named(op);
      if (!function || !op.pool.empty() || !is_called(op)) continue;
      bool same = false;
      for (const auto& text : op.definitions) {
        const Pattern pattern(parse_definition(text.text, text.opset, signature_of(op)));
        for (const runtime::Overload& overload : op.overloads) {
          const DataType type = overload.inputs.empty() ? DataType::float32 : overload.inputs[0];
          same = same || means_the_same(*function, pattern, type) ||
                 recognise(*function, op, type, index_.opset(0)).has_value();
        }
      }
      if (!same) return graph::qualified_name(op.domain, op.name);
    }
    return "";
  }

  bool is_called(const OperatorDescription& op) const {
    for (graph::NodeId node = 0; node < index_.node_count(); ++node) {
      const onnx::NodeProto& proto = index_.proto(node);
      if (index_.node(node).owner == none && proto.op_type() == op.name &&
          graph::same_domain(proto.domain(), op.domain))
        return true;
    }
    return false;
  }

  bool is_asked_for(const OperatorDescription& op) const {
    return std::any_of(options_.operators.begin(), options_.operators.end(),
                       [&](const std::string& asked) { return graph::is_named(asked, op.domain, op.name); });
  }

  /// Tells whether a scope lies in a function that spells out an operator; such bodies stay as they are.
  bool is_fallback(graph::ScopeId scope) const {
    const graph::Scope& outer = index_.scope(index_.root(scope));
    if (!outer.function) return false;
    if (outer.function->doc_string().compare(0, fallback_mark.size(), fallback_mark) == 0) return true;
    return std::any_of(candidates_.begin(), candidates_.end(),
                       [&](const Candidate& candidate) { return candidate.existing == outer.function; });
  }

  /// Notes attributes that an operator of a library does not know; ONNX Runtime takes them without a word.
  void find_unknown_attributes(const std::vector<runtime::LibraryDescription>& libraries) {
    for (const auto& library : libraries) {
      for (const OperatorDescription& op : library.operators) {
        if (library.recorded && op.attributes.empty()) continue;  // not known
        for (graph::NodeId node = 0; node < index_.node_count(); ++node) {
          const onnx::NodeProto& proto = index_.proto(node);
          if (index_.node(node).owner != none || proto.op_type() != op.name ||
              !graph::same_domain(proto.domain(), op.domain))
            continue;
          note_unknown_attributes(proto, op);
        }
      }
    }
  }

  void note_unknown_attributes(const onnx::NodeProto& node, const OperatorDescription& op) {
    std::vector<std::string> known;
    for (const auto& attribute : op.attributes) known.push_back(attribute.name);
    for (const auto& attribute : node.attribute()) {
      const std::string& name = attribute.name();
      if (name.starts_with(literal_prefix) || std::find(known.begin(), known.end(), name) != known.end())
        continue;
      const std::string near = graph::nearest(name, known);
      result_.notes.push_back(
          fmt::format("{} that makes `{}` has an attribute `{}`, which the operator does not know{}",
                      graph::qualified_name(op.domain, op.name), node.output_size() ? node.output(0) : "",
                      name, near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
    }
  }

  void find_already() {
    for (graph::NodeId node = 0; node < index_.node_count(); ++node) {
      if (index_.node(node).owner != none || is_fallback(index_.node(node).scope)) continue;
      const onnx::NodeProto& proto = index_.proto(node);
      for (const Candidate& candidate : candidates_) {
        if (proto.op_type() == candidate.op->name && graph::same_domain(proto.domain(), candidate.op->domain))
          ++result_.already[candidate.name];
      }
    }
  }

  void search() {
    // Readers come before what they read, so that the largest expression is tried first and what it needs no
    // more is gone.
    for (graph::ScopeId scope = index_.scope_count() - 1; scope >= 0; --scope) {
      if (is_fallback(scope)) continue;
      const std::vector<graph::NodeId> order = graph::topological_order(index_, scope);
      for (auto node = order.rbegin(); node != order.rend(); ++node) {
        if (replacement_.alive(*node)) try_node(*node);
      }
    }
    std::reverse(result_.sites.begin(), result_.sites.end());
    std::reverse(result_.misses.begin(), result_.misses.end());
  }

  bool may_be_root(graph::NodeId node) const {
    if (index_.node(node).output_count == 0 || index_.output(node) == none) return false;
    const onnx::NodeProto& proto = index_.proto(node);
    if (!graph::is_default_domain(proto.domain()) || proto.op_type() == "Identity" ||
        proto.op_type() == "Constant")
      return false;
    for (int32_t slot = 1; slot < index_.node(node).output_count; ++slot) {
      const ValueId other = index_.output(node, slot);
      if (other != none && (index_.value(other).is_output || !index_.uses(other).empty())) return false;
    }
    return true;
  }

  void try_node(graph::NodeId node) {
    if (!may_be_root(node)) return;
    const ValueId root = index_.output(node);
    for (Candidate& candidate : candidates_) {
      for (const auto& pattern : candidate.patterns) {
        const auto match = matcher_.match(*pattern, root);
        if (!match) continue;
        if (accept(candidate, *pattern, node, root, *match)) return;
        break;
      }
    }
  }

  bool refuse(const Candidate& candidate, const Match& match, ValueId root, Reason reason,
              std::string detail) {
    refused_.insert({root, &candidate});
    for (const graph::NodeId node : match.nodes) covered_.insert({node, &candidate});
    result_.misses.push_back({candidate.name, index_.scope_name(index_.value(root).scope),
                              std::string(index_.value(root).name), reason, std::move(detail)});
    return false;
  }

  /// Gives the element type of a match: of what it reads, its result, or its constants.
  DataType type_of(const Match& match, ValueId root) const {
    for (const ValueId input : match.inputs) {
      if (input != none && types_.of(input).type != DataType::undefined) return types_.of(input).type;
    }
    if (types_.of(root).type != DataType::undefined) return types_.of(root).type;
    for (const ValueId value : match.constants) {
      const graph::Constant* constant = constants_.find(value);
      if (constant && runtime::is_floating(constant->type)) return constant->type;
    }
    return DataType::undefined;
  }

  bool accept(Candidate& candidate, const Pattern& pattern, graph::NodeId node, ValueId root,
              const Match& match) {
    const OperatorDescription& op = *candidate.op;
    if (match.nodes.size() == 1 && !candidate.asked_for && !is_worth_replacing(index_.proto(node).op_type()))
      return refuse(candidate, match, root, Reason::one_node_already, "");
    if (!candidate.shadowed.empty())
      return refuse(
          candidate, match, root, Reason::name_taken,
          fmt::format("the model calls a function {} of its own, which the library's operator would replace",
                      candidate.shadowed));
    const DataType type = type_of(match, root);
    if (type == DataType::undefined) return refuse(candidate, match, root, Reason::dtype_unknown, "");
    const bool overloaded =
        std::any_of(op.overloads.begin(), op.overloads.end(), [&](const runtime::Overload& overload) {
          for (size_t slot = 0; slot < overload.inputs.size() && slot < match.inputs.size(); ++slot) {
            if (match.inputs[slot] == none) continue;
            DataType given = types_.of(match.inputs[slot]).type;
            if (given == DataType::undefined) given = type;
            // Undefined stands for inputs that each have their own type.
            if (overload.inputs[slot] != DataType::undefined && overload.inputs[slot] != given) return false;
          }
          const DataType made = types_.of(root).type;
          return overload.outputs.empty() || made == DataType::undefined || overload.outputs[0] == made;
        });
    if (!overloaded)
      return refuse(candidate, match, root, Reason::dtype_not_supported,
                    fmt::format("the library has no kernel for {}", runtime::type_name(type)));
    for (const auto& attribute : op.attributes) {
      const bool bound = match.attributes.count(attribute.name) || match.integers.count(attribute.name);
      if (attribute.required && !bound)
        return refuse(candidate, match, root, Reason::not_the_pattern,
                      fmt::format("the definition does not say what the attribute `{}` is", attribute.name));
    }
    if (candidate.existing) {
      const auto [place, fresh] = candidate.serves.emplace(type, false);
      if (fresh) {
        for (const auto& each : candidate.patterns)
          place->second = place->second || means_the_same(*candidate.existing, *each, type);
        if (auto fallback = recognise(*candidate.existing, op, type, index_.opset(0))) {
          place->second = true;
          candidate.literals = std::move(fallback->literals);
        }
      }
      if (!place->second) return refuse(candidate, match, root, Reason::name_taken, "");
    } else if (embeds()) {
      const auto [place, fresh] = candidate.unsupported.emplace(type, "");
      if (fresh) {
        try {
          write_fallback(op, {type}, index_.opset(0));
        } catch (const OpsetError& error) {
          place->second = error.what();
        }
      }
      if (!place->second.empty())
        return refuse(candidate, match, root, Reason::opset_unsupported, place->second);
    }
    const bool exact = is_exact(normal_, pattern, root, match, type);
    if (options_.exact && !exact) return refuse(candidate, match, root, Reason::only_within_rounding, "");

    const std::string declined =
        selection_.decline(candidate.name, index_.scope_name(index_.value(root).scope),
                           index_.value(root).name, index_.proto(node).name());
    if (!declined.empty()) return refuse(candidate, match, root, Reason::declined, declined);

    NewNode made;
    made.root = node;
    made.domain = op.domain;
    made.op = op.name;
    made.inputs = match.inputs;
    made.type = types_.of(root).type != DataType::undefined ? types_.of(root).type : type;
    for (const auto& attribute : op.attributes) add_attribute(made, attribute, match);
    Site site;
    site.op = candidate.name;
    site.scope = index_.scope_name(index_.value(root).scope);
    for (const ValueId input : match.inputs)
      site.inputs.emplace_back(input == none ? std::string_view() : index_.value(input).name);
    site.output = index_.value(root).name;
    site.attributes = match.attributes;
    site.type = type;
    site.exact = exact;
    candidate.types.insert(type);
    site_types_.push_back(type);
    site_candidates_.push_back(&candidate);
    site_scopes_.push_back(index_.value(root).scope);
    if (options_.neighbourhoods) neighbourhoods_.note(candidate.name, node, root, match);
    site.inner_value_read = replacement_.replace(std::move(made), match.nodes, match.constants);
    result_.sites.push_back(std::move(site));
    return true;
  }

  static void add_attribute(NewNode& made, const runtime::AttributeDescription& described,
                            const Match& match) {
    onnx::AttributeProto attribute;
    attribute.set_name(described.name);
    const auto number = match.attributes.find(described.name);
    const auto integers = match.integers.find(described.name);
    if (number != match.attributes.end()) {
      attribute.set_type(onnx::AttributeProto::FLOAT);
      attribute.set_f(static_cast<float>(number->second));
    } else if (integers != match.integers.end()) {
      if (described.type == runtime::AttributeType::ints) {
        attribute.set_type(onnx::AttributeProto::INTS);
        for (const int64_t value : integers->second) attribute.add_ints(value);
      } else {
        attribute.set_type(onnx::AttributeProto::INT);
        attribute.set_i(integers->second.at(0));
      }
    } else {
      return;
    }
    made.attributes.push_back(std::move(attribute));
  }

  /// Looks for what is nearly a place, each once: from the end, so that what is part of a larger near miss is
  /// passed over.
  void find_near_misses() {
    std::vector<NearMiss> found;
    for (graph::ScopeId scope = index_.scope_count() - 1; scope >= 0; --scope) {
      if (is_fallback(scope)) continue;
      const std::vector<graph::NodeId> order = graph::topological_order(index_, scope);
      for (auto node = order.rbegin(); node != order.rend(); ++node) {
        if (!replacement_.alive(*node) || !may_be_root(*node)) continue;
        const ValueId root = index_.output(*node);
        for (const Candidate& candidate : candidates_) {
          if (refused_.count({root, &candidate}) || covered_.count({*node, &candidate})) continue;
          for (const auto& pattern : candidate.patterns) {
            const auto miss = matcher_.nearest_miss(*pattern, root);
            if (!miss) continue;
            const bool replaced = std::any_of(miss->nodes.begin(), miss->nodes.end(),
                                              [&](graph::NodeId used) { return !replacement_.alive(used); });
            if (replaced) continue;
            for (const graph::NodeId used : miss->nodes) covered_.insert({used, &candidate});
            found.push_back({candidate.name, index_.scope_name(scope), std::string(index_.value(root).name),
                             miss->reason, miss->detail});
            break;
          }
        }
      }
    }
    result_.misses.insert(result_.misses.end(), found.rbegin(), found.rend());
  }

  bool embeds() const {
    return model_.ir_version() >= (options_.keep_ir ? functions_ir : separate_constants_ir);
  }

  void apply() {
    const int64_t opset = index_.opset(0);
    result_.embedded = embeds();
    std::vector<onnx::FunctionProto> functions;
    for (Candidate& candidate : candidates_) {
      if (candidate.types.empty() || candidate.existing || !embeds()) continue;
      Fallback fallback = write_fallback(*candidate.op, candidate.types, opset);
      functions.push_back(std::move(fallback.function));
      candidate.literals = std::move(fallback.literals);
    }
    replacement_.annotate([&](size_t site, NewNode& node) {
      for (const LiteralAttribute& literal : site_candidates_[site]->literals)
        node.attributes.push_back(make_literal(literal, site_types_[site], values_of(literal.source, node)));
    });
    std::vector<std::pair<onnx::FunctionProto*, const Candidate*>> function_imports;
    for (size_t site = 0; site < site_scopes_.size(); ++site) {
      const graph::Scope& outer = index_.scope(index_.root(site_scopes_[site]));
      if (outer.function) function_imports.emplace_back(outer.function, site_candidates_[site]);
    }
    replacement_.apply(model_, types_);

    auto& imports = *model_.mutable_opset_import();
    for (const Candidate* candidate : site_candidates_)
      graph::import_domain(imports, candidate->op->domain, candidate->op->since_version);
    for (const auto& [function, candidate] : function_imports) {
      const int64_t version = graph::imported_version(imports, candidate->op->domain);
      graph::import_domain(*function->mutable_opset_import(), candidate->op->domain, version);
    }
    for (onnx::FunctionProto& function : functions) *model_.add_functions() = std::move(function);
    if (!functions.empty() && model_.ir_version() < functions_ir) {
      result_.notes.push_back(
          fmt::format("IR version raised from {} to {}, for the functions that let the model run without the "
                      "library (--keep-ir declines both)",
                      model_.ir_version(), functions_ir));
      model_.set_ir_version(functions_ir);
    }
    if (!embeds()) {
      result_.notes.push_back(
          model_.ir_version() < separate_constants_ir
              ? fmt::format("IR version {} counts constants as inputs and stays; it has no functions, so the "
                            "result needs the library",
                            model_.ir_version())
              : fmt::format("IR version {} is kept; it has no functions, so the result needs the library",
                            model_.ir_version()));
    }
    bool bfloat16 = false;
    for (const DataType type : site_types_) bfloat16 |= type == DataType::bfloat16;
    if (bfloat16)
      result_.notes.push_back(
          "ONNX Runtime's CPU provider lacks the basic bfloat16 kernels: there the result needs the library");
    result_.nodes_after = count_nodes();
    result_.neighbourhoods = neighbourhoods_.finish(model_);
    result_.without_neighbourhood = neighbourhoods_.alone_impossible();
  }

  /// Reads an attribute of a new node as numbers.
  static std::vector<double> values_of(const std::string& name, const NewNode& node) {
    std::vector<double> values;
    for (const onnx::AttributeProto& attribute : node.attributes) {
      if (name.empty() || attribute.name() != name) continue;
      if (attribute.type() == onnx::AttributeProto::FLOAT) values = {attribute.f()};
      if (attribute.type() == onnx::AttributeProto::INT) values = {static_cast<double>(attribute.i())};
      values.insert(values.end(), attribute.floats().begin(), attribute.floats().end());
      values.insert(values.end(), attribute.ints().begin(), attribute.ints().end());
    }
    return values;
  }

  int count_nodes() const {
    const graph::Index after(model_);
    int count = 0;
    for (graph::NodeId node = 0; node < after.node_count(); ++node) {
      const graph::Scope& outer = after.scope(after.root(after.node(node).scope));
      if (outer.function && outer.function->doc_string().compare(0, fallback_mark.size(), fallback_mark) == 0)
        continue;
      ++count;
    }
    return count;
  }

  onnx::ModelProto& model_;
  const InjectOptions& options_;
  graph::Index index_;
  graph::Constants constants_;
  Spellings spellings_;
  NormalForm normal_;
  graph::Types types_;
  Matcher matcher_;
  Replacement replacement_;
  Neighbourhoods neighbourhoods_;
  Selection selection_;
  std::vector<Candidate> candidates_;
  std::set<std::pair<ValueId, const Candidate*>> refused_;
  std::set<std::pair<graph::NodeId, const Candidate*>>
      covered_;  ///< nodes of what was refused or nearly missed
  std::vector<DataType> site_types_;
  std::vector<const Candidate*> site_candidates_;
  std::vector<graph::ScopeId> site_scopes_;
  Injection result_;
};

}  // namespace

Injection inject(onnx::ModelProto& model, const std::vector<runtime::LibraryDescription>& libraries,
                 const InjectOptions& options) {
  return Search(model, libraries, options).run();
}

}  // namespace graft::rewrite
