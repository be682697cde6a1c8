// Graft: write an ONNX Runtime operator as an ordinary C++ function.
//
//   struct HardSwish {
//     constexpr auto operator()(auto x) const { return x * clamp(x + 3, 0, 6) / 6; }
//   };
//   GRAFT_OPS(m, "my.ops") { m.def<HardSwish>("HardSwish"); }
//
// This file is the table of contents. A library of operators includes it and nothing else.
#pragma once

#include "graft/error.h"        // what goes wrong, in one sentence that says who, what and got
#include "graft/dtype.h"        // element types, float16 and bfloat16 among them
#include "graft/tensor.h"       // In<T> and Out<T>: a tensor in, a tensor out
#include "graft/shape.h"        // shapes with symbolic dimensions; shape<same>, shape<broadcast>, shape<f>
#include "graft/attribute.h"    // "alpha"_attr = 0.01f
#include "graft/definition.h"   // definition(opset, "y = ..."): what the operator means in standard operators
#include "graft/operator.h"     // the schema of an operator and its kernels
#include "graft/math.h"         // exp, tanh, erf, ... that the compiler widens
#include "graft/scalar.h"       // what a generic functor computes with
#include "graft/trace.h"        // what a generic functor is traced with
#include "graft/target.h"       // one loop, several processors
#include "graft/broadcast.h"    // ONNX broadcasting through collapsed strides
#include "graft/elementwise.h"  // kernels from scalar functions
#include "graft/variadic.h"     // any number of tensors, of one type or each of its own
#include "graft/node.h"         // the node: its name, attributes by name, its session's options
#include "graft/param.h"        // what a tensor function may take
#include "graft/signature.h"    // kernels from tensor functions
#include "graft/module.h"       // GRAFT_OPS and m.def
#if !defined(GRAFT_SEPARATE_ENTRY)  // graft_add_library compiles the entry points once, in cmake/entry.cc
#include "graft/describe.h"  // the library describes itself, and can be called without ORT
#include "graft/ort.h"       // RegisterCustomOps; with ort/, the only part that knows ORT
#endif
