// Prints the largest error of each function of graft/math.h over all floats, for each variant of the loop, or
// its time.
//
//   bench_math_errors                      every function, all 2^32 floats (minutes for each function)
//   bench_math_errors exp gelu             these functions
//   bench_math_errors --sample 1000003     about so many floats, evenly spread over all bit patterns
//   bench_math_errors --threads 2
//   bench_math_errors --time               us per 65,536 floats instead
//
// pow takes pairs: about as many as floats are asked for, 2^32 by default. The exit code is 1 where an error
// is above the limit that bench/math_functions.h states, or a special value differs.
#include "math_functions.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {
using namespace graft;

constexpr int64_t kBlock = 4096;
constexpr Target kTargets[] = {Target::baseline, Target::avx2, Target::avx512};

struct Options {
  uint64_t sample = uint64_t(1) << 32;
  unsigned threads = 1;
  bool time = false;
  std::vector<std::string> names;

  bool wants(std::string_view name) const {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  }
};

/// Is what a walk found: the largest errors where the result is normal and where it is subnormal, and how
/// many special values differ (NaN, infinity, the sign of zero).
struct Worst {
  double normal = 0, subnormal = 0;
  float normal_at[2] = {}, subnormal_at[2] = {}, special_at[2] = {};
  uint64_t special = 0;

  void see(float got, double exact, float x, float y) {
    const bool is_normal = std::fabs(exact) >= 0x1p-126;
    if (got == float(exact) && got != 0 && (is_normal ? normal : subnormal) >= 0.5)
      return;  // rounded correctly
    const double error = units_in_last_place(got, exact);
    if (error == INFINITY) {
      ++special;
      special_at[0] = x, special_at[1] = y;
    } else if (is_normal) {
      if (error > normal) normal = error, normal_at[0] = x, normal_at[1] = y;
    } else if (error > subnormal) {
      subnormal = error, subnormal_at[0] = x, subnormal_at[1] = y;
    }
  }
  void add(const Worst& other) {
    if (other.normal > normal) normal = other.normal, std::copy_n(other.normal_at, 2, normal_at);
    if (other.subnormal > subnormal)
      subnormal = other.subnormal, std::copy_n(other.subnormal_at, 2, subnormal_at);
    if (other.special) std::copy_n(other.special_at, 2, special_at);
    special += other.special;
  }
};

using Walk = std::array<Worst, 3>;

