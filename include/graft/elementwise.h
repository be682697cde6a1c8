// Kernels from scalar functions: the loops that an elementwise operator runs in.
//
//   constexpr float squash(float x, float limit) { return limit * graft::tanh(x / limit); }
//   m.def<squash>("Squash", inputs("x"), "limit"_attr = 6.f);
//
// Inputs broadcast as ONNX broadcasts. The innermost loop sees each input either element by element or as one value;
// rows too short for a loop are gathered into a block first. Large tensors are split over ORT's threads, one block each.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "graft/attribute.h"
#include "graft/broadcast.h"
#include "graft/operator.h"
#include "graft/scalar.h"
#include "graft/staging.h"
#include "graft/target.h"

namespace graft::detail {

/// Is the smallest number of elements that is worth a thread of its own.
inline constexpr int64_t kElementsPerThread = 16 * 1024;
/// Is the length of a row from which on the loop runs along the row itself.
inline constexpr int64_t kShortRow = 64;

/// Gives the size of the last cache in bytes; beyond it, stores that pass the cache by save a third of the traffic. A
/// virtual machine may report the sum of all caches of its host, so no more than a core complex has is believed.
inline int64_t last_cache_bytes() {
  static const int64_t bytes = [] {
    constexpr int64_t most = int64_t(64) << 20;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    if (const long found = sysconf(_SC_LEVEL3_CACHE_SIZE); found > 0) return std::min(int64_t(found), most);
#endif
    return int64_t(32) << 20;
  }();
  return bytes;
}

#if defined(GRAFT_X86_64)
/// Writes 64 bytes past the caches; both addresses are multiples of 64.
template <Target V>
struct Streaming {
  static GRAFT_INLINE void write(void* to, const void* from) {
    for (int i = 0; i < 4; ++i) {
      _mm_stream_ps(static_cast<float*>(to) + 4 * i, _mm_load_ps(static_cast<const float*>(from) + 4 * i));
    }
  }
};
template <>
struct Streaming<Target::avx512> {
  GRAFT_TARGET_AVX512 static inline void write(void* to, const void* from) {
    _mm512_stream_ps(static_cast<float*>(to), _mm512_load_ps(from));
  }
};
#endif

/// Is one input inside a loop: a value for each element, or one value for all.
template <class T, bool Single>
struct Operand {
  const T* elements;
  T value;
  GRAFT_INLINE T operator()(int64_t i) const {
    if constexpr (Single) return value;
    else return elements[i];
  }
};

/// Is a bool input beside numbers: as wide as they are, so that the loop has one width (g++ widens no other).
template <class Wide>
struct WideOperand {
  const Wide* elements;
  GRAFT_INLINE bool operator()(int64_t i) const { return elements[i] != 0; }
};

/// Lists the element types of an elementwise operator's outputs.
template <class... R>
struct Returns {};

/// Is the number of inputs from which on an input may be one value or many without a loop of its own for each case: a loop
/// of three inputs would be seven.
inline constexpr size_t kTiledInputs = 3;
/// Is the number of elements that such a loop takes in one step, and that a tile of one value holds: some vectors.
inline constexpr int64_t kStep = 64;

/// Computes n elements. Bit i of Singles says that input i is one value for all of them; bit i of `fixed` says the same when
/// the loop runs, where there are kTiledInputs or more.
template <unsigned Singles, class Body, class Results, class... T>
struct Loop;

template <unsigned Singles, class Body, class... R, class... T>
struct Loop<Singles, Body, Returns<R...>, T...> {
  using Inputs = std::tuple<const T*...>;
  using Outputs = std::tuple<R*...>;

  const Body& body;
  Inputs inputs;
  Outputs outputs;
  int64_t n;
  bool stream;
  unsigned fixed = 0;

  template <Target V>
  GRAFT_INLINE void operator()() const {
    run<V>(std::index_sequence_for<T...>{}, std::index_sequence_for<R...>{});
  }

