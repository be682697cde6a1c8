#include <gtest/gtest.h>
#include <onnx-ml.pb.h>

#include <cstring>

#include "expect_error.h"
#include "model_builder.h"
#include "runtime/files.h"
#include "runtime/tensor.h"
#include "runtime/zip.h"
#include "temporary_folder.h"

namespace graft::runtime {
namespace {

using testing::error_of;
using testing::TemporaryFolder;

Tensor counted(DataType type, Shape shape) {
  Tensor tensor = Tensor::zeros(type, std::move(shape));
  for (size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = static_cast<std::byte>(i * 7 + 1);
  for (size_t i = 0; i < tensor.strings.size(); ++i)
    tensor.strings[i] = std::string(i, 'x') + "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xb1";
  return tensor;
}

void expect_same(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.strings, b.strings);
}

/// Writes a .npy file with a header of one's own.
void write_raw_npy(const std::filesystem::path& file, const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY\x01";
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  write_file(file, bytes + header + data);
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}

TEST(TensorFiles, EveryTypeSurvivesNpyAndPb) {
  TemporaryFolder folder;
  for (const DataType type :
       {DataType::float32, DataType::float64, DataType::float16, DataType::int8, DataType::int16,
        DataType::int32, DataType::int64, DataType::uint8, DataType::uint16, DataType::uint32,
        DataType::uint64, DataType::boolean, DataType::complex64, DataType::complex128, DataType::string}) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{2, 0}, Shape{1, 2, 3, 4}}) {
      SCOPED_TRACE(std::string(type_name(type)) + to_string(shape));
      const Tensor tensor = counted(type, shape);
      write_npy(folder / "x.npy", tensor);
      expect_same(read_tensor(folder / "x.npy"), tensor);
      write_pb(folder / "x.pb", tensor);
      expect_same(read_tensor(folder / "x.pb"), tensor);
    }
  }
}

TEST(TensorFiles, TypesThatNumpyLacksGoIntoPb) {
  TemporaryFolder folder;
  for (const DataType type :
       {DataType::bfloat16, DataType::float8e4m3fn, DataType::float8e5m2, DataType::int4, DataType::uint4}) {
    const Tensor tensor = counted(type, {5});
    write_pb(folder / "x.pb", tensor);
    expect_same(read_tensor(folder / "x.pb"), tensor);
  }
  EXPECT_NE(error_of([&] {
              write_npy(folder / "x.npy", counted(DataType::bfloat16, {5}));
            }).find("numpy has no type for bfloat16"),
            std::string::npos);
}

TEST(TensorFiles, NpzHoldsNamedTensors) {
  TemporaryFolder folder;
  const std::map<std::string, Tensor> tensors = {{"x", counted(DataType::float32, {2, 3})},
                                                 {"ids", counted(DataType::int64, {4})}};
  write_npz(folder / "two.npz", tensors);
  const auto read = read_npz(folder / "two.npz");
  ASSERT_EQ(read.size(), 2u);
  expect_same(read.at("x"), tensors.at("x"));
  expect_same(read.at("ids"), tensors.at("ids"));
  EXPECT_NE(error_of([&] { read_tensor(folder / "two.npz"); }).find("holds 2 arrays where one is wanted"),
            std::string::npos);
  write_npz(folder / "one.npz", {{"x", tensors.at("x")}});
  expect_same(read_tensor(folder / "one.npz"), tensors.at("x"));
}

TEST(TensorFiles, NpyInFortranOrderAndBigEndian) {
  TemporaryFolder folder;
  write_raw_npy(folder / "f.npy", "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n",
                bytes_of({1, 4, 2, 5, 3, 6}));
  expect_same(read_tensor(folder / "f.npy"), testing::floats({1, 2, 3, 4, 5, 6}, {2, 3}));
  std::string big = bytes_of({1, 2});
  for (size_t i = 0; i < big.size(); i += 4)
    std::reverse(big.begin() + static_cast<long>(i), big.begin() + static_cast<long>(i) + 4);
  write_raw_npy(folder / "b.npy", "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", big);
  expect_same(read_tensor(folder / "b.npy"), testing::floats({1, 2}, {2}));
}

