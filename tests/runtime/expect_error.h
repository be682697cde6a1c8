#pragma once
/// Lets a test look at the text of the error that a call throws.
///
///   EXPECT_EQ(error_of([] { read_tensor("none.npy"); }), "none.npy: cannot be read: No such file or
///   directory");
#include <string>

#include "error.h"

namespace graft::testing {

/// Gives the text of the InputError that the call throws, "no error" when it throws none.
template <class Call> std::string error_of(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace graft::testing
