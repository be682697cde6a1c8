// Errors that say who, what and got.
//
//   if (x.rank() != 2) fail("expected a matrix for x, got shape ", x.shape());
//
// Throw inside an operator; the SDK adds the operator's and the node's name and hands ORT a status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

namespace graft {

/// Reports what went wrong in an operator; the text names neither operator nor node, the SDK adds both.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

template <class T>
void write(std::ostream& out, const T& value) {
  if constexpr (requires { std::span<const int64_t>(value); }) {
    out << '[';
    const char* separator = "";
    for (int64_t dim : std::span<const int64_t>(value)) {
      out << separator << dim;
      separator = ",";
    }
    out << ']';
  } else {
    out << value;
  }
}

}  // namespace detail

/// Joins the parts into one text; a shape is written as [2,3,4].
template <class... Parts>
std::string message(const Parts&... parts) {
  std::ostringstream out;
  (detail::write(out, parts), ...);
  return std::move(out).str();
}

/// Throws an Error with the joined parts as its text.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(message(parts...));
}

}  // namespace graft
