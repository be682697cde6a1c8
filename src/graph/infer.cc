#include "graph/infer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "graph/names.h"
#include "graph/sort.h"

namespace graft::graph {
namespace {

using Names = std::unordered_set<std::string_view>;

/// Calls deeper than this, and a function's body looked at more often, give unknown types.
constexpr int most_depth = 48;
constexpr int most_calls = 4;

/// Elementwise: the result has the type of the first input and the broadcast shape of all.
const Names elementwise = {"Add",        "Sub",       "Mul",        "Div",   "Mod", "Pow", "Max",
                           "Min",        "Sum",       "Mean",       "And",   "Or",  "Xor", "BitShift",
                           "BitwiseAnd", "BitwiseOr", "BitwiseXor", "PRelu", "Fmod"};

/// Elementwise comparisons: bool.
const Names comparison = {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"};

/// The result has the type and the shape of the first input.
const Names same_as_first = {"Abs",
                             "Acos",
                             "Acosh",
                             "Asin",
                             "Asinh",
                             "Atan",
                             "Atanh",
                             "Ceil",
                             "Celu",
                             "Clip",
                             "Cos",
                             "Cosh",
                             "Elu",
                             "Erf",
                             "Exp",
                             "Floor",
                             "Gelu",
                             "HardSigmoid",
                             "HardSwish",
                             "Hardmax",
                             "Identity",
                             "LeakyRelu",
                             "Log",
                             "LogSoftmax",
                             "Mish",
                             "Neg",
                             "Not",
                             "Reciprocal",
                             "Relu",
                             "Round",
                             "Selu",
                             "Shrink",
                             "Sigmoid",
                             "Sign",
                             "Sin",
                             "Sinh",
                             "Softmax",
                             "Softplus",
                             "Softsign",
                             "Sqrt",
                             "Swish",
                             "Tan",
                             "Tanh",
                             "ThresholdedRelu",
                             "BitwiseNot",
                             "LRN",
                             "LpNormalization",
                             "MeanVarianceNormalization",
                             "CumSum",
                             "Trilu",
                             "Dropout",
                             "BatchNormalization",
                             "InstanceNormalization",
                             "LayerNormalization",
                             "GroupNormalization",
                             "RMSNormalization",
                             "ScatterElements",
                             "ScatterND",
                             "Scatter",
                             "ReverseSequence",
                             "RotaryEmbedding",
                             "Bernoulli",
                             "RandomNormalLike",
                             "RandomUniformLike",
                             "EyeLike"};

/// The result has the type and the rank of the first input, other sizes.
const Names same_rank = {"Conv",       "ConvTranspose", "AveragePool",  "MaxPool", "LpPool",
                         "MaxUnpool",  "Pad",           "Slice",        "Tile",    "Resize",
                         "Upsample",   "DepthToSpace",  "SpaceToDepth", "Concat",  "Split",
                         "DeformConv", "Compress2",     "Crop"};

const Names global_pool = {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"};

const Names reductions = {"ReduceSum", "ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",
                          "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};

/// Only the type is that of the first input.
const Names type_only = {"Compress",
                         "Unique",
                         "Einsum",
                         "RoiAlign",
                         "MaxRoiPool",
                         "GridSample",
                         "Col2Im",
                         "AffineGrid",
                         "DFT",
                         "STFT",
                         "BlackmanWindow",
                         "Det",
                         "CenterCropPad",
                         "NegativeLogLikelihoodLoss",
                         "SoftmaxCrossEntropyLoss",
                         "LSTM",
                         "GRU",
                         "RNN",
                         "Attention",
                         "TensorScatter",
                         "ImageDecoder"};

int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name, int64_t absent) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return attribute.i();
  }
  return absent;
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

std::vector<Dim> unknown_dims(size_t rank) { return std::vector<Dim>(rank, unknown); }

}  // namespace

/// Infers the outputs of one node of ONNX's own operators.
class NodeTypes {
 public:
  NodeTypes(Types& types, NodeId node)
      : all_(types),
        index_(types.index_),
        constants_(types.constants_),
        node_(node),
        proto_(types.index_.proto(node)) {}

