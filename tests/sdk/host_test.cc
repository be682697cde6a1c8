// What a caller of the C entries gives and gets beside numbers: strings, tensor attributes, options, tensors of any type.
#include <dlfcn.h>
#include <graft/describe_abi.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using std::string_literals::operator""s;
constexpr int32_t kFloat = 1, kInt64 = 7, kString = 8, kDouble = 11;

const graft_entry& entry_of(const std::string& name) {
  static void* library = dlopen(SDK_OPS, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  const auto* described = reinterpret_cast<const graft_library* (*)(uint32_t)>(dlsym(library, "graft_describe"))(GRAFT_ABI);
  for (size_t i = 0; i < described->entry_count; ++i) {
    if (name == described->entries[i].name) return described->entries[i];
  }
  throw std::runtime_error("no operator " + name);
}

std::vector<graft_string> views(const std::vector<std::string>& strings) {
  std::vector<graft_string> result;
  for (const std::string& text : strings) result.push_back({text.data(), text.size()});
  return result;
}

/// Is a caller with one output, of whatever type it turns out to be.
struct Caller {
  std::map<std::string, std::string> strings;      // attributes
  std::map<std::string, graft_value> tensors;      // attributes
  std::map<std::string, std::string> options;
  uint32_t size = sizeof(graft_host);

  std::string error;
  std::vector<double> numbers;  // room for an output of up to eight bytes an element
  std::vector<std::string> texts;
  std::vector<int64_t> shape;
  const char* text = nullptr;

  bool operator()(const std::string& name, const std::vector<graft_value>& inputs) {
    graft_host host{};
    host.size = size;
    host.state = this;
    host.allocate = [](void* state, size_t, int32_t, const int64_t* dims, size_t rank) -> void* {
      Caller& caller = *static_cast<Caller*>(state);
      caller.keep_shape(dims, rank);
      return caller.numbers.data();
    };
    host.attribute = [](void* state, const char* attribute, int32_t type, const void** data, size_t* count) {
      Caller& caller = *static_cast<Caller*>(state);
      *count = 1;
      if (const auto found = caller.strings.find(attribute); found != caller.strings.end()) {
        caller.text = found->second.c_str();
        return type == 3 ? (*data = &caller.text, 1) : -1;
      }
      if (const auto found = caller.tensors.find(attribute); found != caller.tensors.end()) {
        return type == 4 ? (*data = &found->second, 1) : -1;
      }
      return 0;
    };
    host.fail = [](void* state, const char* message) { static_cast<Caller*>(state)->error = message; };
    host.put_strings = [](void* state, size_t, const graft_string* strings, const int64_t* dims, size_t rank) {
      Caller& caller = *static_cast<Caller*>(state);
      caller.keep_shape(dims, rank);
      for (size_t i = 0; i < caller.numbers.size(); ++i) caller.texts.emplace_back(strings[i].data, strings[i].size);
      return 0;
    };
    host.option = [](void* state, const char* key) -> const char* {
      Caller& caller = *static_cast<Caller*>(state);
      const auto found = caller.options.find(key);
      return found == caller.options.end() ? nullptr : found->second.c_str();
    };
    const graft_entry& entry = entry_of(name);
    return entry.call(&entry, &host, inputs.data(), inputs.size(), 1) == 0;
  }

  void keep_shape(const int64_t* dims, size_t rank) {
    shape.assign(dims, dims + rank);
    size_t count = 1;
    for (const int64_t dim : shape) count *= size_t(dim);
    numbers.assign(count, -1);
  }
};

TEST(Host, GivesStringsWithAnyByte) {
  const std::vector<std::string> words{"a", "", "zwölf", "nul\0inside"s};
  std::vector<graft_string> data = views(words);
  const int64_t four = 4;
  Caller caller;
  ASSERT_TRUE(caller("Lengths", {{data.data(), kString, 1, &four}})) << caller.error;
  const auto* lengths = reinterpret_cast<const int64_t*>(caller.numbers.data());
  EXPECT_EQ((std::vector<int64_t>(lengths, lengths + 4)), (std::vector<int64_t>{1, 0, 6, 10}));
}

TEST(Host, ReceivesStringsWithAnyByte) {
  std::vector<int64_t> lengths{0, 2};
  const int64_t two = 2;
  Caller caller;
  ASSERT_TRUE(caller("MakeStrings", {{lengths.data(), kInt64, 1, &two}})) << caller.error;
  EXPECT_EQ(caller.shape, std::vector<int64_t>{2});
  EXPECT_EQ(caller.texts, (std::vector<std::string>{"é", "\0\0é"s}));
}

TEST(Host, JoinsStringsIntoOne) {
  std::vector<std::string> words{"graft", "inject", "verify"};
  std::vector<graft_string> data = views(words);
  const int64_t three = 3;
  Caller caller{.strings = {{"separator", ", "}}};
  ASSERT_TRUE(caller("Join", {{data.data(), kString, 1, &three}})) << caller.error;
  EXPECT_EQ(caller.shape, std::vector<int64_t>{});
  EXPECT_EQ(caller.texts, std::vector<std::string>{"graft, inject, verify"});
}

TEST(Host, GivesTensorAttributes) {
  std::vector<float> x{1, 2, 3, 4}, table{10, 20};
  const int64_t four = 4, two = 2;
  Caller caller{.tensors = {{"table", {table.data(), kFloat, 1, &two}}}};
  ASSERT_TRUE(caller("AddTable", {{x.data(), kFloat, 1, &four}})) << caller.error;
  const auto* y = reinterpret_cast<const float*>(caller.numbers.data());
  EXPECT_EQ((std::vector<float>(y, y + 4)), (std::vector<float>{11, 22, 13, 24}));

  std::vector<int64_t> integers{10, 20};
  Caller wrong{.tensors = {{"table", {integers.data(), kInt64, 1, &two}}}};
  EXPECT_FALSE(wrong("AddTable", {{x.data(), kFloat, 1, &four}}));
  EXPECT_EQ(wrong.error, "sdk.params::AddTable: attribute table: expected a tensor(float), got a tensor(int64)");
}

TEST(Host, GivesTensorAttributesOfStrings) {
  std::vector<int64_t> which{1, 0};
  std::vector<std::string> names{"zero", "one\0more"s};
  std::vector<graft_string> data = views(names);
  const int64_t two = 2;
  Caller caller{.tensors = {{"names", {data.data(), kString, 1, &two}}}};
  ASSERT_TRUE(caller("NameOf", {{which.data(), kInt64, 1, &two}})) << caller.error;
  EXPECT_EQ(caller.texts, (std::vector<std::string>{"one\0more"s, "zero"}));
}

TEST(Host, GivesTensorsOfAnyType) {
  std::vector<float> floats{1, 2};
  std::vector<double> doubles{0.5};
  std::vector<std::string> words{"abc"};
  std::vector<graft_string> strings = views(words);
  const int64_t one = 1, two = 2;
  const graft_value f{floats.data(), kFloat, 1, &two}, d{doubles.data(), kDouble, 1, &one}, s{strings.data(), kString, 1, &one};
  Caller caller;
  ASSERT_TRUE(caller("Sums", {f, d, s})) << caller.error;
  EXPECT_EQ(caller.numbers, (std::vector<double>{3, 0.5, 3}));
  EXPECT_FALSE(caller("AddAll", {f, f, d}));
  EXPECT_EQ(caller.error, "sdk.params::AddAll: input more[1]: expected one of tensor(float), tensor(int64), got tensor(double)");
}

TEST(Host, TellsTypesAndOutputsAhead) {
  std::vector<float> floats{1};
  std::vector<int64_t> integers{1};
  const int64_t one = 1;
  Caller caller{.strings = {{"unit", "types"}}};
  ASSERT_TRUE(caller("Tally_0", {{floats.data(), kFloat, 1, &one}, {integers.data(), kInt64, 1, &one}})) << caller.error;
  EXPECT_EQ(caller.shape, std::vector<int64_t>{1});
}

TEST(Host, GivesOptions) {
  std::vector<float> x{1};
  const int64_t one = 1;
  Caller caller{.strings = {{"key", "my.key"}}, .options = {{"my.key", "on"}}};
  ASSERT_TRUE(caller("OptionText", {{x.data(), kFloat, 1, &one}})) << caller.error;
  EXPECT_EQ(caller.texts, std::vector<std::string>{"on"});
}

TEST(Host, OfAnEarlierSizeLacksWhatCameLater) {
  std::vector<float> x{1};
  std::vector<int64_t> lengths{1};
  const int64_t one = 1;
  Caller without_options{.strings = {{"key", "my.key"}}, .size = offsetof(graft_host, option)};
  EXPECT_FALSE(without_options("OptionText", {{x.data(), kFloat, 1, &one}}));
  EXPECT_EQ(without_options.error, "sdk.params::OptionText: the session option my.key cannot be read: the caller gives none");
  Caller without_strings{.size = offsetof(graft_host, put_strings)};
  EXPECT_FALSE(without_strings("MakeStrings", {{lengths.data(), kInt64, 1, &one}}));
  EXPECT_EQ(without_strings.error, "sdk.params::MakeStrings: the caller takes no strings for output 0 of shape [1]");
}

}  // namespace