 private:
  template <class E>
  static constexpr bool is_number = !std::is_same_v<E, bool>;
  static constexpr bool has_numbers = (is_number<T> || ...) || (is_number<R> || ...);
  using Wide = std::conditional_t<std::max({sizeof(compute_t<T>)..., sizeof(compute_t<R>)...}) == 8, uint64_t, uint32_t>;
  /// Says whether an input is computed with in a block of another type: 16-bit floats, and bool beside numbers.
  template <class E>
  static constexpr bool is_staged = !std::is_same_v<E, compute_t<E>> || (!is_number<E> && has_numbers);
  /// Says the same of an output; a comparison of numbers can store its bool at once.
  template <class E>
  static constexpr bool is_staged_out = is_number<E> ? is_staged<E> : is_staged<E> && (sizeof...(R) > 1 || (is_staged<T> || ...));
  template <class E>
  using Cell = std::conditional_t<!is_number<E> && has_numbers, Wide, compute_t<E>>;
  template <size_t I>
  static constexpr bool is_single = (Singles >> I) & 1;
  static constexpr bool is_tiled = sizeof...(T) >= kTiledInputs;
  template <class E>
  using Block = std::array<Cell<E>, is_staged<E> || is_tiled ? kStagedBlock : 1>;
  using FirstResult = std::tuple_element_t<0, std::tuple<R...>>;

  template <Target V, size_t... I, size_t... J>
  GRAFT_INLINE void run(std::index_sequence<I...> in, std::index_sequence<J...> out) const {
    const Body f = body;  // a copy whose address nobody has: attributes stay in registers
    if constexpr ((is_staged<T> || ...) || (is_staged_out<R> || ...)) {
      alignas(64) std::tuple<Block<T>...> blocks;
      alignas(64) std::tuple<std::array<Cell<R>, is_staged_out<R> ? kStagedBlock : 1>...> results;
      for (int64_t begin = 0; begin < n; begin += kStagedBlock) {
        const int64_t count = std::min(n - begin, kStagedBlock);
        const auto operands = std::make_tuple(stage<V, I>(std::get<I>(blocks), begin, count)...);
        compute(f, operands, std::make_tuple(destination<J>(std::get<J>(results), begin)...), count, in, out);
        (narrow<V, J>(std::get<J>(results), begin, count), ...);
      }
    } else if constexpr (is_tiled) {
      compute_tiled<V>(f, in, out);
    } else {
      const auto operands = std::make_tuple(direct<I>()...);
#if defined(GRAFT_X86_64)
      if constexpr (sizeof...(R) == 1 && std::is_floating_point_v<FirstResult>) {
        if (stream) return compute_streaming<V>(f, operands, in);
      }
#endif
      compute(f, operands, outputs, n, in, out);
    }
  }

  template <size_t I>
  GRAFT_INLINE auto direct() const {
    const auto* elements = std::get<I>(inputs);
    return Operand<std::remove_const_t<std::remove_pointer_t<decltype(elements)>>, is_single<I>>{elements, *elements};
  }

