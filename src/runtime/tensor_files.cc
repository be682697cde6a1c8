#include <fmt/format.h>
#include <onnx-ml.pb.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "error.h"
#include "runtime/files.h"
#include "runtime/tensor.h"
#include "runtime/tensor_proto.h"
#include "runtime/zip.h"

namespace graft::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "the files hold little-endian numbers");

constexpr std::string_view npy_magic = "\x93NUMPY";

/// Holds what a .npy header says: numpy's type text, the order and the shape.
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
  size_t data_offset = 0;
};

[[noreturn]] void refuse(const std::string& what) { throw std::runtime_error(what); }

/// Finds what follows `'key':` in the Python dictionary of the header.
std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t found = header.find(fmt::format("'{}':", key));
  if (found == std::string_view::npos) refuse(fmt::format("its header lacks {}", key));
  std::string_view value = header.substr(found + key.size() + 3);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  return value;
}

Shape parse_shape(std::string_view text) {
  if (text.empty() || text.front() != '(') refuse("its header has no shape");
  Shape shape;
  int64_t size = -1;
  double elements = 1;
  for (const char letter : text.substr(1)) {
    if (letter >= '0' && letter <= '9') {
      if (size > 100'000'000'000'000) refuse("its header has an impossible shape");
      size = std::max<int64_t>(size, 0) * 10 + (letter - '0');
    } else if (letter == ',' || letter == ')') {
      if (size >= 0) {
        shape.push_back(size);
        elements *= static_cast<double>(size);
      }
      size = -1;
      if (letter == ')') {
        if (elements > 1e15) refuse("its header has an impossible shape");
        return shape;
      }
    } else if (letter != ' ' && letter != 'L') {
      break;
    }
  }
  refuse("its header has no shape");
}

NpyHeader parse_npy_header(const std::string& bytes) {
  if (!bytes.starts_with(npy_magic) || bytes.size() < 10) refuse("not a .npy file");
  const size_t length_size = bytes[6] == 1 ? 2 : 4;
  const size_t start = 8 + length_size;
  uint32_t length = 0;
  if (bytes.size() < start) refuse("the file is cut short");
  std::memcpy(&length, bytes.data() + 8, length_size);
  if (bytes.size() - start < length) refuse("the file is cut short");
  const std::string_view text = std::string_view(bytes).substr(start, length);
  NpyHeader header;
  const std::string_view descr = value_of(text, "descr");
  if (descr.starts_with("'")) header.descr = descr.substr(1, descr.find('\'', 1) - 1);
  header.fortran_order = value_of(text, "fortran_order").starts_with("True");
  header.shape = parse_shape(value_of(text, "shape"));
  header.data_offset = start + length;
  if (header.descr.size() < 2) refuse("it holds records, not plain elements");
  return header;
}

constexpr std::pair<std::string_view, DataType> numpy_types[] = {
    {"f2", DataType::float16},   {"f4", DataType::float32},    {"f8", DataType::float64},
    {"i1", DataType::int8},      {"i2", DataType::int16},      {"i4", DataType::int32},
    {"i8", DataType::int64},     {"u1", DataType::uint8},      {"u2", DataType::uint16},
    {"u4", DataType::uint32},    {"u8", DataType::uint64},     {"b1", DataType::boolean},
    {"c8", DataType::complex64}, {"c16", DataType::complex128}};

void append_utf8(std::string& text, uint32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xc0 | point >> 6);
    text += static_cast<char>(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    text += static_cast<char>(0xe0 | point >> 12);
    text += static_cast<char>(0x80 | (point >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (point & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | point >> 18);
    text += static_cast<char>(0x80 | (point >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (point >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (point & 0x3f));
  }
}

/// Reads one fixed-width numpy string; the NULs at its end are padding.
std::string read_numpy_string(const char* data, size_t width, bool wide) {
  std::string text;
  if (!wide) {
    text.assign(data, width);
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
  std::vector<uint32_t> points(width);
  std::memcpy(points.data(), data, width * 4);
  while (!points.empty() && points.back() == 0) points.pop_back();
  for (const uint32_t point : points) append_utf8(text, point);
  return text;
}

/// Splits UTF-8 into code points; bytes that are none stand for themselves.
std::vector<uint32_t> code_points(const std::string& text) {
  std::vector<uint32_t> points;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    uint32_t point = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (size_t k = 1; k < length && i + k < text.size(); ++k)
      point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fu);
    points.push_back(point);
    i += length;
  }
  return points;
}

/// Gives, for each element in row-major order, its place in column-major order.
std::vector<size_t> column_major_places(const Shape& shape) {
  std::vector<size_t> places(element_count(shape));
  std::vector<size_t> index(shape.size(), 0);
  for (size_t& place : places) {
    size_t stride = 1;
    place = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      place += index[axis] * stride;
      stride *= static_cast<size_t>(shape[axis]);
    }
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < static_cast<size_t>(shape[axis])) break;
      index[axis] = 0;
    }
  }
  return places;
}

