#include "fuse/cache.h"

#include <gtest/gtest.h>

#include <chrono>

#include "runtime/files.h"
#include "runtime/scratch_folder.h"

namespace graft::fuse {
namespace {
namespace fs = std::filesystem;

class CacheTest : public testing::Test {
 protected:
  void keep(const std::string& key, size_t bytes, int hours_ago, uintmax_t most = 1000) {
    runtime::write_file(scratch_.path() / "file", std::string(bytes, 'x'));
    cache_.keep(key, scratch_.path() / "file", most);
    std::error_code gone;
    fs::last_write_time(folder_ / key, fs::file_time_type::clock::now() - std::chrono::hours(hours_ago),
                        gone);
  }
  bool has(const std::string& key) { return cache_.take(key, scratch_.path() / "taken"); }

  runtime::ScratchFolder scratch_;
  fs::path folder_ = scratch_.path() / "cache";
  Cache cache_{folder_};
};

TEST_F(CacheTest, GivesWhatWasKept) {
  EXPECT_FALSE(has("a"));
  keep("a", 100, 0);
  ASSERT_TRUE(has("a"));
  EXPECT_EQ(runtime::read_file(scratch_.path() / "taken"), std::string(100, 'x'));
}

TEST_F(CacheTest, RemovesWhatWasNotTakenForLongest) {
  keep("a", 400, 3);
  keep("b", 400, 2);
  EXPECT_TRUE(has("a"));  // used now
  keep("c", 400, 0);      // too many: b goes
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(has("b"));
  EXPECT_TRUE(has("c"));
}

TEST_F(CacheTest, RefusesWhatWasCut) {
  keep("a", 300, 0);
  fs::resize_file(folder_ / "a", 200);
  EXPECT_FALSE(has("a"));
  fs::resize_file(folder_ / "a", 0);
  EXPECT_FALSE(has("a"));
}

TEST(CacheFolder, NoneIsNoError) {
  const runtime::ScratchFolder scratch;
  runtime::write_file(scratch.path() / "file", "");
  const Cache none{fs::path()};
  none.keep("a", scratch.path() / "file");
  EXPECT_FALSE(none.take("a", scratch.path() / "taken"));
  const Cache impossible{scratch.path() / "file" / "below"};
  impossible.keep("a", scratch.path() / "file");
  EXPECT_FALSE(impossible.take("a", scratch.path() / "taken"));
}

TEST(Digest, KnowsWhereOneTextEnds) {
  EXPECT_NE(Digest().add("ab").add("c").text(), Digest().add("a").add("bc").text());
  EXPECT_NE(Digest().add("").text(), Digest().text());
  EXPECT_EQ(Digest().add("abc").text().size(), 32U);
}

}  // namespace
}  // namespace graft::fuse
