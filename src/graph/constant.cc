#include "graph/constant.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "graph/names.h"

namespace graft::graph {
namespace {

/// Identity and Cast nodes that are looked through; a longer line is no constant.
constexpr int most_steps = 64;

template <class T> std::optional<double> read_raw(const std::string& bytes, int64_t position) {
  if (static_cast<size_t>(position + 1) * sizeof(T) > bytes.size()) return {};
  T element;
  std::memcpy(&element, bytes.data() + static_cast<size_t>(position) * sizeof(T), sizeof(T));
  return static_cast<double>(element);
}

std::optional<double> read_raw_element(const onnx::TensorProto& tensor, int64_t position) {
  const std::string& bytes = tensor.raw_data();
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      return read_raw<float>(bytes, position);
    case onnx::TensorProto::DOUBLE:
      return read_raw<double>(bytes, position);
    case onnx::TensorProto::INT8:
      return read_raw<int8_t>(bytes, position);
    case onnx::TensorProto::INT16:
      return read_raw<int16_t>(bytes, position);
    case onnx::TensorProto::INT32:
      return read_raw<int32_t>(bytes, position);
    case onnx::TensorProto::INT64:
      return read_raw<int64_t>(bytes, position);
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::BOOL:
      return read_raw<uint8_t>(bytes, position);
    case onnx::TensorProto::UINT16:
      return read_raw<uint16_t>(bytes, position);
    case onnx::TensorProto::UINT32:
      return read_raw<uint32_t>(bytes, position);
    case onnx::TensorProto::UINT64:
      return read_raw<uint64_t>(bytes, position);
    case onnx::TensorProto::FLOAT16: {
      const auto bits = read_raw<uint16_t>(bytes, position);
      if (!bits) return {};
      return runtime::float16_to_float(static_cast<uint16_t>(*bits));
    }
    case onnx::TensorProto::BFLOAT16: {
      const auto bits = read_raw<uint16_t>(bytes, position);
      if (!bits) return {};
      return runtime::bfloat16_to_float(static_cast<uint16_t>(*bits));
    }
    default:
      return {};
  }
}

template <class List> std::optional<double> read_list(const List& list, int64_t position) {
  if (position >= list.size()) return {};
  return static_cast<double>(list.Get(static_cast<int>(position)));
}

Constant scalar_constant(DataType type, double value) {
  Constant constant;
  constant.type = type;
  constant.value = value;
  constant.readable = true;
  return constant;
}

Constant tensor_constant(const onnx::TensorProto& tensor) {
  Constant constant;
  constant.type = static_cast<DataType>(tensor.data_type());
  constant.dims.assign(tensor.dims().begin(), tensor.dims().end());
  constant.count = count_elements(tensor);
  constant.tensor = &tensor;
  if (constant.count > 0) {
    if (const auto first = read_element(tensor, 0)) {
      constant.value = *first;
      constant.readable = true;
    }
  }
  return constant;
}

}  // namespace

int64_t count_elements(const onnx::TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0 || (dim > 0 && count > std::numeric_limits<int64_t>::max() / dim)) return -1;
    count *= dim;
  }
  return count;
}

std::optional<double> read_element(const onnx::TensorProto& tensor, int64_t position) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL || position < 0) return {};
  if (tensor.has_raw_data()) return read_raw_element(tensor, position);
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      return read_list(tensor.float_data(), position);
    case onnx::TensorProto::DOUBLE:
      return read_list(tensor.double_data(), position);
    case onnx::TensorProto::INT64:
      return read_list(tensor.int64_data(), position);
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64:
      return read_list(tensor.uint64_data(), position);
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::BOOL:
      return read_list(tensor.int32_data(), position);
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16: {
      if (position >= tensor.int32_data_size()) return {};
      const auto bits = static_cast<uint16_t>(tensor.int32_data(static_cast<int>(position)));
      return tensor.data_type() == onnx::TensorProto::FLOAT16 ? runtime::float16_to_float(bits)
                                                              : runtime::bfloat16_to_float(bits);
    }
    default:
      return {};
  }
}