/// Splits the sample over threads; each calls walk(from, to, worst).
template <class Part> Walk in_threads(const Options& options, Part part) {
  Walk result;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] {
      Walk own;
      const auto bound = [&](unsigned k) {
        return uint64_t(__uint128_t(options.sample) * k / options.threads);
      };
      part(bound(i), bound(i + 1), own);
      const std::lock_guard lock(mutex);
      for (size_t t = 0; t < own.size(); ++t) result[t].add(own[t]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return result;
}

Walk walk(const MathFunction& function, const Options& options) {
  return in_threads(options, [&](uint64_t from, uint64_t to, Walk& worst) {
    std::vector<float> x(kBlock), y(kBlock);
    std::vector<double> exact(kBlock);
    for (; from < to; from += kBlock) {
      const int64_t n = int64_t(std::min<uint64_t>(kBlock, to - from));
      for (int64_t i = 0; i < n; ++i) {
        const auto pattern = (__uint128_t(from + uint64_t(i)) << 32) / options.sample;
        x[size_t(i)] = std::bit_cast<float>(uint32_t(pattern));
        exact[size_t(i)] = function.exact(double(x[size_t(i)]));
      }
      for (Target target : kTargets) {
        if (target > graft::target()) continue;
        function.run(target, x.data(), y.data(), n);
        for (int64_t i = 0; i < n; ++i)
          worst[size_t(target)].see(y[size_t(i)], exact[size_t(i)], x[size_t(i)], 0);
      }
    }
  });
}

/// Walks through pairs: bit patterns of both, the exponent chosen so that the power neither overflows nor
/// vanishes, and bases near one.
Walk walk_pow(const Options& options) {
  return in_threads(options, [&](uint64_t from, uint64_t to, Walk& worst) {
    std::vector<float> x(kBlock), e(kBlock), y(kBlock);
    std::vector<double> exact(kBlock);
    uint64_t state = from * 0x9e3779b97f4a7c15u + 1;
    const auto next = [&] {  // splitmix64
      uint64_t z = (state += 0x9e3779b97f4a7c15u);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      return z ^ (z >> 31);
    };
    for (; from < to; from += kBlock) {
      const int64_t n = int64_t(std::min<uint64_t>(kBlock, to - from));
      for (int64_t i = 0; i < n; ++i) {
        const uint64_t random = next();
        float base = std::bit_cast<float>(uint32_t(random)),
              power = std::bit_cast<float>(uint32_t(random >> 32));
        const uint64_t kind = next() % 8;
        if (kind >= 4) base = std::fabs(base);
        if (kind == 7) base = 1 + std::ldexp(float(int32_t(random)), -32 - int(random >> 59));
        if (kind >= 2) {
          const double t = std::ldexp(double(int32_t(random >> 32)), -31) * 152;
          power = float(t / std::log2(std::fabs(double(base))));
        }
        if (kind == 3) power = std::nearbyint(power);
        if (kind == 1) {
          constexpr float special[] = {0,       1,     2,        3,   0.5f,  1.5f, 0x1p23f, 0x1.000002p23f,
                                       0x1p24f, 1e30f, INFINITY, NAN, 1e-45f};
          constexpr size_t count = std::size(special);
          base = std::copysign(special[random % count], base);
          if (random >> 40 & 1) power = std::copysign(special[(random >> 8) % count], power);
        }
        x[size_t(i)] = base;
        e[size_t(i)] = power;
        exact[size_t(i)] = std::pow(double(base), double(power));
      }
      for (Target target : kTargets) {
        if (target > graft::target()) continue;
        run_variant(target, PowLoop{x.data(), e.data(), y.data(), n});
        for (int64_t i = 0; i < n; ++i) {
          worst[size_t(target)].see(y[size_t(i)], exact[size_t(i)], x[size_t(i)], e[size_t(i)]);
        }
      }
    }
  });
}

/// Prints what a walk found; gives whether it stays within the limits.
bool print(std::string_view name, const Walk& walk, double limit, double subnormal_limit) {
  bool within = true;
  const bool pairs = name == "pow";
  const auto place = [&](const float(&at)[2]) {
    char text[64];
    if (pairs)
      std::snprintf(text, sizeof text, "%.9g, %.9g", double(at[0]), double(at[1]));
    else
      std::snprintf(text, sizeof text, "%.9g", double(at[0]));
    return std::string(text);
  };
  for (Target target : kTargets) {
    if (target > graft::target()) continue;
    const Worst& worst = walk[size_t(target)];
    std::printf("%-10s %-9s %8.3f ulp at %-24s", std::string(name).c_str(),
                std::string(target_name(target)).c_str(), worst.normal, place(worst.normal_at).c_str());
    if (worst.subnormal > 0)
      std::printf("  subnormal %6.3f at %s", worst.subnormal, place(worst.subnormal_at).c_str());
    if (worst.special) {
      std::printf("  %llu SPECIAL VALUES DIFFER, one at %s", static_cast<unsigned long long>(worst.special),
                  place(worst.special_at).c_str());
    }
    const bool above = worst.normal > limit || worst.subnormal > subnormal_limit;
    std::printf("%s\n", above ? "  ABOVE THE LIMIT" : "");
    within = within && !above && worst.special == 0;
  }
  std::fflush(stdout);
  return within;
}

template <class Run> void print_time(std::string_view name, Run run) {
  std::printf("%-10s", std::string(name).c_str());
  for (Target target : kTargets) {
    if (target > graft::target()) continue;
    double best = 1e9;
    for (int round = 0; round < 400; ++round) {
      const auto start = std::chrono::steady_clock::now();
      run(target);
      best = std::min(
          best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    std::printf("  %s %7.2f", std::string(target_name(target)).c_str(), best);
  }
  std::printf("  us per 65,536\n");
  std::fflush(stdout);
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const auto number = [&] { return i + 1 < count ? std::strtoull(arguments[++i], nullptr, 10) : 0; };
    if (argument == "--time")
      options.time = true;
    else if (argument == "--sample")
      options.sample = number();
    else if (argument == "--threads")
      options.threads = unsigned(number());
    else
      options.names.push_back(argument);
  }
  return options;
}

/// Says what is wrong with the call, or nothing.
std::string complaint(const Options& options) {
  if (options.sample < 1 || options.sample > uint64_t(1) << 32)
    return "--sample takes a number from 1 to 4294967296";
  if (options.threads < 1 || options.threads > 1024) return "--threads takes a number from 1 to 1024";
  for (const std::string& name : options.names) {
    const auto has_name = [&](const MathFunction& f) { return f.name == name; };
    if (name != "pow" && std::none_of(std::begin(math_functions), std::end(math_functions), has_name)) {
      std::string known;
      for (const MathFunction& f : math_functions) known += std::string(f.name) + ", ";
      return "there is no function " + name + "; there are " + known + "pow";
    }
  }
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  if (const std::string wrong = complaint(options); !wrong.empty()) {
    std::fprintf(stderr, "bench_math_errors: %s\n", wrong.c_str());
    return 2;
  }
  bool within = true;
  constexpr int64_t n = 65536;
  std::vector<float> x(n), e(n), y(n);
  for (int64_t i = 0; i < n; ++i) e[size_t(i)] = -8 + 16.f * float(i) / n;
  for (const MathFunction& function : math_functions) {
    if (!options.wants(function.name)) continue;
    if (!options.time) {
      within &= print(function.name, walk(function, options), function.limit, function.subnormal_limit);
      continue;
    }
    const bool positive = std::isnan(function.exact(-2));
    for (int64_t i = 0; i < n; ++i) x[size_t(i)] = positive ? 1e-3f + 16.f * float(i) / n : e[size_t(i)];
    print_time(function.name, [&](Target target) { function.run(target, x.data(), y.data(), n); });
  }
  if (options.wants("pow")) {
    for (int64_t i = 0; i < n; ++i) x[size_t(i)] = 1e-3f + 16.f * float(i) / n;
    if (options.time)
      print_time("pow", [&](Target target) {
        run_variant(target, PowLoop{x.data(), e.data(), y.data(), n});
      });
    else
      within &= print("pow", walk_pow(options), kPowLimit, 1.1);
  }
  return within ? 0 : 1;
}
