#include "runtime/session.h"

#include <gtest/gtest.h>

#include <cstring>

#include "expect_error.h"
#include "loaded_runtime.h"
#include "model_builder.h"
#include "runtime/files.h"
#include "temporary_folder.h"

namespace graft::runtime {
namespace {

using testing::error_of;
using testing::floats;
using testing::loaded_runtime;
using testing::ModelBuilder;
using testing::TemporaryFolder;

ModelBuilder add_one() {
  ModelBuilder model;
  model.input("x", DataType::float32, {"N", 3, ""});
  model.constant("one", testing::number(1));
  model.node("Add", {"x", "one"}, {"y"});
  model.output("y", DataType::float32, {"N", 3, ""});
  return model;
}

TEST(Session, DescribesInputsAndOutputs) {
  const Session session = Session::from_bytes(loaded_runtime(), add_one().bytes());
  ASSERT_EQ(session.inputs().size(), 1u);
  const ValueDescription& x = session.inputs()[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.type, DataType::float32);
  ASSERT_EQ(x.shape.size(), 3u);
  EXPECT_EQ(x.shape[0].size, -1);
  EXPECT_EQ(x.shape[0].symbol, "N");
  EXPECT_EQ(x.shape[1].size, 3);
  EXPECT_EQ(to_string(x), "float[N,3,?]");
  EXPECT_EQ(session.outputs()[0].name, "y");
}

TEST(Session, RunsFromBytesAndFromAFile) {
  TemporaryFolder folder;
  const Tensor x = floats({1, 2, 3}, {1, 3, 1});
  Session from_bytes = Session::from_bytes(loaded_runtime(), add_one().bytes());
  EXPECT_EQ(from_bytes.run({x})[0].values<float>()[2], 4);
  Session from_file(loaded_runtime(), add_one().write(folder / "add.onnx"));
  const std::vector<Tensor> outputs = from_file.run({x});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].shape, (Shape{1, 3, 1}));
  EXPECT_EQ(outputs[0].values<float>()[0], 2);
}

TEST(Session, FindsExternalDataBesideTheFile) {
  TemporaryFolder folder;
  ModelBuilder model = add_one();
  onnx::TensorProto& one = *model.proto().mutable_graph()->mutable_initializer(0);
  one.clear_raw_data();
  one.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& location = *one.add_external_data();
  location.set_key("location");
  location.set_value("weights.bin");
  const float value = 41;
  write_file(folder / "weights.bin", std::string_view(reinterpret_cast<const char*>(&value), 4));
  Session session(loaded_runtime(), model.write(folder / "external.onnx"));
  EXPECT_EQ(session.run({floats({1, 0, 0}, {1, 3, 1})})[0].values<float>()[0], 42);
}

TEST(Session, PassesEveryTypeThrough) {
  for (const DataType type :
       {DataType::float32, DataType::float64, DataType::float16, DataType::int8, DataType::int16,
        DataType::int32, DataType::int64, DataType::uint8, DataType::uint16, DataType::uint32,
        DataType::uint64, DataType::boolean, DataType::bfloat16}) {
    ModelBuilder model;
    model.input("x", type, {"N"});
    model.node("Identity", {"x"}, {"y"});
    model.output("y", type, {"N"});
    Session session = Session::from_bytes(loaded_runtime(), model.bytes());
    for (const int64_t size : {0, 1, 5}) {
      Tensor x = Tensor::zeros(type, {size});
      for (size_t i = 0; i < x.count(); ++i) set_element(x, i, static_cast<double>(i % 2));
      const Tensor y = session.run({x})[0];
      EXPECT_EQ(y.type, type);
      EXPECT_EQ(y.shape, x.shape) << type_name(type);
      EXPECT_EQ(y.bytes, x.bytes) << type_name(type);
    }
  }
}

TEST(Session, PassesStringsWithNulBytesThrough) {
  ModelBuilder model;
  model.input("x", DataType::string, {"N"});
  model.node("Identity", {"x"}, {"y"});
  model.output("y", DataType::string, {"N"});
  Session session = Session::from_bytes(loaded_runtime(), model.bytes());
  Tensor x = Tensor::zeros(DataType::string, {3});
  x.strings = {"one", std::string("t\0wo", 4), ""};
  EXPECT_EQ(session.run({x})[0].strings, x.strings);
  EXPECT_EQ(session.run({Tensor::zeros(DataType::string, {0})})[0].shape, Shape{0});
}