  void infer() {
    const std::string_view op = proto_.op_type();
    const Type& first = input(0);
    if (op == "Constant") return infer_constant();
    if (elementwise.count(op)) return set(0, {type_of_all(), broadcast_all()});
    if (comparison.count(op)) return set(0, {DataType::boolean, broadcast_all()});
    if (same_as_first.count(op)) return infer_same(op);
    if (op == "Conv" || op == "ConvTranspose" || op == "MaxPool" || op == "AveragePool" || op == "LpPool")
      return infer_window(op);
    if (op == "Concat") return infer_concat();
    if (op == "Slice") return infer_slice();
    if (op == "Split") return infer_split();
    if (same_rank.count(op)) {
      set(0, {first.type, rank_of(first)});
      if (op == "Resize" || op == "Upsample") return;
      return;
    }
    if (global_pool.count(op)) {
      Type pooled{first.type, first.dims};
      if (pooled.dims)
        for (size_t at = 2; at < pooled.dims->size(); ++at) (*pooled.dims)[at] = 1;
      return set(0, pooled);
    }
    if (reductions.count(op)) return infer_reduction(first.type);
    if (op == "ArgMax" || op == "ArgMin") return infer_arg();
    if (op == "Cast") return set(0, {static_cast<DataType>(integer_attribute(proto_, "to", 0)), first.dims});
    if (op == "CastLike") return set(0, {input(1).type, first.dims});
    if (op == "IsNaN" || op == "IsInf") return set(0, {DataType::boolean, first.dims});
    if (op == "Where") {
      const std::array<const Type*, 3> three = {&first, &input(1), &input(2)};
      const DataType type = input(1).type != DataType::undefined ? input(1).type : input(2).type;
      return set(0, {type, broadcast(three)});
    }
    if (op == "Shape") {
      Type shape{DataType::int64, unknown_dims(1)};
      if (first.dims && !find_attribute(proto_, "start") && !find_attribute(proto_, "end"))
        (*shape.dims)[0] = first.rank();
      return set(0, shape);
    }
    if (op == "Size") return set(0, {DataType::int64, std::vector<Dim>{}});
    if (op == "MatMul") return infer_matmul(first.type);
    if (op == "MatMulInteger" || op == "ConvInteger") {
      if (op == "MatMulInteger") return infer_matmul(DataType::int32);
      return set(0, {DataType::int32, rank_of(first)});
    }
    if (op == "Gemm") return infer_gemm();
    if (op == "Reshape") return infer_reshape();
    if (op == "Flatten") return set(0, {first.type, unknown_dims(2)});
    if (op == "Transpose") return infer_transpose();
    if (op == "Unsqueeze" || op == "Squeeze") return infer_squeeze(op == "Unsqueeze");
    if (op == "Gather") return infer_gather();
    if (op == "GatherElements") return set(0, {first.type, input(1).dims});
    if (op == "GatherND") return infer_gather_nd();
    if (op == "Expand" || op == "ConstantOfShape") return infer_expand(op == "Expand");
    if (op == "Range") return set(0, {first.type, unknown_dims(1)});
    if (op == "NonZero") return set(0, {DataType::int64, unknown_dims(2)});
    if (op == "NonMaxSuppression") return set(0, {DataType::int64, unknown_dims(2)});
    if (op == "TopK") {
      set(0, {first.type, rank_of(first)});
      return set(1, {DataType::int64, rank_of(first)});
    }
    if (op == "OneHot") {
      Type hot{input(2).type, {}};
      if (first.dims) hot.dims = unknown_dims(first.dims->size() + 1);
      return set(0, hot);
    }
    if (op == "QuantizeLinear") {
      DataType type = input(2).type;
      if (node_inputs() < 3 || index_.input(node_, 2) == none)
        type = static_cast<DataType>(integer_attribute(proto_, "output_dtype", 2));
      return set(0, {type, first.dims});
    }
    if (op == "DequantizeLinear") return set(0, {input(1).type, first.dims});
    if (op == "DynamicQuantizeLinear") {
      set(0, {DataType::uint8, first.dims});
      set(1, {DataType::float32, std::vector<Dim>{}});
      return set(2, {DataType::uint8, std::vector<Dim>{}});
    }
    if (op == "QLinearConv") return set(0, {input(7).type, rank_of(first)});
    if (op == "QLinearMatMul") return set(0, {input(7).type, {}});
    if (op == "RandomNormal" || op == "RandomUniform") {
      Type random{static_cast<DataType>(integer_attribute(proto_, "dtype", 1)), {}};
      if (const auto* shape = find_attribute(proto_, "shape"))
        random.dims = std::vector<Dim>(shape->ints().begin(), shape->ints().end());
      return set(0, random);
    }
    if (op == "HannWindow" || op == "HammingWindow") {
      return set(0,
                 {static_cast<DataType>(integer_attribute(proto_, "output_datatype", 1)), unknown_dims(1)});
    }
    if (type_only.count(op)) return infer_type_only(op);
  }

