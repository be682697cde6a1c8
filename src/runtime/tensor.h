#pragma once
/// Lets you hold a tensor of any ONNX type, look at its elements as double, and keep it in .npy, .npz and .pb
/// files.
///
///   Tensor x = Tensor::zeros(DataType::float32, {1, 3, 32, 32});
///   x.values<float>()[0] = 1.5f;
///   write_npy("x.npy", x);
///   Tensor y = read_tensor("y.pb");
///   double first = element_as_double(y, 0);
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graft::runtime {

/// Names the element types; the numbers are those of ONNX TensorProto.DataType, which ORT's C API shares.
enum class DataType : int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
};

/// Gives the name that ORT writes inside `tensor(...)`: "float", "double", "int64", ...
std::string_view type_name(DataType type);

/// Finds the type of such a name; undefined when there is none.
DataType type_from_name(std::string_view name);

/// Gives the bytes of one element; 0 for strings, undefined types and the packed 4-bit integers.
size_t element_size(DataType type);

/// Tells whether the type is float, double, float16, bfloat16 or an 8-bit float.
bool is_floating(DataType type);

using Shape = std::vector<int64_t>;

/// Multiplies the sizes; 1 for a scalar.
size_t element_count(const Shape& shape);

/// Writes a shape as "[1,3,32,32]".
std::string to_string(const Shape& shape);

/// Holds a dense tensor in row-major order. Strings live in `strings`, everything else in `bytes`.
struct Tensor {
  DataType type = DataType::undefined;
  Shape shape;
  std::vector<std::byte> bytes;
  std::vector<std::string> strings;

  static Tensor zeros(DataType type, Shape shape);

  size_t count() const { return element_count(shape); }

  /// Views the elements as T, which must have the element's size.
  template <class T> std::span<T> values() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T> std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// Converts between float and the two 16-bit formats; to 16 bits by rounding to nearest, ties to even.
float float16_to_float(uint16_t bits);
uint16_t float_to_float16(float value);
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);

/// Reads element `index` as double (exact but for 64-bit integers beyond 2^53); bool gives 0 or 1, a string
/// NaN.
double element_as_double(const Tensor& tensor, size_t index);

/// Stores `value` into element `index`, rounded to the tensor's type.
void set_element(Tensor& tensor, size_t index, double value);

/// Converts every element to another type; both types must be numeric.
Tensor convert(const Tensor& tensor, DataType type);

/// Reads a .npy file, a TensorProto .pb file, or a .npz file that holds exactly one array.
/// InputError names the file and what is wrong with it.
Tensor read_tensor(const std::filesystem::path& file);

/// Reads all arrays of a .npz file by name.
std::map<std::string, Tensor> read_npz(const std::filesystem::path& file);

void write_npy(const std::filesystem::path& file, const Tensor& tensor);
void write_npz(const std::filesystem::path& file, const std::map<std::string, Tensor>& tensors);
void write_pb(const std::filesystem::path& file, const Tensor& tensor);

}  // namespace graft::runtime