TEST(Session, AScalarHasNoDimensions) {
  ModelBuilder model;
  model.input("x", DataType::float32, {});
  model.node("Neg", {"x"}, {"y"});
  model.output("y", DataType::float32, {});
  Session session = Session::from_bytes(loaded_runtime(), model.bytes());
  EXPECT_TRUE(session.inputs()[0].shape.empty());
  const Tensor y = session.run({testing::number(3)})[0];
  EXPECT_TRUE(y.shape.empty());
  EXPECT_EQ(y.values<float>()[0], -3);
}

TEST(Session, KeepsOrtsWords) {
  TemporaryFolder folder;
  ModelBuilder model;
  model.import("my.ops", 1);
  model.input("x", DataType::float32, {1});
  model.node("Nothing", {"x"}, {"y"}, "my.ops");
  model.output("y", DataType::float32, {1});
  try {
    Session(loaded_runtime(), model.write(folder / "unknown.onnx"));
    FAIL() << "the model was loaded";
  } catch (const OrtError& error) {
    EXPECT_NE(error.text.find("my.ops:Nothing(-1) is not a registered function/op"), std::string::npos)
        << error.text;
    EXPECT_TRUE(std::string(error.what()).starts_with((folder / "unknown.onnx").string() + ": "));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(Session, NamesWhatIsWrongWithAFile) {
  TemporaryFolder folder;
  const auto load = [&](const std::filesystem::path& file) {
    return error_of([&] { Session(loaded_runtime(), file); });
  };
  EXPECT_EQ(load(folder / "none.onnx"), (folder / "none.onnx").string() + ": does not exist");
  EXPECT_EQ(load(folder.path()), folder.path().string() + ": is a folder, not a model");
  write_file(folder / "empty.onnx", "");
  EXPECT_EQ(load(folder / "empty.onnx"), (folder / "empty.onnx").string() + ": is empty");
  write_file(folder / "text.onnx", "this is no model");
  EXPECT_TRUE(load(folder / "text.onnx").starts_with((folder / "text.onnx").string() + ": "))
      << load(folder / "text.onnx");
  const std::filesystem::path none = folder / "none.so";
  EXPECT_EQ(
      error_of([&] { Session(loaded_runtime(), add_one().write(folder / "a.onnx"), {.libraries = {none}}); }),
      none.string() + ": does not exist");
}

TEST(Session, RefusesInputsThatDoNotFit) {
  Session session = Session::from_bytes(loaded_runtime(), add_one().bytes(), {}, "add");
  EXPECT_EQ(error_of([&] { session.run({}); }), "add: has 1 inputs, and 0 tensors were given");
  EXPECT_NE(error_of([&] {
              session.run({floats({1, 2}, {1, 2, 1})});
            }).find("Expected: 3"),
            std::string::npos);
}

TEST(Session, WritesTheOptimisedModelAndAProfile) {
  TemporaryFolder folder;
  Session session =
      Session::from_bytes(loaded_runtime(), add_one().bytes(),
                          {.optimised_model = folder / "optimised.onnx", .profile = folder / "profile"});
  session.run({floats({1, 2, 3}, {1, 3, 1})});
  EXPECT_NE(read_file(session.end_profile()).find("\"Add"), std::string::npos);
  onnx::ModelProto written;
  ASSERT_TRUE(written.ParseFromString(read_file(folder / "optimised.onnx")));
  EXPECT_EQ(written.graph().node(0).op_type(), "Add");
}

TEST(Session, APreparedRunOutlivesTheCallersTensors) {
  Session session = Session::from_bytes(loaded_runtime(), add_one().bytes());
  std::vector<Tensor> inputs = {floats({1, 2, 3}, {1, 3, 1})};
  PreparedRun run = session.prepare(inputs);
  inputs.clear();
  run.once();
  PreparedRun moved = std::move(run);
  Session other = std::move(session);
  moved.once();
  EXPECT_EQ(other.inputs().size(), 1u);
}

}  // namespace
}  // namespace graft::runtime