 private:
  const Type& input(int32_t slot) const {
    const ValueId value = index_.input(node_, slot);
    return value == none ? all_.nothing_ : all_.types_[static_cast<size_t>(value)];
  }
  int32_t node_inputs() const { return index_.node(node_).input_count; }

  void set(int32_t slot, Type type) const {
    const ValueId value = index_.output(node_, slot);
    if (value != none) all_.refine(value, std::move(type));
  }

  static std::optional<std::vector<Dim>> rank_of(const Type& type) {
    if (!type.dims) return {};
    return unknown_dims(type.dims->size());
  }

  /// Gives the type that all inputs share; Pow's exponent and shifts may have another one, so the first known
  /// wins.
  DataType type_of_all() const {
    const std::string_view op = proto_.op_type();
    const int32_t count = op == "Pow" ? 1 : node_inputs();
    for (int32_t slot = 0; slot < count; ++slot) {
      if (input(slot).type != DataType::undefined) return input(slot).type;
    }
    return DataType::undefined;
  }

  std::optional<std::vector<Dim>> broadcast_all() const {
    std::vector<const Type*> types;
    for (int32_t slot = 0; slot < node_inputs(); ++slot) types.push_back(&input(slot));
    // Before opset 7 an operand could be laid along an axis of the other.
    if (find_attribute(proto_, "broadcast")) return types.empty() ? std::nullopt : types[0]->dims;
    return broadcast(types);
  }

  void infer_constant() const {
    const ValueId made = index_.output(node_);
    const Constant* constant = made == none ? nullptr : constants_.find(made);
    if (!constant) return;
    if (!constant->attribute.empty()) return set(0, {constant->type, std::vector<Dim>{}});
    set(0, {constant->type, constant->dims});
  }

  void infer_same(std::string_view op) const {
    Type type = input(0);
    if (op == "EyeLike" || op == "RandomNormalLike" || op == "RandomUniformLike" || op == "Bernoulli") {
      if (const int64_t given = integer_attribute(proto_, "dtype", 0))
        type.type = static_cast<DataType>(given);
    }
    if (op == "Clip" && type.type == DataType::undefined) type.type = input(1).type;
    set(0, type);
    if (op == "Dropout") set(1, {DataType::boolean, type.dims});
  }

  void infer_window(std::string_view op) const {
    const Type& x = input(0);
    Type result{x.type, rank_of(x)};
    if (x.dims && !x.dims->empty()) (*result.dims)[0] = (*x.dims)[0];
    if (x.dims && x.dims->size() > 1) {
      if (op == "Conv") {
        if (input(1).dims && !input(1).dims->empty()) (*result.dims)[1] = (*input(1).dims)[0];
      } else if (op == "ConvTranspose") {
        const Dim group = integer_attribute(proto_, "group", 1);
        if (input(1).dims && input(1).dims->size() > 1 && (*input(1).dims)[1] >= 0)
          (*result.dims)[1] = (*input(1).dims)[1] * group;
      } else {
        (*result.dims)[1] = (*x.dims)[1];
      }
      if (op != "ConvTranspose") infer_windows_sizes(op, *x.dims, *result.dims);
    }
    set(0, result);
    if (op == "MaxPool") set(1, {DataType::int64, result.dims});
  }