double round_to(DataType type, double value) {
  switch (type) {
    case DataType::float32:
      return static_cast<float>(value);
    case DataType::float16:
    case DataType::bfloat16: {
      // Through float would round twice; a float made odd where the double lies between two keeps the tie
      // apart.
      auto narrowed = static_cast<float>(value);
      if (std::isfinite(narrowed) && static_cast<double>(narrowed) != value) {
        uint32_t bits;
        std::memcpy(&bits, &narrowed, sizeof bits);
        if (std::abs(static_cast<double>(narrowed)) > std::abs(value)) --bits;
        bits |= 1;
        std::memcpy(&narrowed, &bits, sizeof bits);
      }
      return type == DataType::float16 ? runtime::float16_to_float(runtime::float_to_float16(narrowed))
                                       : runtime::bfloat16_to_float(runtime::float_to_bfloat16(narrowed));
    }
    default:
      return value;
  }
}

ValueId Constants::behind_identity(ValueId value) const {
  for (int step = 0; step < most_steps && value != none; ++step) {
    const NodeId producer = index_.value(value).producer;
    if (producer == none || index_.proto(producer).op_type() != "Identity" ||
        !is_default_domain(index_.proto(producer).domain()))
      break;
    if (index_.input(producer, 0) == none) break;
    value = index_.input(producer, 0);
  }
  return value;
}

const Constant* Constants::find(ValueId value) const {
  if (value == none) return nullptr;
  const auto at = static_cast<size_t>(value);
  if (at >= state_.size()) state_.resize(static_cast<size_t>(index_.value_count()), 0);
  if (state_[at] == 0) {
    std::optional<Constant> constant = read(value);
    state_[at] = constant ? 2 : 1;
    if (constant) known_.emplace(value, std::move(*constant));
  }
  return state_[at] == 2 ? &known_.at(value) : nullptr;
}

std::optional<Constant> Constants::read(ValueId value) const {
  std::vector<NodeId> casts;
  for (int step = 0; step < most_steps; ++step) {
    const Value& at = index_.value(value);
    std::optional<Constant> constant;
    if (at.initializer) {
      constant = read_tensor(*at.initializer);
      constant->overridable = at.overridable;
    } else if (at.producer != none) {
      const onnx::NodeProto& proto = index_.proto(at.producer);
      if (!is_default_domain(proto.domain())) return {};
      const std::string& op = proto.op_type();
      if (op == "Constant") {
        constant = read_node(at.producer);
        if (!constant) return {};
      } else if (op == "Identity" || op == "Cast" || op == "CastLike") {
        if (op != "Identity") casts.push_back(at.producer);
        value = index_.input(at.producer, 0);
        if (value == none) return {};
        continue;
      }
    }
    if (!constant) return {};
    for (auto cast = casts.rbegin(); cast != casts.rend(); ++cast) {
      const onnx::NodeProto& proto = index_.proto(*cast);
      DataType type = DataType::undefined;
      if (proto.op_type() == "Cast") {
        for (const auto& attribute : proto.attribute()) {
          if (attribute.name() == "to") type = static_cast<DataType>(attribute.i());
        }
      }
      // A cast to an integer would truncate; such constants are not looked at.
      if (type != DataType::undefined && !runtime::is_floating(type)) return {};
      constant->value = round_to(type, constant->value);
      constant->type = type;
      constant->tensor = constant->count == 1 ? nullptr : constant->tensor;
    }
    return constant;
  }
  return {};
}

/// Reads a tensor's constant; of external data one number at most, never weights.
Constant Constants::read_tensor(const onnx::TensorProto& tensor) const {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL || count_elements(tensor) != 1 || folder_.empty())
    return tensor_constant(tensor);
  const size_t size = runtime::element_size(static_cast<DataType>(tensor.data_type()));
  std::filesystem::path location;
  uint64_t offset = 0;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = std::filesystem::path(entry.value()).lexically_normal();
    if (entry.key() == "offset")
      std::from_chars(entry.value().data(), entry.value().data() + entry.value().size(), offset);
  }
  if (size == 0 || location.empty() || location.is_absolute() || *location.begin() == "..")
    return tensor_constant(tensor);
  std::ifstream file(folder_ / location, std::ios::binary);
  std::string bytes(size, '\0');
  if (!file.seekg(static_cast<std::streamoff>(offset)) ||
      !file.read(bytes.data(), static_cast<std::streamsize>(size)))
    return tensor_constant(tensor);
  onnx::TensorProto& copy = loaded_.emplace_back();
  copy.set_data_type(tensor.data_type());
  *copy.mutable_dims() = tensor.dims();
  copy.set_raw_data(std::move(bytes));
  return tensor_constant(copy);
}

