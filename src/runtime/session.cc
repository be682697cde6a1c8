#include "runtime/session.h"

#include <fmt/format.h>
#include <onnxruntime_c_api.h>

#include <cstring>

#include "runtime/handle.h"
#include "runtime/providers.h"

namespace graft::runtime {
namespace {

constexpr GraphOptimizationLevel level_of(Optimisation optimisation) {
  switch (optimisation) {
    case Optimisation::none:
      return ORT_DISABLE_ALL;
    case Optimisation::basic:
      return ORT_ENABLE_BASIC;
    case Optimisation::extended:
      return ORT_ENABLE_EXTENDED;
    case Optimisation::all:
      return ORT_ENABLE_ALL;
  }
  return ORT_ENABLE_ALL;
}

Handle<OrtSessionOptions> make_options(const Runtime& runtime, const SessionOptions& options) {
  const OrtApi& api = runtime.api();
  const std::string who = "session options";
  OrtSessionOptions* raw = nullptr;
  runtime.check(api.CreateSessionOptions(&raw), who);
  auto made = take(raw, api.ReleaseSessionOptions);
  runtime.check(api.SetIntraOpNumThreads(raw, options.threads), who);
  runtime.check(api.SetInterOpNumThreads(raw, 1), who);
  runtime.check(api.SetSessionGraphOptimizationLevel(raw, level_of(options.optimisation)), who);
  runtime.check(api.SetSessionLogSeverityLevel(
                    raw, options.quiet ? ORT_LOGGING_LEVEL_FATAL : ORT_LOGGING_LEVEL_WARNING),
                who);
  if (!options.optimised_model.empty()) {
    runtime.check(api.SetOptimizedModelFilePath(raw, options.optimised_model.c_str()), who);
  }
  if (!options.profile.empty()) runtime.check(api.EnableProfiling(raw, options.profile.c_str()), who);
  append_providers(runtime, raw, options.providers);
  for (const std::filesystem::path& library : options.libraries) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(library, error)) {
      throw InputError(
          fmt::format("{}: {}", library.string(),
                      std::filesystem::exists(library, error) ? "is not a library file" : "does not exist"));
    }
    const std::string absolute = std::filesystem::absolute(library);
    runtime.check(api.RegisterCustomOpsLibrary_V2(raw, absolute.c_str()), library.string());
  }
  for (const RegisterOperators register_operators : options.operators) {
    runtime.check(register_operators(raw, &runtime.base()), who);
  }
  return made;
}

void describe_tensor(const Runtime& runtime, const OrtTypeInfo* info, ValueDescription& value) {
  const OrtApi& api = runtime.api();
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  runtime.check(api.CastTypeInfoToTensorInfo(info, &tensor), value.name);
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  runtime.check(api.GetTensorElementType(tensor, &type), value.name);
  value.type = static_cast<DataType>(type);
  size_t rank = 0;
  runtime.check(api.GetDimensionsCount(tensor, &rank), value.name);
  std::vector<int64_t> sizes(rank);
  std::vector<const char*> symbols(rank);
  runtime.check(api.GetDimensions(tensor, sizes.data(), rank), value.name);
  runtime.check(api.GetSymbolicDimensions(tensor, symbols.data(), rank), value.name);
  for (size_t i = 0; i < rank; ++i) value.shape.push_back({sizes[i], symbols[i] ? symbols[i] : ""});
}

ValueDescription describe_value(const Runtime& runtime, std::string name, OrtTypeInfo* raw) {
  const OrtApi& api = runtime.api();
  const auto info = take(raw, api.ReleaseTypeInfo);
  ValueDescription value;
  value.name = std::move(name);
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  runtime.check(api.GetOnnxTypeFromTypeInfo(raw, &kind), value.name);
  switch (kind) {
    case ONNX_TYPE_TENSOR:
      describe_tensor(runtime, raw, value);
      break;
    case ONNX_TYPE_SEQUENCE:
      value.kind = "sequence";
      break;
    case ONNX_TYPE_MAP:
      value.kind = "map";
      break;
    case ONNX_TYPE_OPTIONAL:
      value.kind = "optional";
      break;
    case ONNX_TYPE_SPARSETENSOR:
      value.kind = "sparse tensor";
      break;
    default:
      value.kind = "opaque";
      break;
  }
  return value;
}