  void infer_windows_sizes(std::string_view op, const std::vector<Dim>& from, std::vector<Dim>& to) const {
    const size_t spatial = from.size() - 2;
    std::vector<int64_t> kernel;
    if (const auto* shape = find_attribute(proto_, "kernel_shape")) {
      kernel.assign(shape->ints().begin(), shape->ints().end());
    } else if (op == "Conv" && input(1).dims && input(1).dims->size() == from.size()) {
      kernel.assign(input(1).dims->begin() + 2, input(1).dims->end());
    }
    if (kernel.size() != spatial) return;
    const auto list = [&](std::string_view name, size_t count, int64_t absent) {
      std::vector<int64_t> values(count, absent);
      const auto* given = find_attribute(proto_, name);
      if (given && static_cast<size_t>(given->ints_size()) == count)
        values.assign(given->ints().begin(), given->ints().end());
      return values;
    };
    const auto* automatic = find_attribute(proto_, "auto_pad");
    const std::string_view pad = automatic ? std::string_view(automatic->s()) : "NOTSET";
    const std::vector<int64_t> strides = list("strides", spatial, 1),
                               dilations = list("dilations", spatial, 1), pads = list("pads", 2 * spatial, 0);
    const bool ceil = integer_attribute(proto_, "ceil_mode", 0) != 0;
    for (size_t at = 0; at < spatial; ++at) {
      const Dim size = from[at + 2];
      if (strides[at] < 1 || kernel[at] < 1 || dilations[at] < 1) continue;
      const int64_t window = (kernel[at] - 1) * dilations[at] + 1;
      if (pad == "NOTSET" || pad == "VALID") {
        const int64_t padding = pad == "VALID" ? 0 : pads[at] + pads[at + spatial];
        if (strides[at] == 1 && padding == window - 1) {
          to[at + 2] = size;  // keeps the size, also an unknown one with a name
        } else if (size >= 0 && !ceil && size + padding >= window) {
          to[at + 2] = (size + padding - window) / strides[at] + 1;
        }
      } else if (size >= 0) {
        to[at + 2] = (size + strides[at] - 1) / strides[at];
      }
    }
  }

  void infer_concat() const {
    Type result;
    int64_t axis = integer_attribute(proto_, "axis", 1);
    Dim sum = 0;
    for (int32_t slot = 0; slot < node_inputs(); ++slot) {
      const Type& part = input(slot);
      if (result.type == DataType::undefined) result.type = part.type;
      if (!part.dims) {
        sum = unknown;
        continue;
      }
      if (!result.dims) {
        result.dims = part.dims;
        if (axis < 0) axis += result.rank();
      }
      if (part.dims->size() != result.dims->size()) return;
      for (size_t at = 0; at < part.dims->size(); ++at) {
        Dim& dim = (*result.dims)[at];
        if (dim < 0 && (*part.dims)[at] >= 0) dim = (*part.dims)[at];
      }
      if (axis < 0 || axis >= result.rank()) return;
      const Dim own = (*part.dims)[static_cast<size_t>(axis)];
      sum = own >= 0 && sum >= 0 ? sum + own : unknown;
    }
    if (result.dims) (*result.dims)[static_cast<size_t>(axis)] = sum;
    set(0, result);
  }

  void infer_slice() const {
    const Type& first = input(0);
    Type result{first.type, rank_of(first)};
    if (result.dims && node_inputs() >= 4) {
      const auto axes = constants_.integers(index_.input(node_, 3));
      if (axes) {
        result.dims = first.dims;
        for (int64_t axis : *axes) {
          if (axis < 0) axis += first.rank();
          if (axis >= 0 && axis < first.rank()) (*result.dims)[static_cast<size_t>(axis)] = unknown;
        }
        // The length of a slice of a shape decides ranks behind it.
        const auto starts = constants_.integers(index_.input(node_, 1)),
                   ends = constants_.integers(index_.input(node_, 2));
        if (first.rank() == 1 && (*first.dims)[0] >= 0 && starts && ends && starts->size() == 1 &&
            ends->size() == 1 && node_inputs() == 4) {
          const int64_t size = (*first.dims)[0];
          const auto place = [size](int64_t at) {
            return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
          };
          (*result.dims)[0] = std::max<int64_t>(0, place((*ends)[0]) - place((*starts)[0]));
        }
      }
    }
    set(0, result);
  }

  void infer_split() const {
    const Type& first = input(0);
    Type result{first.type, first.dims};
    if (result.dims) {
      int64_t axis = integer_attribute(proto_, "axis", 0);
      if (axis < 0) axis += result.rank();
      if (axis < 0 || axis >= result.rank()) return;
      (*result.dims)[static_cast<size_t>(axis)] = unknown;
    }
    for (int32_t slot = 0; slot < index_.node(node_).output_count; ++slot) set(slot, result);
  }

  void infer_reduction(DataType type) const {
    const Type& first = input(0);
    const bool keep = integer_attribute(proto_, "keepdims", 1) != 0;
    std::optional<std::vector<int64_t>> axes;
    if (const auto* given = find_attribute(proto_, "axes")) {
      axes.emplace(given->ints().begin(), given->ints().end());
    } else if (index_.input(node_, 1) != none) {
      axes = constants_.integers(index_.input(node_, 1));
      if (!axes && keep) return set(0, {type, rank_of(first)});
      if (!axes) return set(0, {type, {}});
    }
    if (!axes || axes->empty()) {
      if (integer_attribute(proto_, "noop_with_empty_axes", 0)) return set(0, {type, first.dims});
      if (!keep) return set(0, {type, std::vector<Dim>{}});
      if (!first.dims) return set(0, {type, {}});
      return set(0, {type, std::vector<Dim>(first.dims->size(), 1)});
    }
    set(0, {type, without_axes(first, *axes, keep)});
  }

