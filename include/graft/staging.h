// float16 and bfloat16 through a small float buffer: the processor's own conversions where it has them.
//
// g++ 12 does not vectorise conversions of _Float16, so a loop over 16-bit floats is three loops over a block that fits
// into the first cache: widen, compute, narrow.
#pragma once

#include <cstdint>

#include "graft/dtype.h"
#include "graft/target.h"

namespace graft::detail {

/// Is the number of elements of one block; 4 KiB of floats.
inline constexpr int64_t kStagedBlock = 1024;

template <Target V, class T>
struct Staging {
  static GRAFT_INLINE void widen(const T* from, float* to, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = to_float(from[i]);
  }
  static GRAFT_INLINE void narrow(const float* from, T* to, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, float16>) to[i] = to_float16(from[i]);
      else to[i] = to_bfloat16(from[i]);
    }
  }
};

#if defined(GRAFT_X86_64)
// The forms with a mask of all lanes: the plain ones make g++ 12 warn of an uninitialised value in its own header.
template <>
struct Staging<Target::avx512, float16> {
  static constexpr __mmask16 all = 0xffff;
  GRAFT_TARGET_AVX512 static inline void widen(const float16* from, float* to, int64_t n) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
    }
    if (i < n) {
      const __mmask16 rest = __mmask16((1u << (n - i)) - 1);
      _mm512_mask_storeu_ps(to + i, rest, _mm512_maskz_cvtph_ps(all, _mm256_maskz_loadu_epi16(rest, from + i)));
    }
  }
  GRAFT_TARGET_AVX512 static inline void narrow(const float* from, float16* to, int64_t n) {
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm512_maskz_cvtps_ph(all, _mm512_loadu_ps(from + i), nearest));
    }
    if (i < n) {
      const __mmask16 rest = __mmask16((1u << (n - i)) - 1);
      _mm256_mask_storeu_epi16(to + i, rest, _mm512_maskz_cvtps_ph(all, _mm512_maskz_loadu_ps(rest, from + i), nearest));
    }
  }
};

template <>
struct Staging<Target::avx2, float16> {
  GRAFT_TARGET_AVX2 static inline void widen(const float16* from, float* to, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    }
    for (; i < n; ++i) to[i] = to_float(from[i]);
  }
  GRAFT_TARGET_AVX2 static inline void narrow(const float* from, float16* to, int64_t n) {
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), nearest));
    }
    for (; i < n; ++i) to[i] = to_float16(from[i]);
  }
};
#endif

}  // namespace graft::detail