/// Wraps a tensor's memory in an OrtValue; `tensor` must outlive it. Strings are copied.
Handle<OrtValue> wrap(const Runtime& runtime, const OrtMemoryInfo* memory, const Tensor& tensor,
                      const std::string& name) {
  const OrtApi& api = runtime.api();
  OrtValue* raw = nullptr;
  const auto type = static_cast<ONNXTensorElementDataType>(tensor.type);
  if (tensor.type == DataType::string) {
    OrtAllocator* allocator = nullptr;
    runtime.check(api.GetAllocatorWithDefaultOptions(&allocator), name);
    runtime.check(api.CreateTensorAsOrtValue(allocator, tensor.shape.data(), tensor.shape.size(), type, &raw),
                  name);
    auto value = take(raw, api.ReleaseValue);
    for (size_t i = 0; i < tensor.strings.size(); ++i) {
      const std::string& text = tensor.strings[i];  // may hold NUL bytes
      char* buffer = nullptr;
      runtime.check(api.GetResizedStringTensorElementBuffer(raw, i, text.size(), &buffer), name);
      std::memcpy(buffer, text.data(), text.size());
    }
    return value;
  }
  static std::byte nothing[16];  // ORT wants an address even for no elements
  void* data = tensor.bytes.empty() ? nothing : const_cast<std::byte*>(tensor.bytes.data());
  runtime.check(api.CreateTensorWithDataAsOrtValue(memory, data, tensor.bytes.size(), tensor.shape.data(),
                                                   tensor.shape.size(), type, &raw),
                name);
  return take(raw, api.ReleaseValue);
}

std::vector<std::string> read_strings(const Runtime& runtime, const OrtValue* value, size_t count,
                                      const std::string& name) {
  const OrtApi& api = runtime.api();
  size_t length = 0;
  runtime.check(api.GetStringTensorDataLength(value, &length), name);
  std::string all(length, '\0');
  std::vector<size_t> starts(count);
  if (count > 0)
    runtime.check(api.GetStringTensorContent(value, all.data(), length, starts.data(), count), name);
  std::vector<std::string> strings;
  for (size_t i = 0; i < count; ++i) {
    const size_t end = i + 1 < count ? starts[i + 1] : length;
    strings.push_back(all.substr(starts[i], end - starts[i]));
  }
  return strings;
}

size_t byte_count(DataType type, size_t elements) {
  if (type == DataType::uint4 || type == DataType::int4) return (elements + 1) / 2;
  return elements * element_size(type);
}

/// Copies an output out of ORT.
Tensor unwrap(const Runtime& runtime, OrtValue* value, const std::string& name, const std::string& model) {
  const OrtApi& api = runtime.api();
  int has_value = 0;
  if (value) runtime.check(api.HasValue(value, &has_value), name);
  if (!has_value) throw InputError(fmt::format("{}: output {} was given no value", model, name));
  int is_tensor = 0;
  runtime.check(api.IsTensor(value, &is_tensor), name);
  if (!is_tensor) throw InputError(fmt::format("{}: output {} is not a tensor", model, name));
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  runtime.check(api.GetTensorTypeAndShape(value, &raw), name);
  const auto info = take(raw, api.ReleaseTensorTypeAndShapeInfo);
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  runtime.check(api.GetTensorElementType(raw, &type), name);
  size_t rank = 0;
  runtime.check(api.GetDimensionsCount(raw, &rank), name);
  Tensor tensor;
  tensor.type = static_cast<DataType>(type);
  tensor.shape.resize(rank);
  runtime.check(api.GetDimensions(raw, tensor.shape.data(), rank), name);
  if (tensor.type == DataType::string) {
    tensor.strings = read_strings(runtime, value, tensor.count(), name);
    return tensor;
  }
  const size_t size = byte_count(tensor.type, tensor.count());
  if (size == 0 && tensor.count() > 0)
    throw InputError(fmt::format("{}: output {} has an unknown element type", model, name));
  void* data = nullptr;
  runtime.check(api.GetTensorMutableData(value, &data), name);
  const auto* start = static_cast<const std::byte*>(data);
  if (size > 0) tensor.bytes.assign(start, start + size);
  return tensor;
}

}  // namespace

