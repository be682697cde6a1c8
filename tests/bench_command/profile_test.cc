#include "bench/profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "error.h"

namespace graft::bench {
namespace {

std::string run(int start, int duration) {
  return fmt::format(R"({{"cat":"Session","name":"model_run","ts":{},"dur":{},"args":{{}}}})", start,
                     duration);
}

std::string kernel(const std::string& name, const std::string& op, int start, int duration,
                   const std::string& in, const std::string& out,
                   const std::string& provider = "CPUExecutionProvider") {
  return fmt::format(
      R"({{"cat":"Node","name":"{}_kernel_time","ts":{},"dur":{},"args":{{"op_name":"{}","provider":"{}","input_type_shape":{},"output_type_shape":{}}}}})",
      name, start, duration, op, provider, in, out);
}

std::string list(const std::vector<std::string>& events) {
  std::string text = "[";
  for (const std::string& event : events) text += (text.size() > 1 ? "," : "") + event;
  return text + "]";
}

constexpr const char* four = R"([{"float":[1,4]}])";

TEST(Profile, AddsUpEachOperatorOverTheRuns) {
  std::vector<std::string> events;
  for (const int start : {0, 1000, 2000, 3000}) {
    const int slow = start == 0 ? 500 : 10;  // the first run is warming up
    events.push_back(kernel("a", "Add", start + 1, slow, R"([{"float":[1,4]},{"float":[]}])", four));
    events.push_back(kernel("b", "Relu", start + 600, 20, four, four));
    events.push_back(kernel("c", "Add", start + 700, 30, four, four));
    events.push_back(run(start, 800));  // ORT writes a run after what ran in it
  }
  const Profile profile = read_profile(list(events), "p.json", 1);
  ASSERT_EQ(profile.nodes.size(), 3u);
  EXPECT_EQ(profile.nodes[0].name, "a");
  EXPECT_EQ(profile.nodes[0].bytes_in, 20u);
  EXPECT_EQ(profile.nodes[0].bytes_out, 16u);
  EXPECT_DOUBLE_EQ(profile.nodes[0].milliseconds, 0.0105);
  EXPECT_EQ(profile.run_milliseconds, (std::vector<double>{0.8, 0.8, 0.8}));
  ASSERT_EQ(profile.operators.size(), 2u);
  EXPECT_EQ(profile.operators[0].op, "Add");
  EXPECT_EQ(profile.operators[0].nodes, (std::vector<size_t>{0, 2}));
  EXPECT_EQ(profile.operators[0].milliseconds.size(), 3u);
  EXPECT_DOUBLE_EQ(profile.operators[0].milliseconds[0], 0.041);
  EXPECT_EQ(profile.operators[0].bytes_in, 36u);
  EXPECT_EQ(profile.operators[0].providers, (std::vector<std::string>{"CPUExecutionProvider"}));
}

TEST(Profile, ANodeWithASubgraphKeepsItsOwnTimeOnly) {
  const std::string text = list(
      {kernel("if", "If", 10, 100, four, four), kernel("inside", "Mul", 20, 60, four, four), run(0, 200)});
  const Profile profile = read_profile(text, "p.json");
  ASSERT_EQ(profile.nodes.size(), 2u);
  EXPECT_DOUBLE_EQ(profile.nodes[0].milliseconds, 0.0405);
  EXPECT_EQ(profile.nodes[0].bytes(), 0u) << "its bytes are those of the nodes inside";
  EXPECT_EQ(profile.nodes[1].bytes(), 32u);
}

TEST(Profile, SaysWhichTensorsItIsNotTold) {
  const auto bytes_in = [](const std::string& in) {
    return read_profile(list({kernel("a", "X", 1, 1, in, four), run(0, 9)}), "p.json").nodes[0].bytes_in;
  };
  EXPECT_EQ(bytes_in(R"([{"float16":[3]},{"int64":[2,2]},{"bool":[5]}])"), 6u + 32 + 5);
  EXPECT_EQ(bytes_in(R"([{"int4":[5]}])"), 3u);
  EXPECT_EQ(bytes_in("[]"), 0u);
  EXPECT_EQ(bytes_in(R"([{"float":[0,7]}])"), 0u);
  for (const char* untold :
       {R"([{"string":[3]}])", R"([{"float":[-1]}])", R"([{"nothing":[1]}])", R"(["float"])", R"([{}])", "3",
        "null", R"([{"float":7}])", R"([{"float":["a"]}])"}) {
    EXPECT_FALSE(bytes_in(untold)) << untold;
  }
  const Profile profile = read_profile(list({kernel("a", "X", 1, 1, "null", four), run(0, 9)}), "p.json");
  EXPECT_EQ(profile.operators[0].without_bytes, 1u);
  EXPECT_EQ(profile.operators[0].bytes_out, 0u) << "half of a node is no figure";
}

TEST(Profile, RenamingATensorMovesNothing) {
  const Profile profile = read_profile(list({kernel("a", "Reshape", 1, 1, four, four), run(0, 9)}), "p.json");
  EXPECT_EQ(profile.nodes[0].bytes(), 0u);
  EXPECT_TRUE(moves_nothing("Shape"));
  EXPECT_FALSE(moves_nothing("Transpose"));
}

TEST(Profile, WhatIsNoneIsRefused) {
  for (const char* text : {"", "{", "{}", "3", "[", R"("model_run")"})
    EXPECT_THROW(read_profile(text, "p.json"), InputError) << text;
  for (const char* text :
       {"[]", "[1,2]", R"([{"name":"model_run"}])", R"([{"name":"model_run","ts":"1","dur":2}])"})
    EXPECT_THROW(read_profile(text, "p.json"), InputError) << text;
  EXPECT_THROW(read_profile(list({run(0, 9)}), "p.json", 1), InputError) << "nothing after warming up";
  const std::string changing = list(
      {kernel("a", "Add", 1, 1, four, four), run(0, 9), kernel("b", "Add", 11, 1, four, four), run(10, 9)});
  EXPECT_THROW(read_profile(changing, "p.json"), InputError);
}

}  // namespace
}  // namespace graft::bench
