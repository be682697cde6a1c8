#include <graft/target.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace graft {
namespace {

struct Marked {
  template <Target V>
  static GRAFT_INLINE void run(int* to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] += 10 + int(V);
  }
};

TEST(Target, FunctionsOfALoopAreChosenByTarget) {
  constexpr auto functions = TargetFunctions<int*, int64_t>::of<Marked>();
  std::array<int, 3> numbers{1, 2, 3};
  functions[Target::baseline](numbers.data(), 2);
  EXPECT_EQ(numbers, (std::array{11, 12, 3}));
  functions[target()](numbers.data() + 2, 1);
#if defined(GRAFT_X86_64)
  EXPECT_EQ(numbers[2], 13 + int(target()));
#else
  EXPECT_EQ(numbers[2], 13);
#endif
}

}  // namespace
}  // namespace graft
