// RegisterCustomOps: hands a library's operators to ONNX Runtime. The only file that knows ORT.
//
// One binary serves ORT 1.15 and newer: it asks the runtime for the smaller of the runtime's API version and its own, and
// uses what is newer than 1.15 only where it is there: statuses from callbacks (1.16), shape inference and ORT's threads
// (1.17), in-place outputs (1.18).
#pragma once

#include <onnxruntime_c_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "graft/describe.h"
#include "graft/module.h"
#include "graft/operator.h"

namespace graft::detail {

inline constexpr uint32_t kOldestApi = 15;
inline constexpr uint32_t kApiWithStatus = 16;
inline constexpr uint32_t kApiWithInference = 17;
inline constexpr uint32_t kApiWithThreads = 17;
inline constexpr uint32_t kApiWithInPlace = 18;
inline constexpr uint32_t kApiWithShapeReference = 24;
/// Is the first runtime that does not crash when it infers the shape of a node with an optional input left out.
inline constexpr uint32_t kRuntimeWithOptionalInference = 24;

/// Gives the minor version of a runtime, as in 1.<minor>.<patch>; 0 when the text is something else.
inline uint32_t minor_version(std::string_view version) {
  uint32_t minor = 0;
  const size_t dot = version.find('.');
  if (dot != std::string_view::npos) std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
  return minor;
}

/// Is GetTensorElementTypeAndShapeDataReference of API 24: a tensor's shape without the object that ORT otherwise makes
/// and frees for each question, which is a third of a small node's time.
using ShapeReference = OrtStatus*(ORT_API_CALL*)(const OrtValue*, ONNXTensorElementDataType*, const int64_t**, size_t*);

/// Finds that entry in runtimes that have it, whatever the age of the headers: ORT only ever appends to its table, so the
/// place of an entry never changes.
inline ShapeReference find_shape_reference(const OrtApiBase* base, uint32_t runtime) {
  constexpr size_t place = 414;
#if ORT_API_VERSION >= 24
  static_assert(offsetof(OrtApi, GetTensorElementTypeAndShapeDataReference) == place * sizeof(void*));
#endif
  if (runtime < kApiWithShapeReference) return nullptr;
  const OrtApi* api = base->GetApi(kApiWithShapeReference);
  if (api == nullptr) return nullptr;
  ShapeReference found;
  std::memcpy(&found, reinterpret_cast<const char*>(api) + place * sizeof(void*), sizeof found);
  return found;
}

struct Registration;

/// Is what ORT sees of an operator with one combination of element types.
struct OrtOperator : OrtCustomOp {
  const Operator* op;
  const Overload* overload;
  const Registration* registration;
};

/// Is this library inside one ORT runtime.
struct Registration {
  const OrtApiBase* base;
  const OrtApi* api;
  uint32_t runtime;  ///< minor version of the runtime
  uint32_t version;  ///< of the API in use: the smaller of the runtime's and the headers'
  ShapeReference shape_reference;  ///< null before API 24
  std::deque<OrtOperator> operators{};
  std::vector<std::pair<std::string, OrtCustomOpDomain*>> domains{};

  Registration(const OrtApiBase* b, const OrtApi* a, uint32_t r, uint32_t v)
      : base(b), api(a), runtime(r), version(v), shape_reference(find_shape_reference(b, r)) {}
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() {
    for (auto& [name, domain] : domains) api->ReleaseCustomOpDomain(domain);
  }
};

/// Throws an Error with ORT's text when a call of its API failed.
inline void check(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) [[likely]] return;
  std::string text = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  throw Error(text);
}
/// Says whether a call of ORT's API worked, and drops its text.
inline bool works(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return true;
  api.ReleaseStatus(status);
  return false;
}

/// Is a node of a session: the operator with its attributes bound.
struct Node {
  const OrtOperator* type;
  std::string name;
  std::unique_ptr<Kernel> kernel;

  std::string describe(const char* what) const {
    return name.empty() ? message(type->op->full_name(), ": ", what)
                        : message(type->op->full_name(), " (node \"", name, "\"): ", what);
  }
};

