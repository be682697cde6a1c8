// Tensor functions on types that are for storage: 8-bit floats and 4-bit integers.
#include <graft/graft.h>
using namespace graft;

namespace {

template <class T>
void widen(In<T> x, Out<float> y) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = to_float(x[i]);
}
template <class T>
void halve(In<T> x, Out<T> y) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = to_float8<T>(to_float(x[i]) / 2);
}
template <class T>
void unpack(In<T> x, Out<float> y) {
  for (int64_t i = 0; i < x.size(); ++i) y[i] = float(x[i]);
}
template <class T>
void pack(In<float> x, Out<T> y) {
  for (int64_t i = 0; i < x.size(); ++i) y.set(i, int(x[i]));
}

}  // namespace

GRAFT_OPS(m, "sdk.storage") {
  m.def<widen<float8e4m3fn>, widen<float8e4m3fnuz>, widen<float8e5m2>, widen<float8e5m2fnuz>>("Widen", shape<same>);
  m.def<halve<float8e4m3fn>, halve<float8e5m2>>("Halve", shape<same>);
  m.def<unpack<int4>, unpack<uint4>>("Unpack", shape<same>);
  m.def<pack<int4>>("PackSigned", shape<same>);
}