  template <Target V, size_t I, class B>
  GRAFT_INLINE auto stage(B& block, int64_t begin, int64_t count) const {
    using E = std::tuple_element_t<I, std::tuple<T...>>;
    using C = compute_t<E>;
    const E* elements = std::get<I>(inputs);
    if constexpr (is_single<I>) {
      return Operand<C, true>{nullptr, computed(*elements)};
    } else {
      const bool one_value = is_tiled && (fixed >> I & 1);
      if (one_value && begin == 0) std::fill_n(block.data(), count, Cell<E>(computed(*elements)));
      if constexpr (!is_number<E> && is_staged<E>) {
        if (!one_value) widen_bool(elements + begin, block.data(), count);
        return WideOperand<Wide>{block.data()};
      } else if constexpr (is_staged<E>) {
        if (!one_value) Staging<V, E>::widen(elements + begin, block.data(), count);
        return Operand<C, false>{block.data(), C{}};
      } else {
        return Operand<C, false>{one_value ? block.data() : elements + begin, C{}};
      }
    }
  }
  static GRAFT_INLINE void widen_bool(const bool* from, Wide* to, int64_t count) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(from);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) to[i] = bytes[i];
  }
  static GRAFT_INLINE void narrow_bool(const Wide* from, bool* to, int64_t count) {
    auto* bytes = reinterpret_cast<uint8_t*>(to);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) bytes[i] = uint8_t(from[i]);
  }
  template <class E>
  static GRAFT_INLINE compute_t<E> computed(E element) {
    if constexpr (std::is_same_v<E, compute_t<E>>) return element;
    else return to_float(element);
  }

  /// Gives where results are computed: a block when they are narrowed afterwards, else the output itself.
  template <size_t J, class B>
  GRAFT_INLINE auto destination(B& block, int64_t begin) const {
    using E = std::tuple_element_t<J, std::tuple<R...>>;
    if constexpr (is_staged_out<E>) return block.data();
    else return std::get<J>(outputs) + begin;
  }
  template <Target V, size_t J, class B>
  GRAFT_INLINE void narrow(const B& block, int64_t begin, int64_t count) const {
    using E = std::tuple_element_t<J, std::tuple<R...>>;
    if constexpr (is_number<E> && is_staged_out<E>) Staging<V, E>::narrow(block.data(), std::get<J>(outputs) + begin, count);
    else if constexpr (is_staged_out<E>) narrow_bool(block.data(), std::get<J>(outputs) + begin, count);
  }

  template <class Operands, class... C, size_t... I, size_t... J>
  static GRAFT_INLINE void compute(const Body& f, const Operands& operands, const std::tuple<C*...>& to, int64_t count,
                                   std::index_sequence<I...>, std::index_sequence<J...>) {
    if constexpr (sizeof...(J) == 1) {
      auto* results = std::get<0>(to);
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) results[i] = f(std::get<I>(operands)(i)...);
    } else {
      const std::tuple<C*...> results = to;
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (sizeof...(J) <= 4) {
          // Called for each output, and computed once: a tuple of several would stay in memory, and the loop one by one.
          [&](auto... x) GRAFT_INLINE_LAMBDA { ((std::get<J>(results)[i] = std::get<J>(f(x...))), ...); }(std::get<I>(operands)(i)...);
        } else {
          const auto values = f(std::get<I>(operands)(i)...);
          ((std::get<J>(results)[i] = std::get<J>(values)), ...);
        }
      }
    }
  }

  /// Computes in steps; an input that is one value reads the same tile in each.
  template <Target V, size_t... I, size_t... J>
  GRAFT_INLINE void compute_tiled(const Body& f, std::index_sequence<I...> in, std::index_sequence<J...> out) const {
    alignas(64) std::tuple<std::array<T, kStep>...> tiles;
    const auto begin_of = [&]<class E>(std::array<E, kStep>& tile, const E* elements, bool single) GRAFT_INLINE_LAMBDA {
      if (single) std::fill_n(tile.data(), kStep, *elements);
      return single ? tile.data() : elements;
    };
    const Inputs from{begin_of(std::get<I>(tiles), std::get<I>(inputs), fixed >> I & 1)...};
    const std::array<int64_t, sizeof...(T)> moving{(fixed >> I & 1 ? 0 : ~int64_t(0))...};
    alignas(64) std::array<FirstResult, kStep> results;
    for (int64_t i = 0; i < n;) {
      std::tuple<R*...> to{(std::get<J>(outputs) + i)...};
      const auto operands = std::make_tuple(Operand<T, false>{std::get<I>(from) + (i & moving[I]), T{}}...);
      int64_t count = std::min(n - i, kStep);
      [[maybe_unused]] bool past_caches = false;
#if defined(GRAFT_X86_64)
      if constexpr (sizeof...(R) == 1 && std::is_floating_point_v<FirstResult>) {
        if (stream) {
          const int64_t before = int64_t(reinterpret_cast<uintptr_t>(std::get<0>(to)) % 64 / sizeof(FirstResult));
          if (before != 0) count = std::min(count, int64_t(64 / sizeof(FirstResult)) - before);
          past_caches = count == kStep;
          if (past_caches) std::get<0>(to) = results.data();
        }
      }
#endif
      if (count == kStep) compute(f, operands, to, kStep, in, out);
      else compute(f, operands, to, count, in, out);
#if defined(GRAFT_X86_64)
      if constexpr (sizeof...(R) == 1 && std::is_floating_point_v<FirstResult>) {
        constexpr int64_t line = 64 / sizeof(FirstResult);
        for (int64_t j = 0; past_caches && j < kStep; j += line) {
          Streaming<V>::write(std::get<0>(outputs) + i + j, results.data() + j);
        }
      }
#endif
      i += count;
    }
  }

#if defined(GRAFT_X86_64)
  template <Target V, class Operands, size_t... I>
  GRAFT_INLINE void compute_streaming(const Body& f, const Operands& operands, std::index_sequence<I...>) const {
    using C = FirstResult;
    constexpr int64_t line = 64 / sizeof(C);
    C* output = std::get<0>(outputs);
    int64_t i = 0;
    for (; i < n && reinterpret_cast<uintptr_t>(output + i) % 64 != 0; ++i) output[i] = f(std::get<I>(operands)(i)...);
    for (; i + line <= n; i += line) {
      alignas(64) C results[line];
#pragma omp simd
      for (int64_t j = 0; j < line; ++j) results[j] = f(std::get<I>(operands)(i + j)...);
      Streaming<V>::write(output + i, results);
    }
    for (; i < n; ++i) output[i] = f(std::get<I>(operands)(i)...);
  }
#endif
};

