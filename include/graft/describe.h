// The library describes itself: a JSON text of its operators, and plain C entries that call its kernels without ORT.
//
//   const graft_library* library = graft_describe(GRAFT_ABI);
//   library->entries[0].call(&library->entries[0], &host, inputs, 1, 1);
//
// The interface is graft/describe_abi.h; docs/reference/describe.md explains the JSON.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "graft/describe_abi.h"
#include "graft/host.h"
#include "graft/module.h"
#include "graft/operator.h"
#include "graft/version.h"

namespace graft::detail {

/// Writes JSON text; the caller sees to commas between members by calling `next`.
class JsonWriter {
 public:
  std::string text;

  JsonWriter& raw(std::string_view part) { return text += part, *this; }
  JsonWriter& string(std::string_view value) {
    text += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') (text += '\\') += c;
      else if (c == '\n') text += "\\n";
      else if (static_cast<unsigned char>(c) < 0x20) {
        constexpr char hex[] = "0123456789abcdef";
        ((text += "\\u00") += hex[(c >> 4) & 15]) += hex[c & 15];
      } else text += c;
    }
    text += '"';
    return *this;
  }
  JsonWriter& key(std::string_view name) { return string(name).raw(":"); }
  template <class T>
    requires std::is_arithmetic_v<T>
  JsonWriter& number(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) return string(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    }
    std::array<char, 40> digits;
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
    return *this;
  }
  /// Writes the items as a list, each by `write(item)`.
  template <class Items, class Write>
  JsonWriter& list(const Items& items, Write write) {
    raw("[");
    bool first = true;
    for (const auto& item : items) {
      if (!first) raw(",");
      first = false;
      write(item);
    }
    return raw("]");
  }
  JsonWriter& value(const AttributeValue& attribute) {
    std::visit(
        [&]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, std::monostate>) raw("null");
          else if constexpr (std::is_arithmetic_v<T>) number(v);
          else if constexpr (std::is_same_v<T, std::string>) string(v);
          else if constexpr (std::is_same_v<T, TensorAttribute>) raw("null");
          else list(v, [&](auto x) { number(x); });
        },
        attribute);
    return *this;
  }
};

constexpr std::string_view arity_name(Arity arity) {
  return arity == Arity::optional ? "optional" : arity == Arity::variadic ? "variadic" : "required";
}
constexpr std::string_view shape_rule_name(ShapeRule rule) {
  switch (rule) {
    case ShapeRule::computed: return "computed";
    case ShapeRule::same: return "same";
    case ShapeRule::broadcast: return "broadcast";
    case ShapeRule::function: return "function";
  }
  return "computed";
}

[[gnu::cold]] inline void write_operator(JsonWriter& json, const Operator& op) {
  const auto arguments = [&](const std::vector<Argument>& list) {
    json.list(list, [&](const Argument& a) {
      json.raw("{").key("name").string(a.name).raw(",").key("arity").string(arity_name(a.arity));
      if (a.constant) json.raw(",").key("constant").raw("true");
      json.raw("}");
    });
  };
  const auto types = [&](const std::vector<DType>& list) {
    json.list(list, [&](DType type) { json.string(type == DType::none ? "any" : dtype_name(type)); });
  };
  json.raw("{").key("domain").string(op.domain).raw(",").key("name").string(op.name).raw(",");
  json.key("since_version").number(1).raw(",").key("doc").string(op.doc).raw(",");
  if (!op.pool.empty()) json.key("pool").string(op.pool).raw(",");
  json.key("kind").string(op.elementwise ? "elementwise" : "tensor").raw(",");
  json.key("provider").string("CPUExecutionProvider").raw(",");
  json.key("inputs");
  arguments(op.inputs);
  json.raw(",").key("outputs");
  arguments(op.outputs);
  json.raw(",").key("overloads").list(op.overloads, [&](const Overload& overload) {
    json.raw("{").key("inputs");
    types(overload.inputs);
    json.raw(",").key("outputs");
    types(overload.outputs);
    if (!overload.any.empty()) {
      json.raw(",").key("any");
      types(overload.any);
    }
    json.raw("}");
  });
  json.raw(",").key("attributes").list(op.attributes, [&](const Attribute& a) {
    json.raw("{").key("name").string(a.name).raw(",").key("type").string(attribute_type_name(a.type)).raw(",");
    json.key("required").raw(a.required() ? "true" : "false");
    if (!a.required()) json.raw(",").key("default").value(a.default_value);
    if (!std::holds_alternative<std::monostate>(a.example)) json.raw(",").key("example").value(a.example);
    if (!std::isinf(a.limits.low)) json.raw(",").key("at_least").number(a.limits.low);
    if (!std::isinf(a.limits.high)) json.raw(",").key("at_most").number(a.limits.high);
    if (!a.limits.allowed.empty()) {
      json.raw(",").key("one_of").list(a.limits.allowed, [&](const std::string& name) { json.string(name); });
    }
    json.raw("}");
  });
  json.raw(",").key("shape").string(shape_rule_name(op.shape_rule)).raw(",");
  json.key("definitions").list(op.definitions, [&](const Definition& d) {
    json.raw("{").key("opset").number(d.opset).raw(",").key("text").string(d.text).raw(",");
    json.key("traced").raw(d.traced ? "true" : "false").raw("}");
  });
  json.raw("}");
}

[[gnu::cold]] inline std::string describe_as_json(const std::list<Operator>& operators) {
  JsonWriter json;
  json.raw("{").key("graft").raw("{").key("version").string(GRAFT_VERSION).raw(",").key("abi").number(GRAFT_ABI);
  json.raw("},").key("operators").list(operators, [&](const Operator& op) { write_operator(json, op); });
  return json.raw("}").text;
}

/// Holds what graft_describe hands out.
struct Description {
  std::string json;
  std::vector<Entry> entries;
  std::vector<graft_entry> c_entries;
  graft_library library{};

  explicit Description(const std::list<Operator>& operators) : json(describe_as_json(operators)) {
    for (const Operator& op : operators) {
      for (size_t i = 0; i < op.overloads.size(); ++i) {
        entries.push_back({{op.domain.c_str(), op.name.c_str(), uint32_t(i), nullptr}, &op, &op.overloads[i]});
      }
    }
    for (Entry& entry : entries) {
      entry.c.call = [](const graft_entry* self, const graft_host* host, const graft_value* inputs, size_t input_count,
                        size_t output_count) {
        const Description& all = instance();
        const Entry& found = all.entries[size_t(self - all.c_entries.data())];
        try {
          call_entry(found, *host, {inputs, input_count}, output_count);
          return 0;
        } catch (const std::exception& error) {
          if (host->fail) host->fail(host->state, message(found.op->full_name(), ": ", error.what()).c_str());
          return 1;
        }
      };
      c_entries.push_back(entry.c);
    }
    library = {sizeof(graft_library), GRAFT_ABI, json.c_str(), c_entries.data(), c_entries.size()};
  }

  static const Description& instance() {
    static const Description description(operators());
    return description;
  }
};

}  // namespace graft::detail

#if defined(_WIN32)
#define GRAFT_EXPORT __declspec(dllexport)
#else
#define GRAFT_EXPORT __attribute__((used, visibility("default")))
#endif

extern "C" {
/// Describes this library. Null for an ABI that it does not know, and when its operators contradict each other, which
/// RegisterCustomOps then says.
GRAFT_EXPORT inline const graft_library* graft_describe(uint32_t abi) {
  if (abi != GRAFT_ABI) return nullptr;
  try {
    return &graft::detail::Description::instance().library;
  } catch (const std::exception&) {
    return nullptr;
  }
}
}
