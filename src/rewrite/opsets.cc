#include "rewrite/opsets.h"

#include <algorithm>
#include <array>
#include <string>

namespace graft::rewrite {
namespace {

struct First {
  std::string_view op;
  int64_t opset;
};

/// Sorted by name. Arithmetic, comparisons and logic broadcast as today from 7 on, Max, Min, Mean and Sum
/// from 8 on.
constexpr First firsts[] = {{"Abs", 1},
                            {"Acos", 7},
                            {"Acosh", 9},
                            {"Add", 7},
                            {"AffineGrid", 20},
                            {"And", 7},
                            {"ArgMax", 1},
                            {"ArgMin", 1},
                            {"Asin", 7},
                            {"Asinh", 9},
                            {"Atan", 7},
                            {"Atanh", 9},
                            {"Attention", 23},
                            {"AveragePool", 1},
                            {"BatchNormalization", 9},
                            {"Bernoulli", 15},
                            {"BitCast", 26},
                            {"BitShift", 11},
                            {"BitwiseAnd", 18},
                            {"BitwiseNot", 18},
                            {"BitwiseOr", 18},
                            {"BitwiseXor", 18},
                            {"BlackmanWindow", 17},
                            {"Cast", 6},
                            {"CastLike", 15},
                            {"CausalConvWithState", 27},
                            {"Ceil", 1},
                            {"Celu", 12},
                            {"CenterCropPad", 18},
                            {"Clip", 6},
                            {"Col2Im", 18},
                            {"Compress", 9},
                            {"Concat", 4},
                            {"ConcatFromSequence", 11},
                            {"Constant", 1},
                            {"ConstantOfShape", 9},
                            {"Conv", 1},
                            {"ConvInteger", 10},
                            {"ConvTranspose", 1},
                            {"Cos", 7},
                            {"Cosh", 9},
                            {"CumProd", 26},
                            {"CumSum", 11},
                            {"DFT", 17},
                            {"DeformConv", 19},
                            {"DepthToSpace", 1},
                            {"DequantizeLinear", 10},
                            {"Det", 11},
                            {"Div", 7},
                            {"Dropout", 7},
                            {"DynamicQuantizeLinear", 11},
                            {"Einsum", 12},
                            {"Elu", 6},
                            {"Equal", 7},
                            {"Erf", 9},
                            {"Exp", 6},
                            {"Expand", 8},
                            {"EyeLike", 9},
                            {"Flatten", 1},
                            {"Floor", 6},
                            {"GRU", 7},
                            {"Gather", 1},
                            {"GatherElements", 11},
                            {"GatherND", 11},
                            {"Gelu", 20},
                            {"Gemm", 7},
                            {"GlobalAveragePool", 1},
                            {"GlobalLpPool", 2},
                            {"GlobalMaxPool", 1},
                            {"Greater", 7},
                            {"GreaterOrEqual", 12},
                            {"GridSample", 16},
                            {"GroupNormalization", 18},
                            {"HammingWindow", 17},
                            {"HannWindow", 17},
                            {"HardSigmoid", 6},
                            {"HardSwish", 14},
                            {"Hardmax", 1},
                            {"Identity", 1},
                            {"If", 1},
                            {"ImageDecoder", 20},
                            {"InstanceNormalization", 6},
                            {"IsInf", 10},
                            {"IsNaN", 9},
                            {"LRN", 1},
                            {"LSTM", 7},
                            {"LayerNormalization", 17},
                            {"LeakyRelu", 6},
                            {"Less", 7},
                            {"LessOrEqual", 12},
                            {"LinearAttention", 27},
                            {"Log", 6},
                            {"LogSoftmax", 1},
                            {"Loop", 1},
                            {"LpNormalization", 1},
                            {"LpPool", 2},
                            {"MatMul", 1},
                            {"MatMulInteger", 10},
                            {"Max", 8},
                            {"MaxPool", 1},
                            {"MaxRoiPool", 1},
                            {"MaxUnpool", 9},
                            {"Mean", 8},
                            {"MeanVarianceNormalization", 9},
                            {"MelWeightMatrix", 17},
                            {"Min", 8},
                            {"Mish", 18},
                            {"Mod", 10},
                            {"Mul", 7},
                            {"Multinomial", 7},
                            {"Neg", 6},
                            {"NegativeLogLikelihoodLoss", 12},
                            {"NonMaxSuppression", 10},
                            {"NonZero", 9},
                            {"Not", 1},
                            {"OneHot", 9},
                            {"Optional", 15},
                            {"OptionalGetElement", 15},
                            {"OptionalHasElement", 15},
                            {"Or", 7},
                            {"PRelu", 7},
                            {"Pad", 2},
                            {"Pow", 7},
                            {"QLinearConv", 10},
                            {"QLinearMatMul", 10},
                            {"QuantizeLinear", 10},
                            {"RMSNormalization", 23},
                            {"RNN", 7},
                            {"RandomNormal", 1},
                            {"RandomNormalLike", 1},
                            {"RandomUniform", 1},
                            {"RandomUniformLike", 1},
                            {"Range", 11},
                            {"Reciprocal", 6},
                            {"ReduceL1", 1},
                            {"ReduceL2", 1},
                            {"ReduceLogSum", 1},
                            {"ReduceLogSumExp", 1},
                            {"ReduceMax", 1},
                            {"ReduceMean", 1},
                            {"ReduceMin", 1},
                            {"ReduceProd", 1},
                            {"ReduceSum", 1},
                            {"ReduceSumSquare", 1},
                            {"RegexFullMatch", 20},
                            {"Relu", 6},
                            {"Reshape", 5},
                            {"Resize", 10},
                            {"ReverseSequence", 10},
                            {"RoiAlign", 10},
                            {"RotaryEmbedding", 23},
                            {"Round", 11},
                            {"STFT", 17},
                            {"Scan", 8},
                            {"Scatter", 9},
                            {"ScatterElements", 11},
                            {"ScatterND", 11},
                            {"Selu", 6},
                            {"SequenceAt", 11},
                            {"SequenceConstruct", 11},
                            {"SequenceEmpty", 11},
                            {"SequenceErase", 11},
                            {"SequenceInsert", 11},
                            {"SequenceLength", 11},
                            {"SequenceMap", 17},
                            {"Shape", 1},
                            {"Shrink", 9},
                            {"Sigmoid", 6},
                            {"Sign", 9},
                            {"Sin", 7},
                            {"Sinh", 9},
                            {"Size", 1},
                            {"Slice", 10},
                            {"Softmax", 1},
                            {"SoftmaxCrossEntropyLoss", 12},
                            {"Softplus", 1},
                            {"Softsign", 1},
                            {"SpaceToDepth", 1},
                            {"Split", 2},
                            {"SplitToSequence", 11},
                            {"Sqrt", 6},
                            {"Squeeze", 1},
                            {"StringConcat", 20},
                            {"StringNormalizer", 10},
                            {"StringSplit", 20},
                            {"Sub", 7},
                            {"Sum", 8},
                            {"SwiGLU", 28},
                            {"Swish", 24},
                            {"Tan", 7},
                            {"Tanh", 6},
                            {"TensorScatter", 24},
                            {"TfIdfVectorizer", 9},
                            {"ThresholdedRelu", 10},
                            {"Tile", 6},
                            {"TopK", 1},
                            {"Transpose", 1},
                            {"Trilu", 14},
                            {"Unique", 11},
                            {"Unsqueeze", 1},
                            {"Upsample", 1},
                            {"Where", 9},
                            {"Xor", 7}};

struct IntegerInputs {
  std::string_view op;
  uint32_t slots;  ///< bit i: input i
};

constexpr IntegerInputs integer_inputs[] = {{"DFT", 0b110},           {"Expand", 0b10},
                                            {"Gather", 0b10},         {"GatherElements", 0b10},
                                            {"GatherND", 0b10},       {"STFT", 0b1010},
                                            {"OneHot", 0b11},         {"Pad", 0b1010},
                                            {"Reshape", 0b10},        {"Slice", 0b11110},
                                            {"Split", 0b10},          {"Squeeze", 0b10},
                                            {"Tile", 0b10},           {"TopK", 0b10},
                                            {"Trilu", 0b10},          {"Unsqueeze", 0b10},
                                            {"CumSum", 0b10},         {"HannWindow", 0b1},
                                            {"HammingWindow", 0b1},   {"BlackmanWindow", 0b1},
                                            {"ScatterND", 0b10},      {"ScatterElements", 0b10},
                                            {"ConstantOfShape", 0b1}, {"CenterCropPad", 0b10},
                                            {"BitShift", 0}};

}  // namespace

int64_t first_opset(std::string_view op) {
  const auto* place =
      std::lower_bound(std::begin(firsts), std::end(firsts), op,
                       [](const First& first, std::string_view name) { return first.op < name; });
  return place != std::end(firsts) && place->op == op ? place->opset : 0;
}

std::vector<std::string> standard_operators() {
  std::vector<std::string> names;
  for (const First& first : firsts) names.emplace_back(first.op);
  return names;
}

int64_t axes_become_input(std::string_view op) {
  if (op == "ReduceSum" || op == "Squeeze" || op == "Unsqueeze") return 13;
  return op.substr(0, 6) == "Reduce" ? 18 : 0;
}

bool is_integer_input(std::string_view op, size_t slot) {
  if (slot == 1 && axes_become_input(op)) return true;
  for (const IntegerInputs& entry : integer_inputs) {
    if (entry.op == op) return slot < 32 && (entry.slots >> slot & 1) != 0;
  }
  return false;
}

}  // namespace graft::rewrite