std::string to_string(const ValueDescription& value) {
  if (value.kind != "tensor") return value.kind;
  std::string text(type_name(value.type));
  text += '[';
  for (size_t i = 0; i < value.shape.size(); ++i) {
    const Dimension& dimension = value.shape[i];
    if (i > 0) text += ',';
    text += dimension.size >= 0        ? std::to_string(dimension.size)
            : dimension.symbol.empty() ? "?"
                                       : dimension.symbol;
  }
  return text + ']';
}

struct Session::State {
  std::shared_ptr<Runtime> runtime;
  std::string name;
  Handle<OrtSession> session;
  Handle<OrtMemoryInfo> memory;
  std::vector<ValueDescription> inputs;
  std::vector<ValueDescription> outputs;
  std::vector<const char*> input_names;
  std::vector<const char*> output_names;

  State(std::shared_ptr<Runtime> loaded, std::string model)
      : runtime(std::move(loaded)), name(std::move(model)) {}

  void take_session(OrtSession* raw) {
    const OrtApi& api = runtime->api();
    session = take(raw, api.ReleaseSession);
    OrtMemoryInfo* raw_memory = nullptr;
    runtime->check(api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &raw_memory), name);
    memory = take(raw_memory, api.ReleaseMemoryInfo);
    inputs = describe_values(api.SessionGetInputCount, api.SessionGetInputName, api.SessionGetInputTypeInfo);
    outputs =
        describe_values(api.SessionGetOutputCount, api.SessionGetOutputName, api.SessionGetOutputTypeInfo);
    for (const ValueDescription& value : inputs) input_names.push_back(value.name.c_str());
    for (const ValueDescription& value : outputs) output_names.push_back(value.name.c_str());
  }

  template <class Count, class Name, class Type>
  std::vector<ValueDescription> describe_values(Count count_of, Name name_of, Type type_of) const {
    const OrtApi& api = runtime->api();
    OrtAllocator* allocator = nullptr;
    runtime->check(api.GetAllocatorWithDefaultOptions(&allocator), name);
    size_t count = 0;
    runtime->check(count_of(session.get(), &count), name);
    std::vector<ValueDescription> values;
    for (size_t i = 0; i < count; ++i) {
      char* raw_name = nullptr;
      runtime->check(name_of(session.get(), i, allocator, &raw_name), name);
      std::string value_name = raw_name;
      runtime->check(api.AllocatorFree(allocator, raw_name), name);
      OrtTypeInfo* info = nullptr;
      runtime->check(type_of(session.get(), i, &info), name);
      values.push_back(describe_value(*runtime, std::move(value_name), info));
    }
    return values;
  }

  std::vector<Handle<OrtValue>> wrap_all(const std::vector<Tensor>& tensors) const {
    if (tensors.size() != inputs.size()) {
      throw InputError(
          fmt::format("{}: has {} inputs, and {} tensors were given", name, inputs.size(), tensors.size()));
    }
    std::vector<Handle<OrtValue>> values;
    for (size_t i = 0; i < tensors.size(); ++i) {
      values.push_back(
          wrap(*runtime, memory.get(), tensors[i], fmt::format("{}: input {}", name, inputs[i].name)));
    }
    return values;
  }

  std::vector<Handle<OrtValue>> run(const std::vector<const OrtValue*>& values) {
    const OrtApi& api = runtime->api();
    std::vector<OrtValue*> raw(outputs.size(), nullptr);
    OrtStatus* status = api.Run(session.get(), nullptr, input_names.data(), values.data(), values.size(),
                                output_names.data(), output_names.size(), raw.data());
    std::vector<Handle<OrtValue>> results;
    for (OrtValue* value : raw) results.push_back(take(value, api.ReleaseValue));
    runtime->check(status, name);
    return results;
  }
};

