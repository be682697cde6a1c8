// Attributes: the trailing parameters of an operator, bound in order.
//
//   "limit"_attr = 6.f        an attribute with a default; its type is the parameter's
//   "axis"_attr               a required one
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <limits>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "graft/error.h"
#include "graft/tensor.h"

namespace graft {

/// Names the attribute types with the numbers of ONNX's AttributeProto.AttributeType.
enum class AttributeType : int32_t { none = 0, float32 = 1, int64 = 2, string = 3, tensor = 4, floats = 6, ints = 7 };

constexpr std::string_view attribute_type_name(AttributeType type) {
  switch (type) {
    case AttributeType::none: break;
    case AttributeType::float32: return "float";
    case AttributeType::int64: return "int";
    case AttributeType::string: return "string";
    case AttributeType::floats: return "floats";
    case AttributeType::ints: return "ints";
    case AttributeType::tensor: return "tensor";
  }
  return "none";
}

/// Holds the value of a tensor attribute: its elements in row-major order.
class TensorAttribute {
 public:
  TensorAttribute() = default;
  explicit TensorAttribute(const Tensor& tensor) : tensor_(tensor) {
    tensor_.data = nullptr;
    if (tensor.dtype == DType::string) {
      const auto* strings = static_cast<const std::string*>(tensor.data);
      strings_.assign(strings, strings + tensor.size);
      return;
    }
    const auto* bytes = static_cast<const std::byte*>(tensor.data);
    bytes_.assign(bytes, bytes + (size_t(tensor.size) * dtype_bits(tensor.dtype) + 7) / 8);
  }
  DType dtype() const { return tensor_.dtype; }
  /// Gives a view of the elements; it lives as long as this object.
  Tensor view() const {
    Tensor view = tensor_;
    view.data = const_cast<void*>(tensor_.dtype == DType::string ? static_cast<const void*>(strings_.data()) : bytes_.data());
    return view;
  }

 private:
  Tensor tensor_;
  std::vector<std::byte> bytes_;
  std::vector<std::string> strings_;
};

/// Holds the value of an attribute as ONNX stores it; monostate is none.
using AttributeValue =
    std::variant<std::monostate, float, int64_t, std::string, std::vector<float>, std::vector<int64_t>, TensorAttribute>;

/// Says which values an attribute may have.
struct AttributeLimits {
  double low = -std::numeric_limits<double>::infinity();  ///< Of a number, or of each one of a list.
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> allowed;  ///< Of a string; empty: any.

  /// Throws an Error that says what is allowed when a value is not.
  void check(const AttributeValue& value) const {
    const auto number = [&](double v) {
      if (v >= low && v <= high) return;
      if (std::isinf(high)) fail("expected at least ", low, ", got ", v);
      if (std::isinf(low)) fail("expected at most ", high, ", got ", v);
      fail("expected ", low, " to ", high, ", got ", v);
    };
    if (const auto* f = std::get_if<float>(&value)) number(*f);
    else if (const auto* i = std::get_if<int64_t>(&value)) number(double(*i));
    else if (const auto* fs = std::get_if<std::vector<float>>(&value)) std::ranges::for_each(*fs, number);
    else if (const auto* is = std::get_if<std::vector<int64_t>>(&value)) std::ranges::for_each(*is, number);
    else if (const auto* s = std::get_if<std::string>(&value); s && !allowed.empty() && std::ranges::find(allowed, *s) == allowed.end()) {
      std::string names;
      for (const std::string& name : allowed) names += (names.empty() ? "\"" : ", \"") + name + "\"";
      fail("expected one of ", names, ", got \"", *s, "\"");
    }
  }
};

/// Is the part of the schema that says what one attribute is.
struct Attribute {
  std::string name;
  AttributeType type = AttributeType::none;
  AttributeValue default_value;  ///< monostate: the attribute is required
  AttributeLimits limits;
  AttributeValue example{};  ///< Of a required attribute: a value that it may have; monostate: none is given.

  bool required() const { return std::holds_alternative<std::monostate>(default_value); }
};

/// Reads the attributes of one node, whoever holds them.
class AttributeReader {
 public:
  virtual ~AttributeReader() = default;
  /// Finds the attribute of this name; monostate when the node has none. Throws an Error when it is of another type.
  virtual AttributeValue find(const std::string& name, AttributeType type) const = 0;

