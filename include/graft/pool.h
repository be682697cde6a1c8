// Pool: ORT's own threads, for loops of your own.
//
//   void row_sums(In<float> x, Out<float> y, Pool pool) {
//     const int64_t n = x.dim(-1);
//     pool.parallel_for(y.size(), 16, [&](int64_t begin, int64_t end) {            // at least 16 rows a thread
//       for (int64_t r = begin; r < end; ++r) y[r] = std::accumulate(&x[r * n], &x[r * n] + n, 0.f);
//     });
//   }
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#if defined(__SANITIZE_THREAD__)
#define GRAFT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GRAFT_THREAD_SANITIZER 1
#endif
#endif
#ifdef GRAFT_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace graft {

namespace detail {
// A caller's threads, ORT's above all, are not built with ThreadSanitizer, so it does not see how they hand work over. These
// two say what every caller does: a block begins after the call, and the call returns after its blocks.
inline void hand_over([[maybe_unused]] void* work) {
#ifdef GRAFT_THREAD_SANITIZER
  __tsan_release(work);
#endif
}
inline void take_over([[maybe_unused]] void* work) {
#ifdef GRAFT_THREAD_SANITIZER
  __tsan_acquire(work);
#endif
}
}  // namespace detail

/// Calls tasks on ORT's threads, or on those of a caller of graft_describe. Take it as a parameter of a tensor function.
class Pool {
 public:
  /// Is how a caller runs tasks: calls task(argument, i) for every i below count; null is one thread.
  using ParallelFor = void (*)(void* state, void (*task)(void*, size_t), size_t count, void* argument);

  Pool() = default;
  Pool(void* state, ParallelFor parallel_for) : state_(state), parallel_for_(parallel_for) {}

  /// Gives the number of blocks into which `parallel_for` splits n pieces of work: one a thread, none below `grain`.
  int64_t blocks(int64_t n, int64_t grain) const {
    static const int64_t threads = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
    if (n <= 0) return 0;
    return parallel_for_ == nullptr ? 1 : std::clamp<int64_t>(n / std::max<int64_t>(grain, 1), 1, threads);
  }

  /// Calls work(begin, end) or work(begin, end, block) for blocks of [0, n) with at least `grain` pieces each, and returns
  /// when all are done. `align` makes blocks begin at its multiples. What a block throws is thrown here again.
  template <class Work>
  void parallel_for(int64_t n, int64_t grain, Work work, int64_t align = 1) const {
    const int64_t count = blocks(n, grain);
    if (count == 0) return;
    const int64_t length = ((n + count - 1) / count + align - 1) / align * align;
    run(size_t((n + length - 1) / length), [&](size_t i) {
      const int64_t begin = int64_t(i) * length, end = std::min(n, begin + length);
      if constexpr (requires { work(begin, end, int64_t(i)); }) work(begin, end, int64_t(i));
      else work(begin, end);
    });
  }

 private:
  /// Calls task(i) for every i below count. A task that throws does not stop the others; the first exception is kept.
  template <class Task>
  void run(size_t count, Task task) const {
    if (count == 1 || parallel_for_ == nullptr) {
      for (size_t i = 0; i < count; ++i) task(i);
      return;
    }
    struct Shared {
      Task& task;
      std::exception_ptr error{};
      std::atomic_flag failed{};
    } shared{task};
    const auto call = [](void* argument, size_t i) {
      Shared& s = *static_cast<Shared*>(argument);
      detail::take_over(&s);
      try {
        s.task(i);
      } catch (...) {
        if (!s.failed.test_and_set()) s.error = std::current_exception();
      }
      detail::hand_over(&s);
    };
    detail::hand_over(&shared);
    parallel_for_(state_, call, count, &shared);
    detail::take_over(&shared);
    if (shared.error) std::rethrow_exception(shared.error);
  }

  void* state_ = nullptr;
  ParallelFor parallel_for_ = nullptr;
};

}  // namespace graft