TEST(TensorFiles, PbWithTypedFields) {
  TemporaryFolder folder;
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::FLOAT16);
  proto.add_dims(2);
  proto.add_int32_data(0x3c00);
  proto.add_int32_data(0xc000);
  write_file(folder / "h.pb", proto.SerializeAsString());
  const Tensor half = read_tensor(folder / "h.pb");
  EXPECT_EQ(element_as_double(half, 0), 1);
  EXPECT_EQ(element_as_double(half, 1), -2);
  proto.add_int32_data(0);
  write_file(folder / "h.pb", proto.SerializeAsString());
  EXPECT_NE(error_of([&] { read_tensor(folder / "h.pb"); }).find("does not match its shape"),
            std::string::npos);
}

TEST(TensorFiles, BadFilesAreNamedWithTheCause) {
  TemporaryFolder folder;
  const auto complaint = [&](const std::string& name) {
    const std::string text = error_of([&] { read_tensor(folder / name); });
    const std::string prefix = (folder / name).string() + ": ";
    EXPECT_TRUE(text.starts_with(prefix)) << text;
    return text.substr(std::min(prefix.size(), text.size()));
  };
  EXPECT_EQ(complaint("none.npy"), "cannot be read: No such file or directory");
  write_file(folder / "text.npy", "hello, this is no array");
  EXPECT_EQ(complaint("text.npy"), "not a .npy file");
  write_file(folder / "x.csv", "1,2");
  EXPECT_EQ(complaint("x.csv"), "not a tensor file (.npy, .npz and .pb are)");
  write_raw_npy(folder / "short.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n",
                bytes_of({1, 2}));
  EXPECT_EQ(complaint("short.npy"), "the file is cut short");
  write_raw_npy(folder / "objects.npy", "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }\n", "xxx");
  EXPECT_EQ(complaint("objects.npy"), "its elements are of type '|O', which is not supported");
  write_raw_npy(folder / "records.npy",
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }\n", "xxx");
  EXPECT_EQ(complaint("records.npy"), "it holds records, not plain elements");
  write_raw_npy(folder / "huge.npy",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }\n", "");
  EXPECT_EQ(complaint("huge.npy"), "its header has an impossible shape");
  write_file(folder / "x.pb", "\xff\xff\xff\xff");
  EXPECT_EQ(complaint("x.pb"), "not a TensorProto");
  write_file(folder / "x.npz", "PK, but no archive");
  EXPECT_EQ(complaint("x.npz"), "cannot be read: it is not a zip archive");
  write_npz(folder / "cut.npz", {{"x", counted(DataType::float32, {100})}});
  write_file(folder / "cut.npz", read_file(folder / "cut.npz").substr(0, 200));
  EXPECT_EQ(complaint("cut.npz"), "cannot be read: the archive is cut short: its directory is missing");
  write_npz(folder / "flipped.npz", {{"x", counted(DataType::float32, {100})}});
  std::string flipped = read_file(folder / "flipped.npz");
  flipped[200] = static_cast<char>(flipped[200] ^ 1);
  write_file(folder / "flipped.npz", flipped);
  EXPECT_EQ(complaint("flipped.npz"), "cannot be read: member x.npy is damaged (its CRC differs)");
}

TEST(TensorFiles, NoCutOfANpzCrashes) {
  TemporaryFolder folder;
  write_npz(folder / "x.npz", {{"x", counted(DataType::float32, {4})}});
  const std::string whole = read_file(folder / "x.npz");
  for (size_t size = 0; size < whole.size(); ++size) {
    write_file(folder / "cut.npz", whole.substr(0, size));
    EXPECT_NE(error_of([&] { read_npz(folder / "cut.npz"); }), "no error") << size;
  }
}

}  // namespace
}  // namespace graft::runtime