  /// Gives the value, or the default. Throws an Error when a required one is missing, the type is another, or the limits
  /// do not allow the value.
  AttributeValue read(const Attribute& attribute) const {
    AttributeValue value = find(attribute.name, attribute.type);
    if (std::holds_alternative<std::monostate>(value)) {
      if (attribute.required()) {
        fail("the attribute ", attribute.name, " (", attribute_type_name(attribute.type), ") is required, and missing");
      }
      return attribute.default_value;
    }
    try {
      attribute.limits.check(value);
    } catch (const Error& error) {
      fail("attribute ", attribute.name, ": ", error.what());
    }
    return value;
  }
};

/// Is a tensor attribute with elements of type T, as a parameter of an operator.
template <Element T>
class TensorOf {
  static_assert(!std::is_same_v<T, int4> && !std::is_same_v<T, uint4>, "two 4-bit integers share a byte: take TensorOf<int8_t>");

 public:
  explicit TensorOf(TensorAttribute value) : value_(std::move(value)), view_(value_.view()) {
    if (value_.dtype() != dtype_of<T>) fail("expected a tensor(", dtype_name(dtype_of<T>), "), got a tensor(", dtype_name(value_.dtype()), ")");
  }
  TensorOf(const TensorOf& other) : value_(other.value_), view_(value_.view()) {}
  TensorOf& operator=(const TensorOf& other) { return value_ = other.value_, view_ = value_.view(), *this; }

  int64_t size() const { return view_.size; }
  std::span<const int64_t> shape() const { return view_.shape; }
  const T* data() const { return static_cast<const T*>(view_.data); }
  const T& operator[](int64_t i) const { return data()[i]; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

 private:
  TensorAttribute value_;
  Tensor view_;
};

namespace detail {

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_list<std::span<const T>> = true;

/// What a parameter of type P is as an attribute: its ONNX type, what a kernel stores, and the way between them.
template <class P>
struct attribute_param {
  static constexpr bool supported = false;
};

template <class P>
  requires std::is_floating_point_v<P>
struct attribute_param<P> {
  static constexpr bool supported = true;
  static constexpr AttributeType type = AttributeType::float32;
  using Stored = P;
  static Stored from(AttributeValue value) { return P(std::get<float>(value)); }
};

template <class P>
  requires std::is_integral_v<P>
struct attribute_param<P> {
  static constexpr bool supported = true;
  static constexpr AttributeType type = AttributeType::int64;
  using Stored = P;
  static Stored from(AttributeValue value) {
    const int64_t wide = std::get<int64_t>(value);
    if (int64_t(P(wide)) != wide) fail("the value ", wide, " does not fit into the ", sizeof(P) * 8, " bits of the parameter");
    return P(wide);
  }
};

template <class P>
  requires std::is_same_v<P, std::string> || std::is_same_v<P, std::string_view>
struct attribute_param<P> {
  static constexpr bool supported = true;
  static constexpr AttributeType type = AttributeType::string;
  using Stored = std::string;
  static Stored from(AttributeValue value) { return std::get<std::string>(std::move(value)); }
};

template <class P>
  requires is_list<P>
struct attribute_param<P> {
  using T = std::remove_const_t<typename P::value_type>;
  static_assert(!std::is_same_v<T, std::string> && !std::is_same_v<T, std::string_view>,
                "ORT gives a kernel no list of strings: take a TensorOf<std::string>, or one std::string and split it at a separator");
  static constexpr bool supported = std::is_same_v<T, float> || std::is_same_v<T, int64_t>;
  static constexpr AttributeType type = std::is_same_v<T, float> ? AttributeType::floats : AttributeType::ints;
  using Stored = std::vector<T>;
  static Stored from(AttributeValue value) { return std::get<std::vector<T>>(std::move(value)); }
};

/// Is a tensor attribute as a parameter: TensorOf<T> holds its elements.
template <Element T>
struct attribute_param<TensorOf<T>> {
  static constexpr bool supported = true;
  static constexpr AttributeType type = AttributeType::tensor;
  using Stored = TensorOf<T>;
  static Stored from(AttributeValue value) { return Stored(std::get<TensorAttribute>(std::move(value))); }
};

/// Turns a value into what a kernel stores for a parameter of type P. Throws an Error that names the attribute.
template <class P>
typename attribute_param<P>::Stored stored_attribute(const std::string& name, AttributeValue value) {
  try {
    return attribute_param<P>::from(std::move(value));
  } catch (const Error& error) {
    fail("attribute ", name, ": ", error.what());
  }
}
template <class P>
auto read_attribute(const AttributeReader& reader, const Attribute& attribute) {
  return stored_attribute<P>(attribute.name, reader.read(attribute));
}

/// Turns a default written in C++ into the value that ONNX stores, for an attribute of this type.
template <class T>
AttributeValue default_for(AttributeType type, const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    if (type == AttributeType::float32) return float(value);
    if (type == AttributeType::int64) {
      if (T(int64_t(value)) == value) return int64_t(value);
    }
  } else if constexpr (std::is_convertible_v<T, std::string>) {
    if (type == AttributeType::string) return std::string(value);
  } else if constexpr (std::is_same_v<T, std::vector<float>>) {
    if (type == AttributeType::floats) return value;
  } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
    if (type == AttributeType::ints) return value;
  }
  fail("its default does not have the type ", attribute_type_name(type), " of the parameter");
}

}  // namespace detail