// ---- attributes --------------------------------------------------------------------------------------------------

/// Reads the attributes of a node while its kernel is made.
class NodeAttributes final : public AttributeReader {
 public:
  NodeAttributes(const OrtApi& api, const OrtKernelInfo* info) : api_(api), info_(info) {}

  AttributeValue read(const Attribute& attribute) const override {
    AttributeValue value = find(attribute.name.c_str(), attribute.type);
    if (!std::holds_alternative<std::monostate>(value)) return value;
    for (AttributeType other : {AttributeType::float32, AttributeType::int64, AttributeType::string, AttributeType::floats,
                                AttributeType::ints}) {
      if (other != attribute.type && !std::holds_alternative<std::monostate>(find(attribute.name.c_str(), other))) {
        fail("attribute ", attribute.name, ": expected ", attribute_type_name(attribute.type), ", got ", attribute_type_name(other));
      }
    }
    if (attribute.required()) fail("the attribute ", attribute.name, " (", attribute_type_name(attribute.type), ") is required, and missing");
    return attribute.default_value;
  }

 private:
  AttributeValue find(const char* name, AttributeType type) const {
    switch (type) {
      case AttributeType::float32: {
        float value = 0;
        if (works(api_, api_.KernelInfoGetAttribute_float(info_, name, &value))) return value;
        break;
      }
      case AttributeType::int64: {
        int64_t value = 0;
        if (works(api_, api_.KernelInfoGetAttribute_int64(info_, name, &value))) return value;
        break;
      }
      case AttributeType::string: {
        size_t size = 0;
        if (!works(api_, api_.KernelInfoGetAttribute_string(info_, name, nullptr, &size))) break;
        std::string value(size, '\0');
        check(api_, api_.KernelInfoGetAttribute_string(info_, name, value.data(), &size));
        value.resize(size ? size - 1 : 0);  // without the NUL that ORT adds
        return value;
      }
      case AttributeType::floats: {
        size_t size = 0;
        if (!works(api_, api_.KernelInfoGetAttributeArray_float(info_, name, nullptr, &size))) break;
        std::vector<float> value(size);
        check(api_, api_.KernelInfoGetAttributeArray_float(info_, name, value.data(), &size));
        return value;
      }
      case AttributeType::ints: {
        size_t size = 0;
        if (!works(api_, api_.KernelInfoGetAttributeArray_int64(info_, name, nullptr, &size))) break;
        std::vector<int64_t> value(size);
        check(api_, api_.KernelInfoGetAttributeArray_int64(info_, name, value.data(), &size));
        return value;
      }
      case AttributeType::strings:
      case AttributeType::none: break;
    }
    return {};
  }

  const OrtApi& api_;
  const OrtKernelInfo* info_;
};

/// Reads the attributes of a node during shape inference.
class InferenceAttributes final : public AttributeReader {
 public:
  InferenceAttributes(const OrtApi& api, const OrtShapeInferContext* context) : api_(api), context_(context) {}

  AttributeValue read(const Attribute& attribute) const override {
    const OrtOpAttr* found = nullptr;
    if (!works(api_, api_.ShapeInferContext_GetAttribute(context_, attribute.name.c_str(), &found)) || found == nullptr) {
      if (attribute.required()) fail("the attribute ", attribute.name, " is required, and missing");
      return attribute.default_value;
    }
    switch (attribute.type) {
      case AttributeType::float32: return scalar<float>(found, ORT_OP_ATTR_FLOAT);
      case AttributeType::int64: return scalar<int64_t>(found, ORT_OP_ATTR_INT);
      case AttributeType::string: {
        const std::vector<char> text = list<char>(found, ORT_OP_ATTR_STRING);
        return std::string(text.begin(), text.end());
      }
      case AttributeType::floats: return list<float>(found, ORT_OP_ATTR_FLOATS);
      case AttributeType::ints: return list<int64_t>(found, ORT_OP_ATTR_INTS);
      case AttributeType::strings:
      case AttributeType::none: break;
    }
    return attribute.default_value;
  }

