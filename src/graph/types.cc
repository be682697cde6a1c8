#include "graph/types.h"

#include <algorithm>

namespace graft::graph {

std::optional<std::vector<Dim>> broadcast(std::span<const Type* const> types) {
  size_t rank = 0;
  for (const Type* type : types) {
    if (!type->dims) return {};
    rank = std::max(rank, type->dims->size());
  }
  std::vector<Dim> dims(rank, 1);
  for (const Type* type : types) {
    const std::vector<Dim>& own = *type->dims;
    for (size_t at = 0; at < own.size(); ++at) {
      Dim& dim = dims[rank - own.size() + at];
      const Dim other = own[at];
      if (dim == other || other == 1) continue;
      if (dim == 1 || other >= 0) {
        // A known size other than 1 wins over an unknown one: that must be the same or 1.
        dim = other;
      } else if (dim < 0) {
        dim = unknown;
      }
    }
  }
  return dims;
}

Type common(const Type& one, const Type& other) {
  Type both;
  if (one.type == other.type) both.type = one.type;
  if (one.dims && other.dims && one.dims->size() == other.dims->size()) {
    both.dims = one.dims;
    for (size_t at = 0; at < both.dims->size(); ++at) {
      if ((*one.dims)[at] != (*other.dims)[at]) (*both.dims)[at] = unknown;
    }
  }
  return both;
}

Dim Symbols::number(const std::string& name) {
  const auto place = std::find(names_.begin(), names_.end(), name);
  if (place == names_.end()) {
    names_.push_back(name);
    return -1 - static_cast<Dim>(names_.size());
  }
  return -2 - static_cast<Dim>(place - names_.begin());
}

Type Symbols::read(const onnx::TypeProto& type) {
  Type read;
  if (!type.has_tensor_type()) return read;
  read.type = static_cast<DataType>(type.tensor_type().elem_type());
  if (!type.tensor_type().has_shape()) return read;
  read.dims.emplace();
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      read.dims->push_back(dim.dim_value());
    } else if (dim.has_dim_param() && !dim.dim_param().empty()) {
      read.dims->push_back(number(dim.dim_param()));
    } else {
      read.dims->push_back(unknown);
    }
  }
  return read;
}

void Symbols::write(const Type& type, onnx::TypeProto& declared) const {
  auto* tensor = declared.mutable_tensor_type();
  tensor->set_elem_type(static_cast<int32_t>(type.type));
  if (!type.dims) return;
  auto* shape = tensor->mutable_shape();
  for (const Dim dim : *type.dims) {
    auto* added = shape->add_dim();
    if (dim >= 0) added->set_dim_value(dim);
    if (dim < unknown) added->set_dim_param(name(dim));
  }
}

}  // namespace graft::graph
