// ORT cannot type complex tensors of custom operators.
// error: ORT has no complex tensors for custom operators: add a last dimension of 2
#include <graft/graft.h>
using namespace graft;

#include <complex>
void conjugate(In<std::complex<float>> x, Out<std::complex<float>> y) {}
GRAFT_OPS(m, "my.ops") { m.def<conjugate>("Conjugate", shape<same>); }