 private:
  template <class T>
  T scalar(const OrtOpAttr* found, OrtOpAttrType type) const {
    T value{};
    size_t size = 0;
    check(api_, api_.ReadOpAttr(found, type, &value, sizeof value, &size));
    return value;
  }
  template <class T>
  std::vector<T> list(const OrtOpAttr* found, OrtOpAttrType type) const {
    size_t size = 0;
    works(api_, api_.ReadOpAttr(found, type, nullptr, 0, &size));
    std::vector<T> value(size / sizeof(T));
    if (size) check(api_, api_.ReadOpAttr(found, type, value.data(), size, &size));
    return value;
  }

  const OrtApi& api_;
  const OrtShapeInferContext* context_;
};

// ---- shape inference ---------------------------------------------------------------------------------------------

inline Shape shape_of(const OrtApi& api, const OrtTensorTypeAndShapeInfo* info) {
  size_t rank = 0;
  check(api, api.GetDimensionsCount(info, &rank));
  Shape shape;
  shape.resize(rank);
  std::array<int64_t, kMaxRank> dims;
  std::array<const char*, kMaxRank> symbols{};
  check(api, api.GetDimensions(info, dims.data(), rank));
  check(api, api.GetSymbolicDimensions(info, symbols.data(), rank));
  for (size_t i = 0; i < rank; ++i) {
    shape[int64_t(i)] = dims[i] >= 0 ? Dim(dims[i]) : Dim::unknown(symbols[i] ? symbols[i] : "");
  }
  return shape;
}

inline void set_output_shape(const OrtApi& api, OrtShapeInferContext* context, size_t index, DType dtype, const Shape& shape) {
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  check(api, api.CreateTensorTypeAndShapeInfo(&raw));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(raw, api.ReleaseTensorTypeAndShapeInfo);
  std::array<int64_t, kMaxRank> dims;
  std::array<std::string, kMaxRank> names;
  std::array<const char*, kMaxRank> symbols;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const Dim dim = shape[int64_t(i)];
    dims[i] = dim.known() ? dim.size() : -1;
    // ORT takes -1 without a name for a size. The name must be a new one: equal names mean equal sizes.
    static std::atomic<uint64_t> unknown{0};
    names[i] = dim.known() || !dim.symbol().empty() ? std::string(dim.symbol()) : message("unknown_", unknown++);
    symbols[i] = names[i].c_str();
  }
  check(api, api.SetTensorElementType(raw, ONNXTensorElementDataType(dtype)));
  check(api, api.SetDimensions(raw, dims.data(), shape.rank()));
  check(api, api.SetSymbolicDimensions(raw, symbols.data(), shape.rank()));
  check(api, api.ShapeInferContext_SetOutputTypeShape(context, index, raw));
}

inline void infer_shapes(const OrtOperator& type, OrtShapeInferContext* context) {
  const OrtApi& api = *type.registration->api;
  const Operator& op = *type.op;
  if (!op.infer) return;
  size_t count = 0;
  check(api, api.ShapeInferContext_GetInputCount(context, &count));
  std::vector<Shape> inputs;
  std::vector<DType> types;
  for (size_t i = 0; i < count; ++i) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    check(api, api.ShapeInferContext_GetInputTypeShape(context, i, &info));
    ONNXTensorElementDataType type;
    check(api, api.GetTensorElementType(info, &type));
    types.push_back(DType(type));
    inputs.push_back(shape_of(api, info));
    // ORT shows a tensor of unknown rank and one without dimensions alike; saying nothing is right for both.
    if (inputs.back().rank() == 0) return;
  }
  std::vector<Shape> outputs(op.outputs.size());
  // ORT merges the overloads into one schema and asks the first one for all of them.
  const auto overload = std::ranges::find_if(op.overloads, [&](const Overload& o) {
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] != o.inputs[std::min(i, o.inputs.size() - 1)]) return false;
    }
    return true;
  });
  if (overload == op.overloads.end()) return;
  op.infer(InferenceAttributes(api, context), inputs, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) set_output_shape(api, context, i, overload->outputs[i], outputs[i]);
}

