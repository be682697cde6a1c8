// One loop, several processors: each loop is compiled for AVX-512, AVX2 and the baseline, and the best that the processor
// runs is chosen when it is first called.
//
//   struct Doubled { const float* x; float* y; int64_t n;
//     template <Target> GRAFT_INLINE void operator()() const { for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i]; } };
//   run_for_target(Doubled{x, y, n});
//
// The loop's body is inlined into one function for each target, so everything that it calls is compiled for it too. (A
// file compiled several times with other -m flags is no way: the linker keeps one copy of an inline function, and an old
// processor meets the new one's instructions.) The environment variable GRAFT_TARGET (baseline, avx2, avx512) lowers the
// choice; the tests use it to compare the variants.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#define GRAFT_X86_64 1
#define GRAFT_TARGET_AVX2 __attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,movbe,popcnt")))
#define GRAFT_TARGET_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,movbe,popcnt")))
#endif

#if defined(__CUDACC__)
#define GRAFT_INLINE __host__ __device__ __forceinline__
#else
#define GRAFT_INLINE inline __attribute__((always_inline))
#endif
#define GRAFT_INLINE_LAMBDA __attribute__((always_inline))

namespace graft {

enum class Target { baseline, avx2, avx512 };

constexpr std::string_view target_name(Target target) {
  return target == Target::avx512 ? "avx512" : target == Target::avx2 ? "avx2" : "baseline";
}

namespace detail {

inline Target find_target() {
  Target target = Target::baseline;
#if defined(GRAFT_X86_64)
  __builtin_cpu_init();
  // Every processor with AVX2 and FMA has F16C, BMI and the rest of that level.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    target = Target::avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
      target = Target::avx512;
    }
  }
#endif
  if (const char* wanted = std::getenv("GRAFT_TARGET")) {
    for (Target lower : {Target::baseline, Target::avx2}) {
      if (lower < target && target_name(lower) == wanted) return lower;
    }
  }
  return target;
}

#if defined(GRAFT_X86_64)
template <class Loop>
GRAFT_TARGET_AVX512 __attribute__((noinline, flatten)) void run_avx512(const Loop& loop) {
  loop.template operator()<Target::avx512>();
}
template <class Loop>
GRAFT_TARGET_AVX2 __attribute__((noinline, flatten)) void run_avx2(const Loop& loop) {
  loop.template operator()<Target::avx2>();
}
#endif
template <class Loop>
__attribute__((noinline, flatten)) void run_baseline(const Loop& loop) {
  loop.template operator()<Target::baseline>();
}

#if defined(GRAFT_X86_64)
template <class Loop, class... A>
GRAFT_TARGET_AVX512 __attribute__((flatten)) void call_avx512(A... arguments) {
  Loop::template run<Target::avx512>(arguments...);
}
template <class Loop, class... A>
GRAFT_TARGET_AVX2 __attribute__((flatten)) void call_avx2(A... arguments) {
  Loop::template run<Target::avx2>(arguments...);
}
#endif
template <class Loop, class... A>
__attribute__((flatten)) void call_baseline(A... arguments) {
  Loop::template run<Target::baseline>(arguments...);
}

}  // namespace detail

/// Holds a loop's variants as functions, for loops that are chosen once and called often:
/// `TargetFunctions<float*, int64_t>::of<Loop>()[target()](data, n)` calls `Loop::run<Target>(data, n)`.
template <class... A>
struct TargetFunctions {
  void (*variants[3])(A...);

  template <class Loop>
  static constexpr TargetFunctions of() {
#if defined(GRAFT_X86_64)
    return {{&detail::call_baseline<Loop, A...>, &detail::call_avx2<Loop, A...>, &detail::call_avx512<Loop, A...>}};
#else
    return {{&detail::call_baseline<Loop, A...>, &detail::call_baseline<Loop, A...>, &detail::call_baseline<Loop, A...>}};
#endif
  }
  auto operator[](Target target) const { return variants[size_t(target)]; }
};

/// Gives the best target that this processor runs (or the lower one that GRAFT_TARGET names).
inline Target target() {
  static const Target found = detail::find_target();
  return found;
}

/// Runs a loop in the variant for this processor.
template <class Loop>
void run_for_target(const Loop& loop) {
  switch (target()) {
#if defined(GRAFT_X86_64)
    case Target::avx512: return detail::run_avx512(loop);
    case Target::avx2: return detail::run_avx2(loop);
#else
    case Target::avx512:
    case Target::avx2:
#endif
    case Target::baseline: return detail::run_baseline(loop);
  }
}

}  // namespace graft