  static std::optional<std::vector<Dim>> without_axes(const Type& type, const std::vector<int64_t>& axes,
                                                      bool keep) {
    if (!type.dims) return {};
    std::vector<bool> gone(type.dims->size(), false);
    for (int64_t axis : axes) {
      if (axis < 0) axis += type.rank();
      if (axis < 0 || axis >= type.rank()) return {};
      gone[static_cast<size_t>(axis)] = true;
    }
    std::vector<Dim> dims;
    for (size_t at = 0; at < gone.size(); ++at) {
      if (!gone[at]) {
        dims.push_back((*type.dims)[at]);
      } else if (keep) {
        dims.push_back(1);
      }
    }
    return dims;
  }

  void infer_arg() const {
    const bool keep = integer_attribute(proto_, "keepdims", 1) != 0;
    set(0, {DataType::int64, without_axes(input(0), {integer_attribute(proto_, "axis", 0)}, keep)});
  }

  void infer_matmul(DataType type) const {
    const Type &a = input(0), &b = input(1);
    if (type == DataType::undefined) type = b.type;
    if (!a.dims || !b.dims || a.dims->empty() || b.dims->empty()) return set(0, {type, {}});
    Type left{type, std::vector<Dim>(a.dims->begin(), a.dims->end() - std::min<long>(2, a.rank()))};
    Type right{type, std::vector<Dim>(b.dims->begin(), b.dims->end() - std::min<long>(2, b.rank()))};
    const std::array<const Type*, 2> both = {&left, &right};
    auto dims = broadcast(both);
    if (a.rank() > 1) dims->push_back((*a.dims)[a.dims->size() - 2]);
    if (b.rank() > 1) dims->push_back(b.dims->back());
    set(0, {type, dims});
  }

  void infer_gemm() const {
    Type result{input(0).type != DataType::undefined ? input(0).type : input(1).type, unknown_dims(2)};
    const bool flip_a = integer_attribute(proto_, "transA", 0) != 0,
               flip_b = integer_attribute(proto_, "transB", 0) != 0;
    if (input(0).rank() == 2) (*result.dims)[0] = (*input(0).dims)[flip_a ? 1 : 0];
    if (input(1).rank() == 2) (*result.dims)[1] = (*input(1).dims)[flip_b ? 0 : 1];
    set(0, result);
  }

  void infer_reshape() const {
    const Type& first = input(0);
    Type result{first.type, {}};
    std::optional<std::vector<int64_t>> shape;
    if (const auto* given = find_attribute(proto_, "shape")) {
      shape.emplace(given->ints().begin(), given->ints().end());
    } else {
      shape = constants_.integers(index_.input(node_, 1));
    }
    if (shape) {
      const bool zero_is_zero = integer_attribute(proto_, "allowzero", 0) != 0;
      result.dims.emplace();
      for (size_t at = 0; at < shape->size(); ++at) {
        const int64_t size = (*shape)[at];
        if (size > 0 || (size == 0 && zero_is_zero)) {
          result.dims->push_back(size);
        } else if (size == 0 && first.dims && at < first.dims->size()) {
          result.dims->push_back((*first.dims)[at]);
        } else {
          result.dims->push_back(unknown);
        }
      }
    } else if (input(1).rank() == 1 && (*input(1).dims)[0] >= 0 && (*input(1).dims)[0] <= 64) {
      result.dims = unknown_dims(static_cast<size_t>((*input(1).dims)[0]));
    }
    set(0, result);
  }

  void infer_transpose() const {
    const Type& first = input(0);
    Type result{first.type, rank_of(first)};
    const auto* order = find_attribute(proto_, "perm");
    if (result.dims && !order) {
      result.dims->assign(first.dims->rbegin(), first.dims->rend());
    } else if (order) {
      if (result.dims && order->ints_size() == first.rank()) {
        for (int at = 0; at < order->ints_size(); ++at) {
          const int64_t from = order->ints(at);
          if (from >= 0 && from < first.rank())
            (*result.dims)[static_cast<size_t>(at)] = (*first.dims)[static_cast<size_t>(from)];
        }
      } else if (!result.dims) {
        result.dims = unknown_dims(static_cast<size_t>(order->ints_size()));
      }
    }
    set(0, result);
  }

