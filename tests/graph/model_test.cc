#include "graph/model.h"

#include <gtest/gtest.h>

#include <fstream>

#include "small_model.h"

namespace graft::graph {
namespace {

namespace fs = std::filesystem;

class Models : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("graft-model-test-" + std::to_string(::getpid()) + "-" + std::to_string(counter_++));
    fs::create_directories(folder_ / "out");
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  std::string read(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::string complaint(const std::string& bytes) {
    try {
      read_model(write("m.onnx", bytes));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
  static inline int counter_ = 0;
};

TEST_F(Models, ReadsWhatItWrites) {
  const std::string bytes = small_model("y = Neg(x)").SerializeAsString();
  Model model = read_model(write("m.onnx", bytes));
  EXPECT_EQ(model.size, bytes.size());
  {
    StagedModel staged(model, folder_ / "out" / "n.onnx");
    staged.write(model.proto);
    EXPECT_EQ(read(staged.file()), bytes);
    EXPECT_FALSE(fs::exists(folder_ / "out" / "n.onnx"));
    staged.commit();
  }
  EXPECT_EQ(read(folder_ / "out" / "n.onnx"), bytes);
  { StagedModel dropped(model, folder_ / "out" / "o.onnx"); }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "out"), fs::directory_iterator()), 1);
}

TEST_F(Models, KeepsUnknownFields) {
  std::string bytes = small_model("y = Neg(x)").SerializeAsString();
  bytes += std::string("\xfa\x3e\x05hello", 8);  // field 1007, five bytes
  Model model = read_model(write("m.onnx", bytes));
  EXPECT_EQ(model.proto.SerializeAsString(), bytes);
}

TEST_F(Models, EveryCutIsCalledSo) {
  const std::string bytes = small_model("a = Add(x, 3); y = Mul(a, x)").SerializeAsString();
  for (size_t size = 1; size < bytes.size(); ++size) {
    const std::string text = complaint(bytes.substr(0, size));
    // A cut between two fields of the model leaves one that can be read.
    if (text.empty()) continue;
    EXPECT_TRUE(text.find("cut short") != std::string::npos || text.find("no graph") != std::string::npos)
        << size << ": " << text;
  }
}

TEST_F(Models, NamesWhatIsNoModel) {
  EXPECT_NE(complaint("").find("empty"), std::string::npos);
  EXPECT_NE(complaint("just words").find("text"), std::string::npos);
  EXPECT_NE(complaint("version https://git-lfs.github.com/spec/v1\n").find("git lfs pull"),
            std::string::npos);
  EXPECT_NE(complaint(std::string("PK\x03\x04zzz")).find("ZIP"), std::string::npos);
  EXPECT_NE(complaint(std::string(64, '\0')).find("zeros"), std::string::npos);
}

TEST_F(Models, ListsExternalDataOfAllGraphs) {
  onnx::ModelProto model = small_model("y = Neg(x)");
  const auto point = [](onnx::TensorProto& tensor, const char* location) {
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = tensor.add_external_data();
    entry->set_key("location");
    entry->set_value(location);
  };
  point(*model.mutable_graph()->add_initializer(), "b.bin");
  point(*model.mutable_graph()->add_initializer(), "a.bin");
  point(*model.mutable_graph()->mutable_node(0)->add_attribute()->mutable_g()->add_initializer(), "c.bin");
  point(*model.add_functions()->add_node()->add_attribute()->mutable_t(), "a.bin");
  EXPECT_EQ(external_data_files(model), (std::vector<std::string>{"a.bin", "b.bin", "c.bin"}));
}

TEST_F(Models, ExternalDataOutsideTheFolderIsRefused) {
  for (const char* location : {"../x.bin", "/etc/passwd", ""}) {
    onnx::ModelProto proto = small_model("y = Neg(x)");
    auto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = tensor->add_external_data();
    entry->set_key("location");
    entry->set_value(location);
    Model model = read_model(write("m.onnx", proto.SerializeAsString()));
    EXPECT_THROW(StagedModel(model, folder_ / "out" / "n.onnx"), InputError);
    EXPECT_TRUE(fs::is_empty(folder_ / "out"));
    EXPECT_NO_THROW(StagedModel(model, folder_ / "n.onnx"));
  }
}

}  // namespace
}  // namespace graft::graph