/// Wraps an element for a generic functor: a bool is a Condition, everything else a Scalar.
template <class C>
GRAFT_INLINE constexpr auto wrap(C x) {
  if constexpr (std::is_same_v<C, bool>) return Condition{x};
  else return Scalar<C>(x);
}
template <class C>
using Wrapped = decltype(wrap(std::declval<C>()));

/// Unwraps what a generic functor returns; several outputs become a tuple.
template <class W>
GRAFT_INLINE constexpr auto unwrap(const W& w) {
  if constexpr (requires { w.value; }) return w.value;
  else if constexpr (requires { w.values; }) return std::apply([](const auto&... v) { return std::make_tuple(unwrap(v)...); }, w.values);
  else return w;  // a literal
}

/// Binds a generic functor's attributes, so that a loop calls it with elements alone. C is what attributes become.
template <class F, class C, class... A>
struct GenericBody {
  std::tuple<A...> attributes;

  template <class... X>
  GRAFT_INLINE auto operator()(X... x) const {
    return call(std::index_sequence_for<A...>{}, x...);
  }

 private:
  template <size_t... I, class... X>
  GRAFT_INLINE auto call(std::index_sequence<I...>, X... x) const {
    return unwrap(F{}(wrap(x)..., Scalar<C>(std::get<I>(attributes))...));
  }
};

/// Binds an ordinary function's attributes.
template <auto F, class... A>
struct FunctionBody {
  std::tuple<A...> attributes;

  template <class... C>
  GRAFT_INLINE auto operator()(C... x) const {
    return call(std::index_sequence_for<A...>{}, x...);
  }

 private:
  template <size_t... I, class... C>
  GRAFT_INLINE auto call(std::index_sequence<I...>, C... x) const {
    return F(x..., std::get<I>(attributes)...);
  }
};

/// Is the kernel of an elementwise operator with inputs T and outputs R.
template <class Body, class Results, class... T>
class ElementwiseKernel;

template <class Body, class... R, class... T>
class ElementwiseKernel<Body, Returns<R...>, T...> final : public Kernel {
  static constexpr size_t N = sizeof...(T);
  static_assert(N >= 1, "an elementwise operator needs at least one input");
  using Inputs = std::tuple<const T*...>;
  using Outputs = std::tuple<R*...>;

 public:
  explicit ElementwiseKernel(Body body) : body_(std::move(body)) {}

  void run(Invocation& call) const override { run(call, std::index_sequence_for<T...>{}); }

 private:
  template <size_t... I>
  void run(Invocation& call, std::index_sequence<I...> sequence) const {
    const Inputs inputs{static_cast<const T*>(call.inputs[I].data)...};
    const Dims& first = call.inputs[0].shape;
    if ((std::ranges::equal(first, call.inputs[I].shape) && ...)) {  // no broadcasting
      const Outputs to = allocate(call, first, std::index_sequence_for<R...>{});
      const int64_t n = call.inputs[0].size;
      const bool stream = streams(n);
      in_blocks(call, n, stream, [&](int64_t begin, int64_t end) {
        loop<0>(Inputs{(std::get<I>(inputs) + begin)...}, at(to, begin), end - begin, stream);
      });
    } else {
      const BroadcastPlan<N> plan = plan_broadcast<N>({&call.inputs[I].shape...});
      const Outputs to = allocate(call, plan.shape, std::index_sequence_for<R...>{});
      const bool stream = streams(plan.size);
      in_blocks(call, plan.size, stream, [&](int64_t begin, int64_t end) {
        if (plan.extent[plan.rank - 1] < kShortRow) by_gathering(plan, inputs, to, begin, end, stream, sequence);
        else by_rows(plan, inputs, to, begin, end, stream, sequence);
      });
    }
  }

  template <size_t... J>
  static Outputs allocate(Invocation& call, std::span<const int64_t> shape, std::index_sequence<J...>) {
    return {static_cast<R*>(call.allocate(J, dtype_of<R>, shape).data)...};
  }
  static Outputs at(const Outputs& to, int64_t offset) {
    return std::apply([&](R*... r) { return Outputs{(r + offset)...}; }, to);
  }

  static bool streams(int64_t n) { return n * int64_t((sizeof(R) + ...) + (sizeof(T) + ...)) > last_cache_bytes(); }

  /// Splits n elements into one block for each thread; a block begins at a multiple of a cache line.
  template <class Block>
  static void in_blocks(const Invocation& call, int64_t n, [[maybe_unused]] bool stream, Block block) {
    constexpr int64_t line = 64;
    call.pool.parallel_for(n, kElementsPerThread, [&](int64_t begin, int64_t end) {
      block(begin, end);
#if defined(GRAFT_X86_64)
      if (stream) _mm_sfence();
#endif
    }, line);
  }

