#include "runtime/recording.h"

#include <fmt/format.h>
#include <onnxruntime_c_api.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "runtime/tensor.h"

namespace graft::runtime {
namespace {

using nlohmann::ordered_json;

struct RecordedDomain {
  std::string name;
  std::vector<const OrtCustomOp*> operators;
};

struct RecordedStatus {
  OrtErrorCode code;
  std::string message;
};

/// Holds what the library has added so far. One recording runs in a process.
struct Recording {
  std::vector<std::unique_ptr<RecordedDomain>> domains;
  std::vector<RecordedDomain*> added;
};
Recording recording;

OrtStatus* make_status(OrtErrorCode code, const char* message) noexcept {
  return reinterpret_cast<OrtStatus*>(new RecordedStatus{code, message ? message : ""});
}
const RecordedStatus& read_status(const OrtStatus* status) {
  return *reinterpret_cast<const RecordedStatus*>(status);
}

/// Stands for every function of the API that recording has no answer for.
OrtStatus* not_while_listing() noexcept {
  return make_status(ORT_NOT_IMPLEMENTED,
                     "it calls a function of ONNX Runtime that is not there while its operators are listed");
}

OrtStatus* create_domain(const char* name, OrtCustomOpDomain** domain) noexcept {
  recording.domains.push_back(std::make_unique<RecordedDomain>());
  recording.domains.back()->name = name;
  *domain = reinterpret_cast<OrtCustomOpDomain*>(recording.domains.back().get());
  return nullptr;
}
OrtStatus* add_operator(OrtCustomOpDomain* domain, const OrtCustomOp* op) noexcept {
  reinterpret_cast<RecordedDomain*>(domain)->operators.push_back(op);
  return nullptr;
}
OrtStatus* add_domain(OrtSessionOptions*, OrtCustomOpDomain* domain) noexcept {
  recording.added.push_back(reinterpret_cast<RecordedDomain*>(domain));
  return nullptr;
}
void release_nothing(OrtCustomOpDomain*) noexcept {}
OrtErrorCode error_code(const OrtStatus* status) noexcept { return read_status(status).code; }
const char* error_message(const OrtStatus* status) noexcept { return read_status(status).message.c_str(); }
void release_status(OrtStatus* status) noexcept { delete reinterpret_cast<RecordedStatus*>(status); }
OrtStatus* has_no_entry(const OrtSessionOptions*, const char*, int* out) noexcept {
  *out = 0;
  return nullptr;
}

/// Has room for functions of versions that this build does not know.
constexpr size_t most_functions = 2048;
std::array<void*, most_functions> functions;

const OrtApi* get_api(uint32_t) noexcept { return reinterpret_cast<const OrtApi*>(functions.data()); }
const char* get_version() noexcept { return "1.32.0"; }
constexpr OrtApiBase base{get_api, get_version};

void prepare() {
  functions.fill(reinterpret_cast<void*>(&not_while_listing));
  OrtApi api;
  std::memcpy(static_cast<void*>(&api), functions.data(), sizeof api);
  api.CreateStatus = make_status;
  api.GetErrorCode = error_code;
  api.GetErrorMessage = error_message;
  api.ReleaseStatus = release_status;
  api.CreateCustomOpDomain = create_domain;
  api.CustomOpDomain_Add = add_operator;
  api.AddCustomOpDomain = add_domain;
  api.ReleaseCustomOpDomain = release_nothing;
  api.HasSessionConfigEntry = has_no_entry;
  std::memcpy(functions.data(), static_cast<const void*>(&api), sizeof api);
}

const char* arity_word(OrtCustomOpInputOutputCharacteristic kind) {
  switch (kind) {
    case INPUT_OUTPUT_OPTIONAL:
      return "optional";
    case INPUT_OUTPUT_VARIADIC:
      return "variadic";
    default:
      return "required";
  }
}

/// Lists the types of the ports of one kernel; what is open takes the place of `undefined`.
ordered_json types_of(const std::vector<DataType>& types, DataType open) {
  ordered_json names = ordered_json::array();
  for (const DataType type : types) names.push_back(type_name(type == DataType::undefined ? open : type));
  return names;
}

/// Serve for a port whose type the library leaves open.
constexpr DataType open_types[] = {
    DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16, DataType::int8,
    DataType::int16,   DataType::int32,   DataType::int64,   DataType::uint8,    DataType::uint16,
    DataType::uint32,  DataType::uint64,  DataType::boolean, DataType::string};

class Writer {
 public:
  void add(const std::string& domain, const OrtCustomOp& op) {
    const char* named = op.GetName(&op);
    if (!named) throw std::runtime_error(fmt::format("an operator of domain {} has no name", domain));
    const std::string name = named;
    std::vector<DataType> inputs, outputs;
    ordered_json input_ports = ordered_json::array(), output_ports = ordered_json::array();
    for (size_t i = 0; i < op.GetInputTypeCount(&op); ++i) {
      inputs.push_back(static_cast<DataType>(op.GetInputType(&op, i)));
      const auto kind = op.GetInputCharacteristic ? op.GetInputCharacteristic(&op, i) : INPUT_OUTPUT_REQUIRED;
      input_ports.push_back({{"name", i ? fmt::format("x{}", i) : "x"}, {"arity", arity_word(kind)}});
    }
    for (size_t i = 0; i < op.GetOutputTypeCount(&op); ++i) {
      outputs.push_back(static_cast<DataType>(op.GetOutputType(&op, i)));
      const auto kind =
          op.GetOutputCharacteristic ? op.GetOutputCharacteristic(&op, i) : INPUT_OUTPUT_REQUIRED;
      output_ports.push_back({{"name", i ? fmt::format("y{}", i) : "y"}, {"arity", arity_word(kind)}});
    }
    const char* provider = op.GetExecutionProviderType ? op.GetExecutionProviderType(&op) : nullptr;
    const std::string where = provider && *provider ? provider : "CPUExecutionProvider";
    const auto [place, fresh] =
        known_.emplace(fmt::format("{}|{}|{}", domain, name, where), operators_.size());
    if (fresh) {
      operators_.push_back(
          {{"domain", domain},
           {"name", name},
           {"since_version", op.version >= 17 && op.GetStartVersion ? op.GetStartVersion(&op) : 1},
           {"kind", "tensor"},
           {"provider", where},
           {"inputs", input_ports},
           {"outputs", output_ports},
           {"overloads", ordered_json::array()},
           {"attributes", ordered_json::array()},
           {"shape", op.version >= 17 && op.InferOutputShapeFn ? "function" : "computed"},
           {"definitions", ordered_json::array()}});
    }
    ordered_json& overloads = operators_[place->second]["overloads"];
    const auto is_open = [](DataType type) { return type == DataType::undefined; };
    const bool open = std::any_of(inputs.begin(), inputs.end(), is_open) ||
                      std::any_of(outputs.begin(), outputs.end(), is_open);
    for (const DataType type : open_types) {
      overloads.push_back({{"inputs", types_of(inputs, type)}, {"outputs", types_of(outputs, type)}});
      if (!open) break;
    }
  }

  std::string text() const {
    return ordered_json{{"graft", {{"abi", 1}, {"version", ""}}}, {"operators", operators_}}.dump();
  }

 private:
  ordered_json operators_ = ordered_json::array();
  std::map<std::string, size_t> known_;
};

}  // namespace

std::string record_operators(void* register_custom_ops) {
  prepare();
  // The options are only handed on to the functions above; none looks inside.
  int options = 0;
  using Register = OrtStatus*(ORT_API_CALL*)(OrtSessionOptions*, const OrtApiBase*);
  const OrtStatus* status =
      reinterpret_cast<Register>(register_custom_ops)(reinterpret_cast<OrtSessionOptions*>(&options), &base);
  if (status) throw std::runtime_error(read_status(status).message);
  Writer writer;
  for (const RecordedDomain* domain : recording.added) {
    for (const OrtCustomOp* op : domain->operators) writer.add(domain->name, *op);
  }
  return writer.text();
}

}  // namespace graft::runtime
