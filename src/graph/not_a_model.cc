#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "graph/model.h"

namespace graft::graph {
namespace {

struct Opening {
  std::string_view bytes;
  std::string_view what;
};

constexpr std::array<Opening, 16> openings = {{
    {"version https://git-lfs",
     "this is a Git LFS pointer, not the model itself: fetch it with `git lfs pull`"},
    {{"PK\x03\x04", 4}, "this is a ZIP archive (a PyTorch checkpoint or a packed model?), not an ONNX model"},
    {{"\x1f\x8b", 2}, "this is a gzip archive, not an ONNX model: unpack it first"},
    {{"\xfd"
      "7zXZ",
      5},
     "this is an xz archive, not an ONNX model: unpack it first"},
    {{"BZh", 3}, "this is a bzip2 archive, not an ONNX model: unpack it first"},
    {{"\x28\xb5\x2f\xfd", 4}, "this is a zstd archive, not an ONNX model: unpack it first"},
    {{"\x89HDF\r\n", 6}, "this is an HDF5 file (Keras?), not an ONNX model"},
    {{"\x93NUMPY", 6}, "this is a NumPy array, not an ONNX model"},
    {{"\x7f"
      "ELF",
      4},
     "this is a program or a shared library, not an ONNX model"},
    {{"\x80\x02", 2}, "this is a Python pickle (a PyTorch checkpoint?), not an ONNX model"},
    {{"\x80\x04", 2}, "this is a Python pickle (a PyTorch checkpoint?), not an ONNX model"},
    {{"GGUF", 4}, "this is a GGUF file, not an ONNX model"},
    {{"%PDF", 4}, "this is a PDF document, not an ONNX model"},
    {{"\x89PNG", 4}, "this is a picture, not an ONNX model"},
    {{"<!DOCTYPE", 9}, "this is an HTML page (a download that went wrong?), not an ONNX model"},
    {{"<html", 5}, "this is an HTML page (a download that went wrong?), not an ONNX model"},
}};

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f';
  });
}

bool read_varint(const char*& at, const char* end, uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at == end) return false;
    const auto byte = static_cast<unsigned char>(*at++);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Walks the fields of a ModelProto and says where the bytes end too early; empty when that is not what is
/// wrong.
std::string explain_cut(const char* bytes, size_t size) {
  static constexpr std::array<std::string_view, 26> fields = {"",
                                                              "ir_version",
                                                              "producer_name",
                                                              "producer_version",
                                                              "domain",
                                                              "model_version",
                                                              "doc_string",
                                                              "graph",
                                                              "opset_import",
                                                              "",
                                                              "",
                                                              "",
                                                              "",
                                                              "",
                                                              "metadata_props",
                                                              "",
                                                              "",
                                                              "",
                                                              "",
                                                              "",
                                                              "training_info",
                                                              "",
                                                              "",
                                                              "",
                                                              "",
                                                              "functions"};
  const char* at = bytes;
  const char* end = bytes + size;
  bool known = false;
  while (at < end) {
    uint64_t tag = 0, length = 0;
    if (!read_varint(at, end, tag)) return known ? "the file is cut short" : "";
    const uint64_t field = tag >> 3;
    if (field == 0 || field >= fields.size() || fields[field].empty()) return "";
    switch (tag & 7) {
      case 0:
        if (field != 1 && field != 5) return "";
        if (!read_varint(at, end, length)) return "the file is cut short";
        break;
      case 2:
        if (field == 1 || field == 5) return "";
        if (!read_varint(at, end, length)) return "the file is cut short";
        if (length > static_cast<uint64_t>(end - at))
          return fmt::format("the file is cut short: its field `{}` should have {} bytes, {} are there",
                             fields[field], length, end - at);
        at += length;
        break;
      default:
        return "";
    }
    known = true;
  }
  return "";
}

}  // namespace

std::string explain_not_a_model(const char* bytes, size_t size) {
  const std::string_view all(bytes, size);
  for (const Opening& opening : openings) {
    if (all.substr(0, opening.bytes.size()) == opening.bytes) return std::string(opening.what);
  }
  const std::string_view start = all.substr(0, std::min<size_t>(size, 4096));
  if (is_text(start)) {
    const size_t first = start.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && start[first] == '<')
      return "this is an HTML or XML text, not an ONNX model";
    if (first != std::string_view::npos && start[first] == '{')
      return "this is a JSON text, not an ONNX model";
    return "this is a text, not an ONNX model";
  }
  if (std::all_of(start.begin(), start.end(), [](char c) { return c == 0; }))
    return "the file holds only zeros, not an ONNX model";
  return explain_cut(bytes, size);
}

}  // namespace graft::graph