  void infer_squeeze(bool add) const {
    const Type& first = input(0);
    std::optional<std::vector<int64_t>> axes;
    if (const auto* given = find_attribute(proto_, "axes")) {
      axes.emplace(given->ints().begin(), given->ints().end());
    } else if (index_.input(node_, 1) != none) {
      axes = constants_.integers(index_.input(node_, 1));
      if (!axes) {
        // The number of axes decides the rank, whatever they are.
        Type result{first.type, {}};
        const Type& list = input(1);
        if (first.dims && list.rank() == 1 && (*list.dims)[0] >= 0) {
          const int64_t rank = first.rank() + (add ? 1 : -1) * (*list.dims)[0];
          if (rank >= 0 && rank <= 64) result.dims = unknown_dims(static_cast<size_t>(rank));
        }
        return set(0, result);
      }
    }
    if (!first.dims) return set(0, {first.type, {}});
    if (!add) {
      if (axes) return set(0, {first.type, without_axes(first, *axes, false)});
      for (const Dim dim : *first.dims) {
        if (dim < 0) return set(0, {first.type, {}});
      }
      std::vector<Dim> dims;
      for (const Dim dim : *first.dims)
        if (dim != 1) dims.push_back(dim);
      return set(0, {first.type, dims});
    }
    if (!axes) return set(0, {first.type, {}});
    const int64_t rank = first.rank() + static_cast<int64_t>(axes->size());
    std::vector<bool> added(static_cast<size_t>(rank), false);
    for (int64_t axis : *axes) {
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) return;
      added[static_cast<size_t>(axis)] = true;
    }
    std::vector<Dim> dims;
    auto next = first.dims->begin();
    for (int64_t at = 0; at < rank; ++at) {
      if (added[static_cast<size_t>(at)]) {
        dims.push_back(1);
      } else if (next != first.dims->end()) {
        dims.push_back(*next++);
      }
    }
    set(0, {first.type, dims});
  }

  void infer_gather() const {
    const Type &data = input(0), &indices = input(1);
    Type result{data.type, {}};
    int64_t axis = integer_attribute(proto_, "axis", 0);
    if (data.dims && indices.dims && !data.dims->empty()) {
      if (axis < 0) axis += data.rank();
      if (axis < 0 || axis >= data.rank()) return;
      result.dims.emplace(data.dims->begin(), data.dims->begin() + axis);
      result.dims->insert(result.dims->end(), indices.dims->begin(), indices.dims->end());
      result.dims->insert(result.dims->end(), data.dims->begin() + axis + 1, data.dims->end());
    }
    set(0, result);
  }

  void infer_gather_nd() const {
    const Type &data = input(0), &indices = input(1);
    Type result{data.type, {}};
    if (data.dims && indices.dims && !indices.dims->empty() && indices.dims->back() >= 0) {
      const int64_t batch = integer_attribute(proto_, "batch_dims", 0);
      const int64_t rank = data.rank() + indices.rank() - indices.dims->back() - 1 - batch;
      if (rank >= 0 && rank <= 64) result.dims = unknown_dims(static_cast<size_t>(rank));
    }
    set(0, result);
  }

  void infer_expand(bool expand) const {
    const ValueId shape_value = index_.input(node_, expand ? 1 : 0);
    Type result;
    if (expand) {
      result.type = input(0).type;
    } else {
      result.type = DataType::float32;
      if (const auto* value = find_attribute(proto_, "value"))
        result.type = static_cast<DataType>(value->t().data_type());
    }
    Type target;
    if (const auto shape = constants_.integers(shape_value)) {
      target.dims.emplace(shape->begin(), shape->end());
    } else if (shape_value != none) {
      const Type& list = all_.types_[static_cast<size_t>(shape_value)];
      if (list.rank() == 1 && (*list.dims)[0] >= 0 && (*list.dims)[0] <= 64)
        target.dims = unknown_dims(static_cast<size_t>((*list.dims)[0]));
    }
    if (expand) {
      const std::array<const Type*, 2> both = {&input(0), &target};
      result.dims = broadcast(both);
    } else {
      result.dims = target.dims;
    }
    set(0, result);
  }

