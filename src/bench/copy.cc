#include "bench/copy.h"

#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

namespace graft::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t smallest_buffer = size_t(4) << 10;
constexpr int tries = 9;
constexpr double seconds_of_a_try = 0.003;

/// Copies through a pointer that the compiler cannot see through, so that no copy is left out.
void* (*volatile copy_bytes)(void*, const void*, size_t) = std::memcpy;

/// Gives the fewest seconds for one copy of `bytes` in all, shared among the threads.
double fastest_copy(std::vector<std::vector<std::byte>>& from, std::vector<std::vector<std::byte>>& to,
                    size_t bytes) {
  const size_t threads = from.size();
  const size_t share = std::max<size_t>(bytes / threads, 1);
  const auto copy = [&](size_t thread, int times) {
    for (int i = 0; i < times; ++i) copy_bytes(to[thread].data(), from[thread].data(), share);
  };
  const auto start = Clock::now();
  copy(0, 1);
  const double once = std::chrono::duration<double>(Clock::now() - start).count();
  const int repeats = static_cast<int>(std::clamp(seconds_of_a_try / std::max(once, 1e-8), 1.0, 1e5));

  std::barrier gate(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::thread> others;
  for (size_t thread = 1; thread < threads; ++thread) {
    others.emplace_back([&, thread] {
      for (int i = 0; i < tries; ++i) {
        gate.arrive_and_wait();
        copy(thread, repeats);
        gate.arrive_and_wait();
      }
    });
  }
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tries; ++i) {
    gate.arrive_and_wait();
    const auto begin = Clock::now();
    copy(0, repeats);
    gate.arrive_and_wait();
    fastest = std::min(fastest, std::chrono::duration<double>(Clock::now() - begin).count() / repeats);
  }
  for (std::thread& other : others) other.join();
  return std::max(fastest, 1e-9);
}

}  // namespace

double CopyCurve::bytes_per_second(uint64_t bytes) const {
  if (points_.empty()) return 0;
  if (bytes <= points_.front().bytes) return points_.front().bytes_per_second;
  for (size_t i = 1; i < points_.size(); ++i) {
    const CopyPoint &below = points_[i - 1], &above = points_[i];
    if (bytes > above.bytes) continue;
    const double part = std::log(static_cast<double>(bytes) / static_cast<double>(below.bytes)) /
                        std::log(static_cast<double>(above.bytes) / static_cast<double>(below.bytes));
    return below.bytes_per_second + part * (above.bytes_per_second - below.bytes_per_second);
  }
  return points_.back().bytes_per_second;
}

double CopyCurve::milliseconds(uint64_t bytes) const {
  const double rate = bytes_per_second(bytes);
  return rate > 0 ? static_cast<double>(bytes) / rate * 1000 : 0;
}

size_t size_beyond_caches() {
  constexpr long believed = 64L << 20, assumed = 16L << 20;
  long last = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  last = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
#endif
  return 2 * static_cast<size_t>(last > 0 ? std::min(last, believed) : assumed);
}

CopyCurve measure_copy(int threads, size_t largest_buffer) {
  const auto count = static_cast<size_t>(std::max(threads, 1));
  const size_t share = largest_buffer / count + 1;
  std::vector<std::vector<std::byte>> from(count, std::vector<std::byte>(share, std::byte{1}));
  std::vector<std::vector<std::byte>> to(count, std::vector<std::byte>(share));
  std::vector<CopyPoint> points;
  for (size_t bytes = smallest_buffer;; bytes *= 4) {
    bytes = std::min(bytes, largest_buffer);
    const uint64_t moved = 2 * static_cast<uint64_t>(bytes);
    points.push_back({moved, static_cast<double>(moved) / fastest_copy(from, to, bytes)});
    if (bytes == largest_buffer) break;
  }
  return CopyCurve(std::move(points));
}

}  // namespace graft::bench