Tensor parse_npy(const std::string& bytes) {
  const NpyHeader header = parse_npy_header(bytes);
  const char order = header.descr[0];
  const std::string kind = header.descr.substr(1);
  const bool is_text = kind[0] == 'U' || kind[0] == 'S';
  Tensor tensor;
  tensor.shape = header.shape;
  size_t width = 0;
  if (is_text) {
    tensor.type = DataType::string;
    width = std::stoul(kind.substr(1)) * (kind[0] == 'U' ? 4 : 1);
  } else {
    for (const auto& [name, type] : numpy_types) {
      if (kind == name) tensor.type = type;
    }
    if (tensor.type == DataType::undefined)
      refuse(fmt::format("its elements are of type '{}', which is not supported", header.descr));
    width = element_size(tensor.type);
  }
  const size_t count = tensor.count();
  if ((bytes.size() - header.data_offset) / std::max<size_t>(width, 1) < count)
    refuse("the file is cut short");
  if (order == '>' && is_text) refuse("it holds big-endian text");
  const std::vector<size_t> places =
      header.fortran_order ? column_major_places(tensor.shape) : std::vector<size_t>{};
  const char* data = bytes.data() + header.data_offset;
  const auto element = [&](size_t i) { return data + (places.empty() ? i : places[i]) * width; };
  if (is_text) {
    const bool wide = kind[0] == 'U';
    for (size_t i = 0; i < count; ++i)
      tensor.strings.push_back(read_numpy_string(element(i), wide ? width / 4 : width, wide));
    return tensor;
  }
  tensor.bytes.resize(count * width);
  const bool is_complex = tensor.type == DataType::complex64 || tensor.type == DataType::complex128;
  const size_t part = is_complex ? width / 2 : width;
  for (size_t i = 0; i < count; ++i) {
    std::byte* to = tensor.bytes.data() + i * width;
    std::memcpy(to, element(i), width);
    for (size_t at = 0; order == '>' && at < width; at += part) std::reverse(to + at, to + at + part);
  }
  return tensor;
}

std::string npy_bytes(const Tensor& tensor) {
  std::string descr;
  std::string data;
  if (tensor.type == DataType::string) {
    std::vector<std::vector<uint32_t>> texts;
    size_t width = 1;
    for (const std::string& text : tensor.strings) {
      texts.push_back(code_points(text));
      width = std::max(width, texts.back().size());
    }
    for (std::vector<uint32_t>& text : texts) {
      text.resize(width);
      data.append(reinterpret_cast<const char*>(text.data()), width * 4);
    }
    descr = fmt::format("<U{}", width);
  } else {
    for (const auto& [name, type] : numpy_types) {
      if (type == tensor.type) descr = fmt::format("{}{}", element_size(type) == 1 ? '|' : '<', name);
    }
    if (descr.empty())
      refuse(fmt::format("numpy has no type for {}; write a .pb file", type_name(tensor.type)));
    data.assign(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  header.append(63 - (npy_magic.size() + 4 + header.size()) % 64, ' ');  // data start at a multiple of 64
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string bytes(npy_magic);
  bytes += '\x01';
  bytes += '\x00';
  bytes.append(reinterpret_cast<const char*>(&length), 2);
  return bytes + header + data;
}

Tensor parse_pb(const std::string& bytes) {
  onnx::TensorProto proto;
  if (bytes.empty()) refuse("the file is empty");
  if (!proto.ParseFromString(bytes) || !proto.has_data_type()) refuse("not a TensorProto");
  return tensor_from_proto(proto);
}

/// Runs `read` and puts the file's name before what it complains about.
template <class Read> auto naming(const std::filesystem::path& file, Read read) {
  try {
    return read();
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace

Tensor read_tensor(const std::filesystem::path& file) {
  const std::string kind = file.extension().string();
  if (kind == ".npz") {
    auto tensors = read_npz(file);
    if (tensors.size() != 1)
      throw InputError(fmt::format("{}: holds {} arrays where one is wanted", file.string(), tensors.size()));
    return std::move(tensors.begin()->second);
  }
  const std::string bytes = read_file(file);
  if (kind == ".npy" || bytes.starts_with(npy_magic)) return naming(file, [&] { return parse_npy(bytes); });
  if (kind == ".pb") return naming(file, [&] { return parse_pb(bytes); });
  throw InputError(fmt::format("{}: not a tensor file (.npy, .npz and .pb are)", file.string()));
}

std::map<std::string, Tensor> read_npz(const std::filesystem::path& file) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [member, bytes] : read_zip(file)) {
    const std::string name = member.ends_with(".npy") ? member.substr(0, member.size() - 4) : member;
    try {
      tensors[name] = parse_npy(bytes);
    } catch (const std::exception& error) {
      throw InputError(fmt::format("{}: array {}: {}", file.string(), name, error.what()));
    }
  }
  return tensors;
}

void write_npy(const std::filesystem::path& file, const Tensor& tensor) {
  write_file(file, naming(file, [&] { return npy_bytes(tensor); }));
}

void write_npz(const std::filesystem::path& file, const std::map<std::string, Tensor>& tensors) {
  ZipMembers members;
  for (const auto& entry : tensors) {
    members.emplace_back(entry.first + ".npy", naming(file, [&] { return npy_bytes(entry.second); }));
  }
  write_zip(file, members);
}

void write_pb(const std::filesystem::path& file, const Tensor& tensor) {
  onnx::TensorProto proto;
  tensor_to_proto(tensor, proto);
  write_file(file, proto.SerializeAsString());
}

}  // namespace graft::runtime