  void infer_type_only(std::string_view op) const {
    const DataType type = input(0).type;
    if (op == "LSTM" || op == "GRU" || op == "RNN") {
      set(0, {type, unknown_dims(4)});
      set(1, {type, unknown_dims(3)});
      return set(2, {type, unknown_dims(3)});
    }
    if (op == "DFT") return set(0, {type, rank_of(input(0))});
    if (op == "STFT" || op == "RoiAlign" || op == "MaxRoiPool") return set(0, {type, unknown_dims(4)});
    if (op == "Unique") {
      set(0, {type, {}});
      for (int32_t slot = 1; slot < 4; ++slot) set(slot, {DataType::int64, unknown_dims(1)});
      return;
    }
    set(0, {type, {}});
  }

  Types& all_;
  const Index& index_;
  const Constants& constants_;
  NodeId node_;
  const onnx::NodeProto& proto_;
};

Types::Types(const Index& index, const Constants& constants) : index_(index), constants_(constants) {
  types_.resize(static_cast<size_t>(index.value_count()));
  calls_.resize(static_cast<size_t>(index.scope_count()), 0);
  orders_.resize(static_cast<size_t>(index.scope_count()));
  for (ScopeId scope = 0; scope < index.scope_count(); ++scope) {
    orders_[static_cast<size_t>(scope)] = topological_order(index, scope);
    if (index.scope(scope).owner != none) subgraphs_[index.scope(scope).owner].push_back(scope);
  }
  for (ValueId id = 0; id < index.value_count(); ++id) {
    const Value& value = index.value(id);
    Type& type = types_[static_cast<size_t>(id)];
    if (value.initializer) {
      type.type = static_cast<DataType>(value.initializer->data_type());
      type.dims.emplace(value.initializer->dims().begin(), value.initializer->dims().end());
      // A caller may give another shape in place of a default.
      if (value.overridable && value.declared) type.dims = symbols_.read(value.declared->type()).dims;
    } else if (value.declared) {
      type = symbols_.read(value.declared->type());
    }
  }
  const bool has_main = index.scope_count() > 0 && index.scope(0).graph;
  if (has_main) infer_scope(0, 0);
  for (ScopeId scope = has_main ? 1 : 0; scope < index.scope_count(); ++scope) {
    // A function that nobody calls, or a lone one: what its own constants tell.
    if (index.scope(scope).function && calls_[static_cast<size_t>(scope)] == 0) infer_scope(scope, 0);
  }
}

/// Takes what was inferred where it says more than what is there. Inferred ranks win over declared ones,
/// which go stale.
bool Types::refine(ValueId value, Type type) {
  Type& known = types_[static_cast<size_t>(value)];
  const Type before = known;
  if (type.type != DataType::undefined) known.type = type.type;
  if (type.dims) {
    if (known.dims && known.dims->size() == type.dims->size()) {
      for (size_t at = 0; at < type.dims->size(); ++at) {
        const Dim inferred = (*type.dims)[at];
        Dim& dim = (*known.dims)[at];
        if (inferred >= 0 || (inferred < unknown && dim == unknown)) dim = inferred;
      }
    } else {
      known.dims = std::move(type.dims);
    }
  }
  return !(before == known);
}

void Types::infer_scope(ScopeId scope, int depth) {
  for (const NodeId node : orders_[static_cast<size_t>(scope)]) infer_node(node, depth);
}

ScopeId Types::subgraph(NodeId node, std::string_view attribute) const {
  const auto place = subgraphs_.find(node);
  if (place == subgraphs_.end()) return none;
  for (const ScopeId scope : place->second) {
    if (index_.scope(scope).attribute == attribute) return scope;
  }
  return none;
}

void Types::infer_node(NodeId node, int depth) {
  const onnx::NodeProto& proto = index_.proto(node);
  if (subgraphs_.count(node)) return infer_subgraphs(node, depth);
  const ScopeId function = index_.function(proto.domain(), proto.op_type(), proto.overload());
  if (function != none) return infer_call(node, function, depth);
  if (is_default_domain(proto.domain())) NodeTypes(*this, node).infer();
}

void Types::infer_call(NodeId node, ScopeId function, int depth) {
  if (depth > most_depth) return;
  const Scope& body = index_.scope(function);
  int& calls = calls_[static_cast<size_t>(function)];
  bool changed = calls == 0;
  for (size_t slot = 0; slot < body.inputs.size(); ++slot) {
    const ValueId given = index_.input(node, static_cast<int32_t>(slot));
    const Type type = given == none ? Type{} : of(given);
    Type& known = types_[static_cast<size_t>(body.inputs[slot])];
    const Type merged = calls == 0 ? type : common(known, type);
    if (merged == known && calls > 0) continue;
    changed = true;
    known = calls >= most_calls ? Type{} : merged;
  }
  if (changed) {
    // What an earlier call taught of the body no longer holds.
    if (calls > 0) {
      const std::function<void(ScopeId)> forget = [&](ScopeId scope) {
        for (const NodeId inner : index_.scope(scope).nodes) {
          for (const ValueId made : index_.outputs(inner)) {
            if (made != none) types_[static_cast<size_t>(made)] = {};
          }
          const auto place = subgraphs_.find(inner);
          if (place == subgraphs_.end()) continue;
          for (const ScopeId sub : place->second) forget(sub);
        }
      };
      forget(function);
    }
    ++calls;
    infer_scope(function, depth + 1);
  }
  for (size_t slot = 0; slot < body.outputs.size(); ++slot) {
    const ValueId made = index_.output(node, static_cast<int32_t>(slot));
    if (made != none && body.outputs[slot] != none) refine(made, of(body.outputs[slot]));
  }
}

void Types::infer_subgraphs(NodeId node, int depth) {
  const std::string& op = index_.proto(node).op_type();
  const int32_t outputs = index_.node(node).output_count;
  const auto type_of_output = [&](ScopeId scope, size_t slot) {
    const std::vector<ValueId>& list = index_.scope(scope).outputs;
    return slot < list.size() && list[slot] != none ? of(list[slot]) : Type{};
  };
  const auto give = [&](ScopeId scope, size_t slot, const Type& type) {
    const std::vector<ValueId>& list = index_.scope(scope).inputs;
    if (slot < list.size()) refine(list[slot], type);
  };
  const auto input_type = [&](int32_t slot) {
    const ValueId value = index_.input(node, slot);
    return value == none ? Type{} : of(value);
  };
  if (op == "Loop") {
    const ScopeId body = subgraph(node, "body");
    if (body == none) return;
    const auto carried = static_cast<size_t>(std::max(0, index_.node(node).input_count - 2));
    give(body, 0, {DataType::int64, {}});
    give(body, 1, {DataType::boolean, {}});
    // A carried value keeps its type; its shape may change from one round to the next.
    for (size_t at = 0; at < carried; ++at)
      give(body, at + 2, {input_type(static_cast<int32_t>(at) + 2).type, {}});
    infer_scope(body, depth + 1);
    for (size_t at = 0; at < static_cast<size_t>(outputs); ++at) {
      const ValueId made = index_.output(node, static_cast<int32_t>(at));
      if (made == none) continue;
      Type type = type_of_output(body, at + 1);
      if (at < carried) {
        type = {type.type != DataType::undefined ? type.type : input_type(static_cast<int32_t>(at) + 2).type,
                {}};
      } else if (type.dims) {
        type.dims->insert(type.dims->begin(), unknown);
      }
      refine(made, type);
    }
    return;
  }
  if (op == "Scan") {
    const ScopeId body = subgraph(node, "body");
    if (body == none) return;
    const auto scanned = static_cast<size_t>(
        std::max<int64_t>(0, integer_attribute(index_.proto(node), "num_scan_inputs", 0)));
    const auto total = static_cast<size_t>(index_.node(node).input_count);
    const size_t states = total > scanned ? total - scanned : 0;
    for (size_t at = 0; at < states; ++at) give(body, at, {input_type(static_cast<int32_t>(at)).type, {}});
    for (size_t at = states; at < total; ++at)
      give(body, at, {input_type(static_cast<int32_t>(at)).type, {}});
    infer_scope(body, depth + 1);
    for (size_t at = 0; at < static_cast<size_t>(outputs); ++at) {
      const ValueId made = index_.output(node, static_cast<int32_t>(at));
      if (made != none) refine(made, {type_of_output(body, at).type, {}});
    }
    return;
  }
  const auto place = subgraphs_.find(node);
  for (const ScopeId scope : place->second) infer_scope(scope, depth + 1);
  if (op != "If") return;
  for (size_t at = 0; at < static_cast<size_t>(outputs); ++at) {
    const ValueId made = index_.output(node, static_cast<int32_t>(at));
    if (made == none) continue;
    Type type = type_of_output(place->second[0], at);
    for (size_t branch = 1; branch < place->second.size(); ++branch)
      type = common(type, type_of_output(place->second[branch], at));
    refine(made, type);
  }
}

}  // namespace graft::graph
