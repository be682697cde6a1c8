#pragma once
/// Lets you ask how long this machine takes to copy so many bytes: what an operator that only moves memory
/// could reach.
///
///   CopyCurve copy = measure_copy(1);
///   double at_best = copy.milliseconds(bytes_read + bytes_written);
#include <cstddef>
#include <cstdint>
#include <vector>

namespace graft::bench {

/// Gives what was measured at one size. Bytes and bandwidth count each byte twice: it is read and written.
struct CopyPoint {
  uint64_t bytes = 0;
  double bytes_per_second = 0;
};

/// Holds the bandwidth of copies from sizes that the first cache holds to one that no cache does.
class CopyCurve {
 public:
  CopyCurve() = default;

  /// Takes points in rising order of bytes.
  explicit CopyCurve(std::vector<CopyPoint> points) : points_(std::move(points)) {}

  const std::vector<CopyPoint>& points() const { return points_; }

  /// Gives the bandwidth at a size: between two points on the line through the logarithms of their sizes,
  /// outside of them that of the nearest; 0 without points.
  double bytes_per_second(uint64_t bytes) const;

  double milliseconds(uint64_t bytes) const;

 private:
  std::vector<CopyPoint> points_;
};

/// Gives the bytes of a buffer that no cache holds: twice the last cache that the system reports. Of that no
/// more than 64 MiB are believed (a virtual machine may report the sum of its host's), and 16 MiB are assumed
/// where it says nothing.
size_t size_beyond_caches();

/// Measures copies by so many threads at once, each from and to memory of its own: the fastest of several
/// tries at each size. Takes about half a second.
CopyCurve measure_copy(int threads, size_t largest_buffer = size_beyond_caches());

}  // namespace graft::bench