/// Is an attribute with a default, as `"name"_attr = value` makes it.
template <class T>
struct AttributeDefault {
  std::string_view name;
  T value;
  AttributeLimits limits{};
};

namespace detail {
/// Is called, and so named in the compiler's error, when a default has digits that ONNX would lose.
inline void give_the_default_as_a_float_such_as_0_1f() {}
}  // namespace detail

/// Is a default written as a double: ONNX keeps a float attribute as float32, so one with more digits does not compile.
struct give_the_default_as_a_float_such_as_0_1f {
  float value;
  consteval give_the_default_as_a_float_such_as_0_1f(double v) : value(float(v)) {
    if (double(value) != v) detail::give_the_default_as_a_float_such_as_0_1f();
  }
};

/// Is an attribute whose values are limited, as `"name"_attr.at_least(1)` makes it; required until it gets a default.
struct LimitedAttribute {
  std::string_view name;
  AttributeLimits limits;
  template <class T>
    requires(!std::is_same_v<T, double>)
  AttributeDefault<std::decay_t<T>> operator=(T value) const {
    return {name, value, limits};
  }
  AttributeDefault<float> operator=(give_the_default_as_a_float_such_as_0_1f value) const {
    return {name, value.value, limits};
  }
};

/// Is a required attribute, as `"name"_attr` makes it.
struct AttributeName {
  std::string_view name;

  template <class T>
    requires(!std::is_same_v<T, double>)
  constexpr AttributeDefault<std::decay_t<T>> operator=(T value) const {
    return {name, value};
  }
  constexpr AttributeDefault<float> operator=(give_the_default_as_a_float_such_as_0_1f value) const {
    return {name, value.value};
  }
  /// Limits a number, or each number of a list, to [low, high].
  LimitedAttribute between(double low, double high) const { return {name, {low, high, {}}}; }
  LimitedAttribute at_least(double low) const { return {name, {low, std::numeric_limits<double>::infinity(), {}}}; }
  LimitedAttribute at_most(double high) const { return {name, {-std::numeric_limits<double>::infinity(), high, {}}}; }
  /// Lists the strings that the attribute may be.
  template <class... Name>
  LimitedAttribute one_of(Name... names) const {
    return {name, {.allowed = {std::string(names)...}}};
  }
};

inline namespace literals {
/// Names an attribute: `"alpha"_attr` is required, `"alpha"_attr = 0.01f` has a default.
constexpr AttributeName operator""_attr(const char* name, size_t length) { return {{name, length}}; }
}  // namespace literals

/// Is an attribute that is a data member of a stateful operator.
template <class F, class T>
struct MemberAttribute {
  std::string_view name;
  T F::*member;
  bool is_required = false;
  AttributeValue example{};
  /// Makes it one that every node has; `graft check` tries the example.
  MemberAttribute required(AttributeValue example = {}) const { return {name, member, true, std::move(example)}; }
};
/// Binds an attribute to a data member; the member's initial value is the default, but for `attribute(...).required()`.
template <class F, class T>
constexpr MemberAttribute<F, T> attribute(std::string_view name, T F::*member) {
  return {name, member};
}

}  // namespace graft
