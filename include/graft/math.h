// Scalar math that the compiler can widen: exp, log, tanh, erf, pow, sin, gelu, ...
//
//   constexpr float squash(float x, float limit) { return limit * graft::tanh(x / limit); }
//
// The float functions are branch-free straight-line code: no calls, no tables, no conversion of an
// out-of-range value to an integer. A loop around one is vectorised by g++ 12 and clang 14 with the flags
// that graft_add_library sets (no -ffast-math); -ffp-contract=fast lets a*b+c become one instruction, and no
// error bound depends on it. The bounds are in docs/reference/math.md. The double functions are the standard
// library's.
//
// Composites (silu, gelu, mish) do what their definition does at NaN, infinities and signed zero;
// x*sigmoid(x) is NaN at minus infinity.
//
// House rules, each worth 5 to 40 percent of a loop's time:
//  * never clamp the input with ?: and then compute; compute unclamped and select the result at the end. g++
//    has no vector minimum that is right for NaN (?: is compare and blend) and threads the clamp's constant
//    through the rest.
//  * round with the 1.5*2^23 trick: the integer sits in the low bits of the sum, so 2^n is one shift.
//  * write a comparison so that NaN takes the computed path; it then propagates by arithmetic.
//  * where a result may be subnormal, compute it times a power of two and undo that in the last operation.
//  * short Estrin polynomials, side terms off the critical path: on long functions the out-of-order window is
//    the limit, so time goes as operations times depth of dependency. (gelu_tanh takes its exponent from a
//    rough sum of its own instead of waiting for the exact one: an operation more, 11.3 us instead of 14.2.)
//  * where floats and doubles meet, combine conditions as bits (math_detail::mask), not as bool.
#pragma once

// clang-format off
#include "graft/math/parts.h"           // a float as bits, the parts of e^x
#include "graft/math/rounding.h"        // floor, ceil, round, abs, sign, relu, min, max, clamp, isnan, isinf
#include "graft/math/exponential.h"     // exp, exp2, expm1
#include "graft/math/logarithm.h"       // log, log1p
#include "graft/math/power.h"           // pow, sqrt, rsqrt, reciprocal
#include "graft/math/activation.h"      // sigmoid, tanh, softplus, silu, gelu_tanh, mish
#include "graft/math/error_function.h"  // erf, gelu
#include "graft/math/trigonometric.h"   // sin, cos
#include "graft/math/integer.h"         // integers that wrap, mod, fmod
// clang-format on
