// The loops over integers and bools, conversions, and the ways in and out of a tile.
#include "functions.h"
#include "graft/staging.h"

namespace graft::fused {
namespace {

template <class T>
const Family* integer_family(Op op) {
  switch (op) {
    case Op::neg: return unary<Neg, T>;
    case Op::abs: return unary<IntegerAbs, T>;
    case Op::mod: return binary<Mod, T>;
    default: return number_family<T>(op);
  }
}

const Family* bool_family(Op op) {
  switch (op) {
    case Op::logical_not: return unary<Not, uint8_t>;
    case Op::logical_and: return comparison<And, uint8_t>;
    case Op::logical_or: return comparison<Or, uint8_t>;
    case Op::logical_xor: return comparison<Xor, uint8_t>;
    case Op::equal: return comparison<Equal, uint8_t>;
    case Op::less: return comparison<Less, uint8_t>;
    case Op::less_equal: return comparison<LessEqual, uint8_t>;
    case Op::greater: return comparison<Greater, uint8_t>;
    case Op::greater_equal: return comparison<GreaterEqual, uint8_t>;
    case Op::where: return &make_family<Where, uint8_t(uint8_t, uint8_t, uint8_t), 0b000, 0b010, 0b100, 0b110>;
    default: return nullptr;
  }
}

// ---- conversions -----------------------------------------------------------------------------------------------------

template <class R>
struct Convert {
  template <class T>
  static GRAFT_INLINE R f(T x) {
    if constexpr (std::is_same_v<R, uint8_t>) return uint8_t(x != 0);
    else return R(x);
  }
};

template <class T>
const Family* conversion_from(Type to) {
  switch (to) {
    case Type::f32: return &make_family<Convert<float>, float(T), 0>;
    case Type::f64: return &make_family<Convert<double>, double(T), 0>;
    case Type::i32: return &make_family<Convert<int32_t>, int32_t(T), 0>;
    case Type::i64: return &make_family<Convert<int64_t>, int64_t(T), 0>;
    case Type::boolean: return &make_family<Convert<uint8_t>, uint8_t(T), 0>;
    default: return nullptr;
  }
}

/// Rounds floats to 16 bits and back, a block at a time.
template <class T>
struct RoundLoop {
  template <Target V>
  static GRAFT_INLINE void run(std::byte* const* address, const uint16_t* places, int64_t n) {
    const float* from = reinterpret_cast<const float*>(address[places[0]]);
    float* to = reinterpret_cast<float*>(address[places[1]]);
    std::array<T, 256> block;
    for (int64_t i = 0; i < n; i += 256) {
      const int64_t count = std::min<int64_t>(256, n - i);
      graft::detail::Staging<V, T>::narrow(from + i, block.data(), count);
      graft::detail::Staging<V, T>::widen(block.data(), to + i, count);
    }
  }
};
template <class T>
struct WidenLoop {
  template <Target V>
  static GRAFT_INLINE void run(std::byte* const* address, const uint16_t* places, int64_t n) {
    graft::detail::Staging<V, T>::widen(reinterpret_cast<const T*>(address[places[0]]), reinterpret_cast<float*>(address[places[1]]), n);
  }
};
template <class T>
struct NarrowLoop {
  template <Target V>
  static GRAFT_INLINE void run(std::byte* const* address, const uint16_t* places, int64_t n) {
    graft::detail::Staging<V, T>::narrow(reinterpret_cast<const float*>(address[places[0]]), reinterpret_cast<T*>(address[places[1]]), n);
  }
};
/// A family of one such loop.
template <class Loop, Type Result>
struct StagingFamily {
  static constexpr std::array<Variant, 1> variants{{{0, Loops::of<Loop>()}}};
  static constexpr Family family{variants, Result, 1};
};

// ---- out of a tile ---------------------------------------------------------------------------------------------------

struct Same {
  template <class T>
  static GRAFT_INLINE T f(T x) { return x; }
};
template <class T>
constexpr const Family& copying = make_family<Same, T(T), 0b0, 0b1>;

#if defined(GRAFT_X86_64)
struct StreamLoop {
  template <Target V>
  static GRAFT_INLINE void run(std::byte* const* address, const uint16_t* places, int64_t n) {
    const float* from = reinterpret_cast<const float*>(address[places[0]]);
    float* to = reinterpret_cast<float*>(address[places[1]]);
    int64_t i = 0;
    for (; i < n && reinterpret_cast<uintptr_t>(to + i) % 64 != 0; ++i) to[i] = from[i];
    for (; i + 16 <= n; i += 16) {
      alignas(64) float line[16];
#pragma omp simd
      for (int j = 0; j < 16; ++j) line[j] = from[i + j];
      graft::detail::Streaming<V>::write(to + i, line);
    }
    for (; i < n; ++i) to[i] = from[i];
  }
};
#endif

}  // namespace

const Family* family_of(Op op, Type type) {
  switch (held_as(type)) {
    case Type::f64: return double_family(op);
    case Type::i32: return integer_family<int32_t>(op);
    case Type::i64: return integer_family<int64_t>(op);
    case Type::boolean: return bool_family(op);
    default: return float_family(op);
  }
}

const Family* conversion(Type from, Type to) {
  from = held_as(from);
  if (to == Type::f16 || to == Type::bf16) {
    if (from != Type::f32) return nullptr;  // the caller converts to float first
    return to == Type::f16 ? &StagingFamily<RoundLoop<float16>, Type::f32>::family : &StagingFamily<RoundLoop<bfloat16>, Type::f32>::family;
  }
  if (from == to) return nullptr;
  switch (from) {
    case Type::f64: return conversion_from<double>(to);
    case Type::i32: return conversion_from<int32_t>(to);
    case Type::i64: return conversion_from<int64_t>(to);
    case Type::boolean: return conversion_from<uint8_t>(to);
    default: return conversion_from<float>(to);
  }
}

const Family* widening(Type input) {
  switch (input) {
    case Type::f16: return &StagingFamily<WidenLoop<float16>, Type::f32>::family;
    case Type::bf16: return &StagingFamily<WidenLoop<bfloat16>, Type::f32>::family;
    default: return nullptr;
  }
}

const Family& storing(Type output) {
  switch (output) {
    case Type::f16: return StagingFamily<NarrowLoop<float16>, Type::f16>::family;
    case Type::bf16: return StagingFamily<NarrowLoop<bfloat16>, Type::bf16>::family;
    case Type::f64: return copying<double>;
    case Type::i64: return copying<int64_t>;
    case Type::i32: return copying<int32_t>;
    case Type::boolean: return copying<uint8_t>;
    case Type::f32: break;
  }
  return copying<float>;
}

const Family* streaming(Type output) {
#if defined(GRAFT_X86_64)
  if (output == Type::f32) return &StagingFamily<StreamLoop, Type::f32>::family;
#endif
  return nullptr;
}

}  // namespace graft::fused
