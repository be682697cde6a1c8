#pragma once
/// Lets you say which opset a model was made for, when its import is of no use, and whether another one would
/// change what it computes.
///
///   meaning_change(index, 11, 17);  // "Softmax means something else from opset 13 on"
#include <cstdint>
#include <string>

#include "graph/index.h"

namespace graft::doctor {

struct Patient;

/// Says which of the model's operators computes something else when the opset import goes from one version to
/// another, though it is spelled the same; empty when none does.
std::string meaning_change(const graph::Index& index, int64_t from, int64_t to);

/// Is the newest opset at which the runtime takes most of the model's nodes, and the oldest at which it takes
/// as many.
struct OpsetChoice {
  int64_t newest = 0;
  int64_t oldest = 0;
};

OpsetChoice choose_opset(const Patient& patient);

}  // namespace graft::doctor