namespace {

std::vector<const OrtValue*> pointers(const std::vector<Handle<OrtValue>>& values) {
  std::vector<const OrtValue*> raw;
  for (const Handle<OrtValue>& value : values) raw.push_back(value.get());
  return raw;
}

}  // namespace

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Session::Session(std::shared_ptr<Runtime> runtime, const std::filesystem::path& model,
                 const SessionOptions& options)
    : state_(std::make_unique<State>(std::move(runtime), model.string())) {
  std::error_code error;
  if (!std::filesystem::exists(model, error))
    throw InputError(fmt::format("{}: does not exist", model.string()));
  if (std::filesystem::is_directory(model, error))
    throw InputError(fmt::format("{}: is a folder, not a model", model.string()));
  if (std::filesystem::file_size(model, error) == 0 && !error)
    throw InputError(fmt::format("{}: is empty", model.string()));
  const Runtime& loaded = *state_->runtime;
  const auto made = make_options(loaded, options);
  OrtSession* raw = nullptr;
  loaded.check(loaded.api().CreateSession(loaded.environment(), model.c_str(), made.get(), &raw),
               state_->name);
  state_->take_session(raw);
}

Session Session::from_bytes(std::shared_ptr<Runtime> runtime, std::string_view bytes,
                            const SessionOptions& options, const std::string& name) {
  auto state = std::make_unique<State>(std::move(runtime), name);
  const Runtime& loaded = *state->runtime;
  const auto made = make_options(loaded, options);
  OrtSession* raw = nullptr;
  loaded.check(
      loaded.api().CreateSessionFromArray(loaded.environment(), bytes.data(), bytes.size(), made.get(), &raw),
      name);
  state->take_session(raw);
  return Session(std::move(state));
}

const std::string& Session::name() const { return state_->name; }
const Runtime& Session::runtime() const { return *state_->runtime; }
const std::vector<ValueDescription>& Session::inputs() const { return state_->inputs; }
const std::vector<ValueDescription>& Session::outputs() const { return state_->outputs; }

std::vector<Tensor> Session::run(const std::vector<Tensor>& inputs) {
  const auto values = state_->wrap_all(inputs);
  const auto results = state_->run(pointers(values));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(unwrap(*state_->runtime, results[i].get(), state_->outputs[i].name, state_->name));
  }
  return outputs;
}

std::filesystem::path Session::end_profile() {
  const OrtApi& api = state_->runtime->api();
  OrtAllocator* allocator = nullptr;
  state_->runtime->check(api.GetAllocatorWithDefaultOptions(&allocator), state_->name);
  char* raw = nullptr;
  state_->runtime->check(api.SessionEndProfiling(state_->session.get(), allocator, &raw), state_->name);
  std::filesystem::path file = raw;
  state_->runtime->check(api.AllocatorFree(allocator, raw), state_->name);
  return file;
}

struct PreparedRun::State {
  Session::State* session;
  std::vector<Tensor> inputs;  // keeps the memory that the values point into
  std::vector<Handle<OrtValue>> values;
  std::vector<const OrtValue*> raw;
};

PreparedRun::PreparedRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
PreparedRun::~PreparedRun() = default;
PreparedRun::PreparedRun(PreparedRun&&) noexcept = default;
PreparedRun& PreparedRun::operator=(PreparedRun&&) noexcept = default;

void PreparedRun::once() { state_->session->run(state_->raw); }

PreparedRun Session::prepare(const std::vector<Tensor>& inputs) {
  auto state = std::make_unique<PreparedRun::State>();
  state->session = state_.get();
  state->inputs = inputs;
  state->values = state_->wrap_all(state->inputs);
  state->raw = pointers(state->values);
  return PreparedRun(std::move(state));
}

}  // namespace graft::runtime