// ---- calls -------------------------------------------------------------------------------------------------------

/// Holds a few tensors without an allocation.
class Tensors {
 public:
  explicit Tensors(size_t count) : count_(count) {
    if (count > inline_.size()) more_.resize(count);
  }
  operator std::span<Tensor>() { return {more_.empty() ? inline_.data() : more_.data(), count_}; }

 private:
  size_t count_;
  std::array<Tensor, 4> inline_;
  std::vector<Tensor> more_;
};

struct OrtCall {
  const Registration& registration;
  OrtKernelContext* context;

  const OrtApi& api() const { return *registration.api; }

  static void* allocate(void* state, size_t output, DType, std::span<const int64_t> shape) {
    const OrtCall& call = *static_cast<OrtCall*>(state);
    OrtValue* value = nullptr;
    check(call.api(), call.api().KernelContext_GetOutput(call.context, output, shape.data(), shape.size(), &value));
    void* data = nullptr;
    check(call.api(), call.api().GetTensorMutableData(value, &data));
    return data;
  }
  static void parallel_for(void* state, void (*task)(void*, size_t), size_t count, void* argument) {
    const OrtCall& call = *static_cast<OrtCall*>(state);
    check(call.api(), call.api().KernelContext_ParallelFor(call.context, task, count, 0, argument));
  }

  void read_input(size_t index, DType dtype, Tensor& tensor) const {
    const OrtValue* value = nullptr;
    check(api(), api().KernelContext_GetInput(context, index, &value));
    if (value == nullptr) return;  // an optional input that is left out
    if (registration.shape_reference) {
      ONNXTensorElementDataType type;
      const int64_t* dims = nullptr;
      size_t rank = 0;
      check(api(), registration.shape_reference(value, &type, &dims, &rank));
      tensor.shape.assign({dims, rank});
    } else {
      read_shape(value, tensor.shape);
    }
    check(api(), api().GetTensorMutableData(const_cast<OrtValue*>(value), &tensor.data));
    tensor.size = element_count(tensor.shape);
    tensor.dtype = dtype;
  }

  void read_shape(const OrtValue* value, Dims& shape) const {
    OrtTensorTypeAndShapeInfo* raw = nullptr;
    check(api(), api().GetTensorTypeAndShape(value, &raw));
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(
        raw, api().ReleaseTensorTypeAndShapeInfo);
    size_t rank = 0;
    check(api(), api().GetDimensionsCount(raw, &rank));
    shape.resize(rank);
    check(api(), api().GetDimensions(raw, shape.data(), rank));
  }
};

inline void compute(const Node& node, OrtKernelContext* context) {
  const Registration& registration = *node.type->registration;
  const Operator& op = *node.type->op;
  const std::vector<DType>& types = node.type->overload->inputs;
  OrtCall call{registration, context};
  size_t count = op.inputs.size();
  if (count > 0 && op.inputs.back().arity != Arity::required) {
    check(call.api(), call.api().KernelContext_GetInputCount(context, &count));
  }
  Tensors input_store(count), output_store(op.outputs.size());
  const std::span<Tensor> inputs = input_store, outputs = output_store;
  for (size_t i = 0; i < count; ++i) {
    const size_t position = std::min(i, types.size() - 1);
    call.read_input(i, types[position], inputs[i]);
    if (!inputs[i].present() && op.inputs[position].arity != Arity::optional) {
      fail("the input ", op.inputs[position].name, " is required, and left out");
    }
  }
  Invocation invocation{inputs, outputs, {&call, &OrtCall::allocate},
                        {&call, registration.version >= kApiWithThreads ? &OrtCall::parallel_for : nullptr}};
  node.kernel->run(invocation);
}

// ---- callbacks ---------------------------------------------------------------------------------------------------

inline const OrtOperator& self(const OrtCustomOp* op) { return *static_cast<const OrtOperator*>(op); }

