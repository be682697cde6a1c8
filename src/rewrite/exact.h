#pragma once
/// Lets a match be called equal: the model spells the definition with the same roundings, so that by the
/// standard's meaning the bits are the same. Commuted operands, a subtracted constant, Min and Max for Clip
/// and the like do not change bits; a constant taken to another place does.
#include "rewrite/match.h"

namespace graft::rewrite {

/// Tells whether a match is equal; otherwise it is the same within rounding.
bool is_exact(const NormalForm& model, const Pattern& pattern, ValueId root, const Match& match,
              DataType type);

}  // namespace graft::rewrite