  template <unsigned Singles>
  void loop(const Inputs& inputs, const Outputs& to, int64_t n, bool stream, unsigned fixed = 0) const {
    if (n > 0) run_for_target(Loop<Singles, Body, Returns<R...>, T...>{body_, inputs, to, n, stream, fixed});
  }

  /// Runs along rows; an input that does not move along them is one value.
  template <size_t... I>
  void by_rows(const BroadcastPlan<N>& plan, const Inputs& inputs, const Outputs& to, int64_t begin, int64_t end, bool stream,
               std::index_sequence<I...>) const {
    const size_t inner = plan.rank - 1;
    const unsigned singles = (0u | ... | (plan.stride[I][inner] == 0 ? 1u << I : 0u));
    const auto along_rows = [&](auto mask) {
      for_each_run(plan, begin, end, [&](const std::array<int64_t, N>& offset, int64_t position, int64_t count) {
        loop<decltype(mask)::value>(Inputs{(std::get<I>(inputs) + offset[I])...}, at(to, position), count, stream, singles);
      });
    };
    if constexpr (N < kTiledInputs) with_singles<0>(singles, along_rows);
    else along_rows(std::integral_constant<unsigned, 0>{});
  }

  /// Turns the runtime mask into a template argument. Not all inputs can be single: one of them moves along the row.
  template <unsigned Mask, class Then>
  static void with_singles(unsigned singles, Then then) {
    if constexpr (Mask + 1 < (1u << N)) {
      if (singles == Mask) return then(std::integral_constant<unsigned, Mask>{});
      with_singles<Mask + 1>(singles, then);
    }
  }

  /// Runs along blocks of many short rows: copies a block of each input that broadcasts, then runs one loop over it. An input
  /// that repeats within a block is copied once for all blocks.
  template <size_t... I>
  void by_gathering(const BroadcastPlan<N>& plan, const Inputs& inputs, const Outputs& to, int64_t begin, int64_t end, bool stream,
                    std::index_sequence<I...>) const {
    alignas(64) Tiles tiles;
    const std::array<int64_t, N> period{period_of(plan, I)...};
    int64_t longest = 1;
    for (size_t i = 0; i < N; ++i) {
      if (period[i] <= kTile) longest = std::max(longest, period[i]);  // the others divide it: all end with the same rows
    }
    const int64_t block = kTile - kTile % longest;
    std::array<bool, N> held{};
    for (int64_t from = begin; from < end;) {
      const int64_t phase = from % longest;
      const int64_t count = std::min(phase ? longest - phase : block, end - from);
      if (!(held[I] && ...)) {
        for_each_run(plan, from, from + count, [&](const std::array<int64_t, N>& offset, int64_t position, int64_t length) {
          ((plan.dense[I] || held[I] ? void()
                                     : gather(std::get<I>(tiles).data() + (position - from), std::get<I>(inputs) + offset[I],
                                              plan.stride[I][plan.rank - 1], length)),
           ...);
        });
      }
      loop<0>(Inputs{(plan.dense[I] ? std::get<I>(inputs) + from : std::get<I>(tiles).data())...}, at(to, from), count, stream);
      if (count == block) ((held[I] = plan.dense[I] || period[I] <= longest), ...);
      from += count;
    }
  }

  /// Gives after how many elements of the output an input begins again.
  static int64_t period_of(const BroadcastPlan<N>& plan, size_t input) {
    size_t axis = 0;
    while (axis < plan.rank && plan.stride[input][axis] == 0) ++axis;
    int64_t period = 1;
    for (; axis < plan.rank; ++axis) period *= plan.extent[axis];
    return period;
  }

  /// Is the number of elements that a tile holds, and how many may be written beyond them.
  static constexpr int64_t kTile = (sizeof(T) + ...) <= 32 ? 512 : 256;
  static constexpr int64_t kBeyond = 16;
  using Tiles = std::tuple<std::array<T, kTile + kBeyond>...>;

  /// Fills in whole vectors: what is written beyond is written again, or never read.
  template <class E>
  static void splat(E* to, E value, int64_t n) {
    for (int64_t i = 0; i < n; i += kBeyond) std::fill_n(to + i, kBeyond, value);
  }
  template <class E>
  static void gather(E* to, const E* from, int64_t stride, int64_t n) {
    if (stride == 0) splat(to, *from, n);
    else std::copy_n(from, n, to);
  }

  Body body_;
};

}  // namespace graft::detail