inline std::string node_name(const OrtApi& api, const OrtKernelInfo* info) {
  size_t size = 0;
  works(api, api.KernelInfo_GetNodeName(info, nullptr, &size));
  std::string name(size, '\0');
  if (size == 0 || !works(api, api.KernelInfo_GetNodeName(info, name.data(), &size))) return {};
  name.resize(size ? size - 1 : 0);
  return name;
}

inline std::unique_ptr<Node> make_node(const OrtOperator& type, const OrtKernelInfo* info) {
  const OrtApi& api = *type.registration->api;
  auto node = std::make_unique<Node>(Node{&type, node_name(api, info), nullptr});
  try {
    node->kernel = type.overload->create(*type.op, NodeAttributes(api, info));
  } catch (const std::exception& error) {
    throw Error(node->describe(error.what()));
  }
  return node;
}

inline void compute_node(void* kernel, OrtKernelContext* context) {
  const Node& node = *static_cast<Node*>(kernel);
  try {
    compute(node, context);
  } catch (const std::exception& error) {
    throw Error(node.describe(error.what()));
  }
}

/// Runs `work` and turns what it throws into ORT's status. The one boundary between exceptions and statuses.
template <class Work>
OrtStatus* as_status(const OrtApi& api, Work work) noexcept {
  try {
    work();
    return nullptr;
  } catch (const std::exception& error) {
    return api.CreateStatus(ORT_FAIL, error.what());
  } catch (...) {
    return api.CreateStatus(ORT_FAIL, "an operator threw something that is not a std::exception");
  }
}

/// Offers the output to every input of its type: each element is read before it is written.
template <size_t N>
size_t may_inplace(int** inputs, int** outputs) {
  *inputs = new int[N];
  *outputs = new int[N];
  for (size_t i = 0; i < N; ++i) {
    (*inputs)[i] = int(i);
    (*outputs)[i] = 0;
  }
  return N;
}
inline auto may_inplace_for(size_t inputs) -> size_t (*)(int**, int**) {
  constexpr std::array<size_t (*)(int**, int**), 4> by_count{&may_inplace<1>, &may_inplace<2>, &may_inplace<3>, &may_inplace<4>};
  return inputs >= 1 && inputs <= by_count.size() ? by_count[inputs - 1] : nullptr;
}

constexpr OrtCustomOpInputOutputCharacteristic characteristic(Arity arity) {
  return arity == Arity::optional   ? INPUT_OUTPUT_OPTIONAL
         : arity == Arity::variadic ? INPUT_OUTPUT_VARIADIC
                                    : INPUT_OUTPUT_REQUIRED;
}

