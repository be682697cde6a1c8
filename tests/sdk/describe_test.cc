// Kernels called through graft_describe, without ORT.
#include <dlfcn.h>
#include <graft/describe_abi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace {

const graft_library* load() {
  static const graft_library* library = [] {
    void* handle = dlopen(SDK_OPS, RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw std::runtime_error(dlerror());
    auto describe = reinterpret_cast<const graft_library* (*)(uint32_t)>(dlsym(handle, "graft_describe"));
    EXPECT_EQ(describe(GRAFT_ABI + 1), nullptr);
    return describe(GRAFT_ABI);
  }();
  return library;
}

/// Calls one entry with float tensors.
struct Call {
  std::map<std::string, float> floats;
  std::map<std::string, int64_t> ints;
  std::string error;
  std::vector<float> result;
  std::vector<int64_t> shape;

  bool operator()(const std::string& name, std::vector<std::pair<std::vector<float>, std::vector<int64_t>>> inputs,
                  size_t outputs = 1, int32_t dtype = 1) {
    const graft_library* library = load();
    const graft_entry* entry = nullptr;
    for (size_t i = 0; i < library->entry_count && !entry; ++i) {
      if (name == library->entries[i].name && library->entries[i].overload == 0) entry = &library->entries[i];
    }
    EXPECT_NE(entry, nullptr) << name;
    std::vector<graft_value> values;
    for (auto& [data, dims] : inputs) values.push_back({data.data(), dtype, int32_t(dims.size()), dims.data()});
    graft_host host{};
    host.size = sizeof host;
    host.state = this;
    host.allocate = [](void* state, size_t, int32_t, const int64_t* dims, size_t rank) -> void* {
      Call& call = *static_cast<Call*>(state);
      call.shape.assign(dims, dims + rank);
      size_t count = 1;
      for (int64_t d : call.shape) count *= size_t(d);
      call.result.assign(std::max<size_t>(count, 2), -1.f);
      return call.result.data();
    };
    host.attribute = [](void* state, const char* attribute, int32_t type, const void** data, size_t* count) {
      Call& call = *static_cast<Call*>(state);
      *count = 1;
      if (call.floats.contains(attribute)) return type == 1 ? (*data = &call.floats[attribute], 1) : -1;
      if (call.ints.contains(attribute)) return type == 2 ? (*data = &call.ints[attribute], 1) : -1;
      return 0;
    };
    host.parallel_for = [](void*, void (*task)(void*, size_t), size_t count, void* argument) {
      for (size_t i = count; i-- > 0;) task(argument, i);
    };
    host.fail = [](void* state, const char* text) { static_cast<Call*>(state)->error = text; };
    return entry->call(entry, &host, values.data(), values.size(), outputs) == 0;
  }
};

TEST(Describe, ListsTheOperatorsOfAllFilesOfTheLibrary) {
  const std::string json = load()->json;
  for (const char* part : {R"_("abi":1)_", R"_("domain":"sdk.test","name":"Axpby")_",
                           R"_("domain":"sdk.other","name":"Twice")_", R"_({"name":"a","type":"float","required":true})_",
                           R"_({"name":"b","type":"float","required":false,"default":1})_",
                           R"_({"name":"rest","arity":"variadic"})_", R"_("shape":"function")_",
                           R"_("text":"y = Mul(@limit, Tanh(Div(x, @limit)))","traced":false)_"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " is not in " << json;
  }
}

TEST(Describe, CallsAnElementwiseOperatorWithBroadcasting) {
  Call call{.floats = {{"a", 2.f}}};
  ASSERT_TRUE(call("Axpby", {{{1, 2, 3, 4, 5, 6}, {2, 3}}, {{10, 20}, {2, 1}}})) << call.error;
  EXPECT_EQ(call.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(call.result, (std::vector<float>{12, 14, 16, 28, 30, 32}));
}

TEST(Describe, SplitsALargeTensorOverTheHostsThreads) {
  std::vector<float> x(200'003);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 1000) / 100 - 5;
  Call call;
  ASSERT_TRUE(call("Squash", {{x, {int64_t(x.size())}}})) << call.error;
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(call.result[i], 6 * std::tanh(x[i] / 6), 2e-6) << i;  // 4 ulp of 6
}

TEST(Describe, KeepsStateAndInfersTheShape) {
  Call call{.ints = {{"n", 2}}};
  ASSERT_TRUE(call("MovingSum", {{{1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}}})) << call.error;
  EXPECT_EQ(call.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(call.result, (std::vector<float>{3, 5, 7, 11, 13, 15}));
}

TEST(Describe, ErrorsNameTheOperatorAndWhatWasGot) {
  const auto error_of = [](const char* name, std::vector<std::pair<std::vector<float>, std::vector<int64_t>>> inputs,
                           Call call = {}, size_t outputs = 1, int32_t dtype = 1) {
    EXPECT_FALSE(call(name, std::move(inputs), outputs, dtype));
    return call.error;
  };
  const std::vector<float> two{1, 2};
  EXPECT_EQ(error_of("WantsAMatrix", {{two, {2}}}), "sdk.test::WantsAMatrix: expected a matrix for x, got shape [2]");
  EXPECT_EQ(error_of("Axpby", {{two, {2}}, {two, {2}}}), "sdk.test::Axpby: the attribute a (float) is required, and missing");
  EXPECT_EQ(error_of("Axpby", {{two, {2}}, {two, {2}}}, {.ints = {{"a", 1}}}),
            "sdk.test::Axpby: attribute a: expected float, got another type");
  EXPECT_EQ(error_of("Lerp", {{two, {2}}}), "sdk.test::Lerp: the input y is required");
  EXPECT_EQ(error_of("Squash", {{two, {2}}, {two, {2}}}), "sdk.test::Squash: expected at most 1 inputs, got 2");
  EXPECT_EQ(error_of("Squash", {{two, {1}}}, {}, 1, 11),
            "sdk.test::Squash: input x: expected tensor(float), got tensor(double)");
  EXPECT_EQ(error_of("Lerp", {{two, {2}}, {{1, 2, 3}, {3}}, {two, {2}}}),
            "sdk.test::Lerp: the shapes [2] and [3] and [2] do not broadcast");
  EXPECT_EQ(error_of("ForgetsToAllocate", {{two, {2}}}),
            "sdk.test::ForgetsToAllocate: output y was never allocated: give the operator a shape rule, or call "
            "y.allocate({...}) in the function");
  EXPECT_EQ(error_of("MovingSum", {{two, {2}}}, {.ints = {{"n", 0}}}), "sdk.test::MovingSum: n must be at least 1, got 0");
  EXPECT_EQ(error_of("MovingSum", {{two, {2}}}, {.ints = {{"n", 5}}}),
            "sdk.test::MovingSum: a dimension of 2 is too small to take 5 from it");
}

TEST(Describe, ZeroElementsAreComputedToo) {
  Call call;
  ASSERT_TRUE(call("Squash", {{{}, {0, 3}}})) << call.error;
  EXPECT_EQ(call.shape, (std::vector<int64_t>{0, 3}));
}

}  // namespace
