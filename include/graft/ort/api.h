// ORT's C API, asked for in the version that the runtime has.
#pragma once

#include <onnxruntime_c_api.h>

#include <charconv>
#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graft/error.h"
#include "graft/operator.h"

namespace graft::detail {

inline constexpr uint32_t kOldestApi = 15;
inline constexpr uint32_t kApiWithInference = 17;
inline constexpr uint32_t kApiWithThreads = 17;
inline constexpr uint32_t kApiWithInPlace = 18;
/// Is the API whose table has the entries of LaterApi.
inline constexpr uint32_t kLaterApi = 24;
/// Is the first runtime that does not crash when it infers the shape of a node with an optional input left out.
inline constexpr uint32_t kRuntimeWithOptionalInference = 24;

/// Gives the minor version of a runtime, as in 1.<minor>.<patch>; 0 when the text is something else.
inline uint32_t minor_version(std::string_view version) {
  uint32_t minor = 0;
  const size_t dot = version.find('.');
  if (dot != std::string_view::npos) std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
  return minor;
}

/// Holds entries of ORT's table that are newer than the headers may be. ORT only ever appends to its table, so the place of
/// an entry never changes, and a runtime that is old enough to lack one is known by its version.
struct LaterApi {
  /// GetTensorElementTypeAndShapeDataReference: a tensor's shape without the object that ORT otherwise makes and frees for
  /// each question, which is a third of a small node's time.
  OrtStatus*(ORT_API_CALL* shape_reference)(const OrtValue*, ONNXTensorElementDataType*, const int64_t**, size_t*) = nullptr;
  /// KernelInfo_GetConfigEntries, GetKeyValue and ReleaseKeyValuePairs: the session's configuration.
  OrtStatus*(ORT_API_CALL* config_entries)(const OrtKernelInfo*, void** pairs) = nullptr;
  const char*(ORT_API_CALL* key_value)(const void* pairs, const char* key) = nullptr;
  void(ORT_API_CALL* release_pairs)(void* pairs) = nullptr;

  /// Finds all of them; none in runtimes before API 24.
  LaterApi(const OrtApiBase* base, uint32_t runtime) {
    const OrtApi* api = runtime < kLaterApi ? nullptr : base->GetApi(kLaterApi);
    if (api == nullptr) return;
#if ORT_API_VERSION >= 24
    static_assert(offsetof(OrtApi, GetTensorElementTypeAndShapeDataReference) == 414 * sizeof(void*));
    static_assert(offsetof(OrtApi, KernelInfo_GetConfigEntries) == 391 * sizeof(void*));
    static_assert(offsetof(OrtApi, GetKeyValue) == 297 * sizeof(void*));
    static_assert(offsetof(OrtApi, ReleaseKeyValuePairs) == 300 * sizeof(void*));
#endif
    const auto take = [&](auto& entry, size_t place) {
      std::memcpy(&entry, reinterpret_cast<const char*>(api) + place * sizeof(void*), sizeof entry);
    };
    take(shape_reference, 414);
    take(config_entries, 391);
    take(key_value, 297);
    take(release_pairs, 300);
  }
};

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
  LaterApi later;
  OrtMemoryInfo* cpu = nullptr;
  std::list<OrtOperator> operators{};
  std::vector<std::pair<std::string, OrtCustomOpDomain*>> domains{};

  Registration(const OrtApiBase* b, const OrtApi* a, uint32_t r, uint32_t v)
      : base(b), api(a), runtime(r), version(v), later(b, r) {}
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() {
    for (auto& [name, domain] : domains) api->ReleaseCustomOpDomain(domain);
    if (cpu) api->ReleaseMemoryInfo(cpu);
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

/// Gives the first runtime that knows an element type; an older one would refuse every session with the library.
constexpr uint32_t first_runtime_with(DType dtype) {
  const bool float8 = dtype >= DType::float8e4m3fn && dtype <= DType::float8e5m2fnuz;
  return dtype == DType::int4 || dtype == DType::uint4 ? 20 : float8 ? 16 : 15;
}

/// Gives ORT's own element type; the numbers are those of ONNX.
inline ONNXTensorElementDataType ort_type(DType dtype) { return ONNXTensorElementDataType(dtype); }

/// Reads the shape of a tensor.
inline void read_shape(const Registration& registration, const OrtValue* value, Dims& shape) {
  const OrtApi& api = *registration.api;
  size_t rank = 0;
  if (registration.later.shape_reference) {
    ONNXTensorElementDataType type;
    const int64_t* dims = nullptr;
    check(api, registration.later.shape_reference(value, &type, &dims, &rank));
    shape.assign({dims, rank});
    return;
  }
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  check(api, api.GetTensorTypeAndShape(value, &raw));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(
      raw, api.ReleaseTensorTypeAndShapeInfo);
  check(api, api.GetDimensionsCount(raw, &rank));
  shape.resize(rank);
  check(api, api.GetDimensions(raw, shape.data(), rank));
}

/// Copies the strings of a tensor; they may hold any byte, NUL too.
inline std::vector<std::string> read_strings(const OrtApi& api, const OrtValue* value, size_t count) {
  size_t bytes = 0;
  check(api, api.GetStringTensorDataLength(value, &bytes));
  std::string text(bytes, '\0');
  std::vector<size_t> offsets(count);
  check(api, api.GetStringTensorContent(value, text.data(), bytes, offsets.data(), count));
  std::vector<std::string> strings(count);
  for (size_t i = 0; i < count; ++i) {
    strings[i] = text.substr(offsets[i], (i + 1 < count ? offsets[i + 1] : bytes) - offsets[i]);
  }
  return strings;
}

/// Reads a tensor that is not a string one: its elements stay where they are.
inline void read_numbers(const Registration& registration, const OrtValue* value, DType dtype, Tensor& tensor) {
  read_shape(registration, value, tensor.shape);
  check(*registration.api, registration.api->GetTensorMutableData(const_cast<OrtValue*>(value), &tensor.data));
  tensor.size = element_count(tensor.shape);
  tensor.dtype = dtype;
}

/// Reads any tensor; strings are copied into `strings`, which the tensor then refers to.
inline void read_tensor(const Registration& registration, const OrtValue* value, DType dtype, Tensor& tensor,
                        std::vector<std::string>& strings) {
  if (dtype != DType::string) return read_numbers(registration, value, dtype, tensor);
  read_shape(registration, value, tensor.shape);
  tensor.size = element_count(tensor.shape);
  tensor.dtype = dtype;
  strings = read_strings(*registration.api, value, size_t(tensor.size));
  tensor.data = strings.data();
}

}  // namespace graft::detail