inline OrtOperator make_ort_operator(const Registration& registration, const Operator& op, const Overload& overload) {
  OrtOperator result{};
  result.op = &op;
  result.overload = &overload;
  result.registration = &registration;
  result.version = registration.version;
  result.GetName = [](const OrtCustomOp* o) { return self(o).op->name.c_str(); };
  result.GetExecutionProviderType = [](const OrtCustomOp*) { return "CPUExecutionProvider"; };
  result.GetInputTypeCount = [](const OrtCustomOp* o) { return self(o).op->inputs.size(); };
  result.GetInputType = [](const OrtCustomOp* o, size_t i) { return ONNXTensorElementDataType(self(o).overload->inputs[i]); };
  result.GetOutputTypeCount = [](const OrtCustomOp* o) { return self(o).op->outputs.size(); };
  result.GetOutputType = [](const OrtCustomOp* o, size_t i) { return ONNXTensorElementDataType(self(o).overload->outputs[i]); };
  result.GetInputCharacteristic = [](const OrtCustomOp* o, size_t i) { return characteristic(self(o).op->inputs[i].arity); };
  result.GetOutputCharacteristic = [](const OrtCustomOp* o, size_t i) { return characteristic(self(o).op->outputs[i].arity); };
  result.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  result.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
  result.GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
  result.GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
  result.GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
  result.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  result.GetEndVersion = [](const OrtCustomOp*) { return std::numeric_limits<int>::max(); };

  // 1.15 has no status here: it catches what is thrown and shows the text.
  result.CreateKernel = [](const OrtCustomOp* o, const OrtApi*, const OrtKernelInfo* info) -> void* {
    return make_node(self(o), info).release();
  };
  result.KernelCompute = [](void* kernel, OrtKernelContext* context) { compute_node(kernel, context); };
  result.CreateKernelV2 = [](const OrtCustomOp* o, const OrtApi*, const OrtKernelInfo* info, void** kernel) -> OrtStatusPtr {
    return as_status(*self(o).registration->api, [&] { *kernel = make_node(self(o), info).release(); });
  };
  result.KernelComputeV2 = [](void* kernel, OrtKernelContext* context) -> OrtStatusPtr {
    return as_status(*static_cast<Node*>(kernel)->type->registration->api, [&] { compute_node(kernel, context); });
  };
  result.KernelDestroy = [](void* kernel) { delete static_cast<Node*>(kernel); };
  const bool optional = std::ranges::any_of(op.inputs, [](const Argument& a) { return a.arity == Arity::optional; });
  if (registration.version >= kApiWithInference && (!optional || registration.runtime >= kRuntimeWithOptionalInference)) {
    result.InferOutputShapeFn = [](const OrtCustomOp* o, OrtShapeInferContext* context) -> OrtStatusPtr {
      return as_status(*self(o).registration->api, [&] { infer_shapes(self(o), context); });
    };
  }
  const bool one_type = std::ranges::all_of(overload.inputs, [&](DType t) { return t == overload.outputs[0]; });
  if (registration.version >= kApiWithInPlace && op.elementwise && one_type) {
    result.GetMayInplace = may_inplace_for(op.inputs.size());
    result.ReleaseMayInplace = [](int* inputs, int* outputs) {
      delete[] inputs;
      delete[] outputs;
    };
  }
  return result;
}

// ---- registration ------------------------------------------------------------------------------------------------

/// Finds or makes this library's registration in the runtime. One set of domain objects serves all sessions.
inline const Registration& registration_in(const OrtApiBase* base, const OrtApi* api, uint32_t runtime, uint32_t version) {
  static std::mutex mutex;
  static std::deque<Registration> all;
  const std::scoped_lock lock(mutex);
  for (const Registration& known : all) {
    if (known.base == base) return known;
  }
  const std::deque<Operator>& ops = operators();
  Registration& made = all.emplace_back(base, api, runtime, version);
  try {
    for (const Operator& op : ops) {
      auto found = std::ranges::find(made.domains, op.domain, [](const auto& d) { return d.first; });
      if (found == made.domains.end()) {
        OrtCustomOpDomain* domain = nullptr;
        check(*api, api->CreateCustomOpDomain(op.domain.c_str(), &domain));
        found = made.domains.emplace(made.domains.end(), op.domain, domain);
      }
      for (const Overload& overload : op.overloads) {
        made.operators.push_back(make_ort_operator(made, op, overload));
        check(*api, api->CustomOpDomain_Add(found->second, &made.operators.back()));
      }
    }
  } catch (...) {
    all.pop_back();
    throw;
  }
  return made;
}

inline OrtStatus* register_operators(OrtSessionOptions* options, const OrtApiBase* base) {
  const uint32_t runtime = minor_version(base->GetVersionString());
  const uint32_t version = std::min<uint32_t>(runtime, ORT_API_VERSION);
  const OrtApi* api = base->GetApi(version);
  if (api == nullptr) return nullptr;  // not a runtime 1.x: there is no way to say so
  return as_status(*api, [&] {
    if (version < kOldestApi) {
      fail("this library was made with Graft ", GRAFT_VERSION, " and needs ONNX Runtime 1.", kOldestApi,
           " or newer, this is ", base->GetVersionString());
    }
    for (const auto& [name, domain] : registration_in(base, api, runtime, version).domains) {
      check(*api, api->AddCustomOpDomain(options, domain));
    }
  });
}

}  // namespace graft::detail

extern "C" {
/// Registers this library's operators with a session; ORT calls it.
GRAFT_EXPORT inline OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  return graft::detail::register_operators(options, base);
}
}
