// Errors that say who, what and got.
//
//   if (x.rank() != 2) fail("expected a matrix for x, got shape ", x.shape());
//
// Throw inside an operator; the SDK adds the operator's and the node's name and hands ORT a status.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace graft {

/// Reports what went wrong in an operator; the text names neither operator nor node, the SDK adds both.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Is one part of a message: a text, a number, or a shape, which is written as [2,3,4].
class MessagePart {
 public:
  MessagePart(std::string_view text) : text_(text) {}
  MessagePart(const std::string& text) : text_(text) {}
  MessagePart(const char* text) : text_(text) {}
  MessagePart(char letter) : digits_{letter}, count_(1) {}
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  MessagePart(T number) {
    if constexpr (std::is_floating_point_v<T>) print(double(number), float(number) == number);
    else if constexpr (std::is_signed_v<T>) print(int64_t(number));
    else print(uint64_t(number));
  }
  template <class T>
    requires std::convertible_to<const T&, std::span<const int64_t>>
  MessagePart(const T& shape) : shape_(shape), is_shape_(true) {}

  [[gnu::cold, gnu::noinline]] void append_to(std::string& message) const {
    if (!is_shape_) {
      message.append(text_).append(digits_.data(), count_);
      return;
    }
    message += '[';
    for (size_t i = 0; i < shape_.size(); ++i) {
      if (i > 0) message += ',';
      MessagePart(shape_[i]).append_to(message);
    }
    message += ']';
  }

 private:
  [[gnu::cold, gnu::noinline]] void print(int64_t number) { keep(std::to_chars(digits_.data(), digits_.data() + digits_.size(), number)); }
  [[gnu::cold, gnu::noinline]] void print(uint64_t number) { keep(std::to_chars(digits_.data(), digits_.data() + digits_.size(), number)); }
  /// Prints as few digits as tell the number from its neighbours of its own type.
  [[gnu::cold, gnu::noinline]] void print(double number, bool is_float) {
    char* const end = digits_.data() + digits_.size();
    keep(is_float ? std::to_chars(digits_.data(), end, float(number)) : std::to_chars(digits_.data(), end, number));
  }
  void keep(std::to_chars_result result) { count_ = size_t(result.ptr - digits_.data()); }

  std::string_view text_;
  std::span<const int64_t> shape_;
  bool is_shape_ = false;
  std::array<char, 32> digits_{};
  size_t count_ = 0;
};

namespace detail {

// Errors are rare: what makes their texts is kept small, and out of the functions that find them.
[[gnu::cold, gnu::noinline]] inline std::string join(std::initializer_list<MessagePart> parts) {
  std::string text;
  for (const MessagePart& part : parts) part.append_to(text);
  return text;
}
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_with(std::initializer_list<MessagePart> parts) { throw Error(join(parts)); }

}  // namespace detail

/// Joins the parts into one text.
template <class... Parts>
std::string message(const Parts&... parts) {
  return detail::join({MessagePart(parts)...});
}

/// Throws an Error with the joined parts as its text.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  detail::fail_with({MessagePart(parts)...});
}

}  // namespace graft
