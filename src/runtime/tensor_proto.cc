#include "runtime/tensor_proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace graft::runtime {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::runtime_error(what); }

template <class T, class Field> void copy_field(Tensor& tensor, const Field& field) {
  for (int i = 0; i < field.size(); ++i)
    tensor.values<T>()[static_cast<size_t>(i)] = static_cast<T>(field.Get(i));
}

/// Reads the fields that hold elements where raw_data is not used; see onnx.proto, TensorProto.
void copy_typed_field(Tensor& tensor, const onnx::TensorProto& proto) {
  const auto need = [&](int size, size_t per_element = 1) {
    if (static_cast<size_t>(size) != tensor.count() * per_element)
      refuse("the number of its elements does not match its shape");
  };
  switch (tensor.type) {
    case DataType::float32:
      need(proto.float_data_size());
      return copy_field<float>(tensor, proto.float_data());
    case DataType::complex64:
      need(proto.float_data_size(), 2);
      return copy_field<float>(tensor, proto.float_data());
    case DataType::float64:
      need(proto.double_data_size());
      return copy_field<double>(tensor, proto.double_data());
    case DataType::complex128:
      need(proto.double_data_size(), 2);
      return copy_field<double>(tensor, proto.double_data());
    case DataType::int64:
      need(proto.int64_data_size());
      return copy_field<int64_t>(tensor, proto.int64_data());
    case DataType::uint64:
      need(proto.uint64_data_size());
      return copy_field<uint64_t>(tensor, proto.uint64_data());
    case DataType::uint32:
      need(proto.uint64_data_size());
      return copy_field<uint32_t>(tensor, proto.uint64_data());
    default:
      break;
  }
  const auto& data = proto.int32_data();
  if (element_size(tensor.type) == 0)
    refuse(fmt::format("elements of type {} are not supported", type_name(tensor.type)));
  need(data.size());
  switch (element_size(tensor.type)) {
    case 1:
      return copy_field<uint8_t>(tensor, data);
    case 2:
      return copy_field<uint16_t>(tensor, data);
    default:
      return copy_field<int32_t>(tensor, data);
  }
}

/// Reads the part of a file that external_data names.
std::string external_bytes(const onnx::TensorProto& proto, const std::filesystem::path& folder) {
  std::string location;
  int64_t offset = 0, length = -1;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = std::stoll(entry.value());
    if (entry.key() == "length") length = std::stoll(entry.value());
  }
  if (folder.empty() || location.empty()) refuse("its data are in another file");
  std::ifstream stream(folder / location, std::ios::binary | std::ios::ate);
  if (!stream) refuse(fmt::format("its data file {} cannot be read", location));
  const auto size = static_cast<int64_t>(stream.tellg());
  if (length < 0) length = size - offset;
  if (offset < 0 || length < 0 || offset > size || length > size - offset)
    refuse(fmt::format("its data file {} is too short", location));
  std::string bytes(static_cast<size_t>(length), '\0');
  stream.seekg(offset);
  stream.read(bytes.data(), length);
  return bytes;
}

}  // namespace

Tensor tensor_from_proto(const onnx::TensorProto& proto, const std::filesystem::path& folder) {
  const bool is_external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  const std::string external = is_external ? external_bytes(proto, folder) : "";
  const std::string& raw = is_external ? external : proto.raw_data();
  const auto type = static_cast<DataType>(proto.data_type());
  if (type_name(type) == "undefined")
    refuse(fmt::format("its element type {} is not known", proto.data_type()));
  Shape shape(proto.dims().begin(), proto.dims().end());
  double elements = 1;
  for (const int64_t size : shape) elements *= static_cast<double>(size);
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }))
    refuse("it has a negative size");
  if (elements > static_cast<double>(std::max<size_t>(proto.ByteSizeLong(), raw.size())) * 2)
    refuse("the number of its elements does not match its shape");
  Tensor tensor = Tensor::zeros(type, std::move(shape));
  if (type == DataType::string) {
    if (static_cast<size_t>(proto.string_data_size()) != tensor.count())
      refuse("the number of its elements does not match its shape");
    tensor.strings.assign(proto.string_data().begin(), proto.string_data().end());
  } else if (is_external || proto.has_raw_data()) {
    if (raw.size() != tensor.bytes.size()) refuse("the number of its elements does not match its shape");
    if (!tensor.bytes.empty()) std::memcpy(tensor.bytes.data(), raw.data(), tensor.bytes.size());
  } else {
    copy_typed_field(tensor, proto);
  }
  return tensor;
}

void tensor_to_proto(const Tensor& tensor, onnx::TensorProto& proto) {
  proto.clear_float_data();
  proto.clear_int32_data();
  proto.clear_string_data();
  proto.clear_int64_data();
  proto.clear_double_data();
  proto.clear_uint64_data();
  proto.clear_raw_data();
  proto.clear_external_data();
  proto.clear_data_location();
  proto.clear_dims();
  proto.set_data_type(static_cast<int32_t>(tensor.type));
  for (const int64_t size : tensor.shape) proto.add_dims(size);
  if (tensor.type == DataType::string) {
    for (const std::string& text : tensor.strings) proto.add_string_data(text);
  } else {
    proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  }
}

}  // namespace graft::runtime