std::optional<Constant> Constants::read_node(NodeId node) const {
  for (const auto& attribute : index_.proto(node).attribute()) {
    const std::string& name = attribute.name();
    if (!attribute.ref_attr_name().empty()) {
      Constant constant;
      constant.attribute = attribute.ref_attr_name();
      constant.type = name == "value_float" ? DataType::float32
                      : name == "value_int" ? DataType::int64
                                            : DataType::undefined;
      return constant;
    }
    if (name == "value") return read_tensor(attribute.t());
    if (name == "value_float") return scalar_constant(DataType::float32, attribute.f());
    if (name == "value_int") return scalar_constant(DataType::int64, static_cast<double>(attribute.i()));
    Constant list;
    if (name == "value_floats") {
      list = scalar_constant(DataType::float32, attribute.floats_size() ? attribute.floats(0) : 0);
      list.count = attribute.floats_size();
    } else if (name == "value_ints") {
      list = scalar_constant(DataType::int64,
                             attribute.ints_size() ? static_cast<double>(attribute.ints(0)) : 0);
      list.count = attribute.ints_size();
    } else {
      list.type = name == "value_string" || name == "value_strings" ? DataType::string : DataType::undefined;
      list.count = name == "value_strings" ? attribute.strings_size() : 1;
      if (name != "value_strings") return list;
    }
    list.dims = {list.count};
    list.readable = list.readable && list.count > 0;
    return list;
  }
  return {};
}

std::optional<std::vector<int64_t>> Constants::integers(ValueId value) const {
  const Constant* constant = find(value);
  if (!constant || constant->type != DataType::int64) return {};
  std::vector<int64_t> numbers;
  if (!constant->tensor) {
    ValueId source = behind_identity(value);
    if (source == none || index_.value(source).producer == none) return {};
    for (const auto& attribute : index_.proto(index_.value(source).producer).attribute()) {
      if (attribute.name() == "value_int") numbers.push_back(attribute.i());
      if (attribute.name() == "value_ints") numbers.assign(attribute.ints().begin(), attribute.ints().end());
    }
    return numbers;
  }
  const onnx::TensorProto& tensor = *constant->tensor;
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return {};
  if (constant->count < 0 || constant->count > 1024) return {};
  if (tensor.has_raw_data()) {
    if (tensor.raw_data().size() != static_cast<size_t>(constant->count) * sizeof(int64_t)) return {};
    numbers.resize(static_cast<size_t>(constant->count));
    if (!numbers.empty()) std::memcpy(numbers.data(), tensor.raw_data().data(), tensor.raw_data().size());
  } else {
    if (tensor.int64_data_size() != constant->count) return {};
    numbers.assign(tensor.int64_data().begin(), tensor.int64_data().end());
  }
  return numbers;
}

std::optional<std::vector<double>> Constants::elements(ValueId value, int64_t most) const {
  const Constant* constant = find(value);
  if (!constant || !constant->readable || constant->count > most) return {};
  std::vector<double> numbers;
  if (constant->count == 1) return std::vector<double>{constant->value};
  if (constant->tensor) {
    for (int64_t position = 0; position < constant->count; ++position) {
      const auto number = read_element(*constant->tensor, position);
      if (!number) return {};
      numbers.push_back(*number);
    }
    return numbers;
  }
  const ValueId source = behind_identity(value);
  if (source == none || index_.value(source).producer == none) return {};
  for (const auto& attribute : index_.proto(index_.value(source).producer).attribute()) {
    if (attribute.name() == "value_floats")
      numbers.assign(attribute.floats().begin(), attribute.floats().end());
    if (attribute.name() == "value_ints") numbers.assign(attribute.ints().begin(), attribute.ints().end());
  }
  if (numbers.size() != static_cast<size_t>(constant->count)) return {};
  return numbers;
}

void Constants::nodes(ValueId value, std::vector<NodeId>& list) const {
  for (int step = 0; step < most_steps && value != none; ++step) {
    const NodeId producer = index_.value(value).producer;
    if (producer == none || index_.value(value).initializer) return;
    list.push_back(producer);
    if (index_.proto(producer).op_type() == "Constant") return;
    value = index_.input(producer, 0);
  }
}

}  // namespace graft::graph
