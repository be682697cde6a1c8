#include "check/plain_entry.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <graft/describe_abi.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "check/models.h"
#include "runtime/tensor_proto.h"

namespace graft::check {
using runtime::DataType;
using runtime::Shape;
using runtime::Tensor;

namespace {

/// Is the caller's side of one call.
struct Host {
  const AttributeSet& attributes;
  int threads;
  std::vector<Tensor> outputs = {};
  std::vector<std::vector<std::byte>> memory = {};  // of the outputs while the call runs
  std::string failure = {};
  // What an attribute's value points to, until the next one is asked for.
  float number = 0;
  int64_t integer = 0;
  const char* text = nullptr;
  Tensor tensor = {};
  std::vector<graft_string> strings = {};
  graft_value value = {};
};

/// Shows a tensor as the entries take it; `strings` holds what a tensor of strings points to.
graft_value value_of(Tensor& tensor, std::vector<graft_string>& strings) {
  graft_value value{tensor.bytes.data(), static_cast<int32_t>(tensor.type),
                    static_cast<int32_t>(tensor.shape.size()), tensor.shape.data()};
  if (tensor.type == DataType::string) {
    for (const std::string& text : tensor.strings) strings.push_back({text.data(), text.size()});
    value.data = strings.data();
  }
  return value;
}

Host& host_of(void* state) { return *static_cast<Host*>(state); }

/// Gives where an output lies: at 16 bytes beyond a multiple of 64.
std::byte* output_memory(Host& host, size_t output) {
  std::byte* start = host.memory[output].data();
  return start + (16 + 64 - reinterpret_cast<uintptr_t>(start) % 64) % 64;
}

void* allocate(void* state, size_t output, int32_t dtype, const int64_t* shape, size_t rank) {
  Host& host = host_of(state);
  if (output >= host.outputs.size()) return nullptr;
  Tensor& tensor = host.outputs[output] = Tensor::zeros(DataType(dtype), Shape(shape, shape + rank));
  // ORT's outputs begin at multiples of 64 bytes. The entries promise no more than 16, so they get no more.
  host.memory[output].assign(tensor.bytes.size() + 128, std::byte{0});
  return output_memory(host, output);
}

int find_attribute(void* state, const char* name, int32_t type, const void** data, size_t* count) {
  Host& host = host_of(state);
  for (const onnx::AttributeProto& attribute : host.attributes.given) {
    if (attribute.name() != name) continue;
    if (attribute.type() != type) return -1;
    *count = 1;
    switch (attribute.type()) {
      case onnx::AttributeProto::FLOAT:
        host.number = attribute.f(), *data = &host.number;
        return 1;
      case onnx::AttributeProto::INT:
        host.integer = attribute.i(), *data = &host.integer;
        return 1;
      case onnx::AttributeProto::STRING:
        host.text = attribute.s().c_str(), *data = &host.text;
        return 1;
      case onnx::AttributeProto::FLOATS:
        *data = attribute.floats().data(), *count = static_cast<size_t>(attribute.floats_size());
        return 1;
      case onnx::AttributeProto::INTS:
        *data = attribute.ints().data(), *count = static_cast<size_t>(attribute.ints_size());
        return 1;
      case onnx::AttributeProto::TENSOR:
        host.tensor = runtime::tensor_from_proto(attribute.t());
        host.strings.clear();
        host.value = value_of(host.tensor, host.strings), *data = &host.value;
        return 1;
      default:
        return -1;
    }
  }
  return 0;
}

void parallel_for(void* state, void (*task)(void*, size_t), size_t count, void* argument) {
  std::atomic<size_t> next{0}, waiting{std::min(count, static_cast<size_t>(host_of(state).threads))};
  const size_t workers = waiting;
  const auto work = [&] {
    // All begin at once, so that what one block writes into another's memory shows.
    for (--waiting; waiting > 0;) std::this_thread::yield();
    for (size_t i = next++; i < count; i = next++) task(argument, i);
  };
  std::vector<std::jthread> others;
  for (size_t thread = 1; thread < workers; ++thread) others.emplace_back(work);
  if (workers > 0) work();
}

void fail(void* state, const char* message) { host_of(state).failure = message ? message : ""; }

int put_strings(void* state, size_t output, const graft_string* strings, const int64_t* shape, size_t rank) {
  Host& host = host_of(state);
  if (output >= host.outputs.size()) return 1;
  Tensor& tensor = host.outputs[output] = Tensor::zeros(DataType::string, Shape(shape, shape + rank));
  for (size_t i = 0; i < tensor.count(); ++i) tensor.strings[i].assign(strings[i].data, strings[i].size);
  return 0;
}

const char* option(void*, const char*) { return nullptr; }

const graft_entry* entry_of(const graft_library* library, const Subject& subject) {
  for (size_t i = 0; library && i < library->entry_count; ++i) {
    const graft_entry& entry = library->entries[i];
    if (entry.overload == subject.overload && entry.domain == subject.op.domain &&
        entry.name == subject.op.name)
      return &entry;
  }
  return nullptr;
}

}  // namespace

PlainEntries::PlainEntries(const std::filesystem::path& library) {
  void* handle = dlopen(std::filesystem::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(fmt::format("{}: cannot be loaded: {}", library.string(), dlerror()));
  if (const auto describe = reinterpret_cast<decltype(&graft_describe)>(dlsym(handle, "graft_describe")))
    library_ = describe(GRAFT_ABI);
}

bool PlainEntries::has(const Subject& subject) const { return entry_of(library_, subject) != nullptr; }

std::vector<Tensor> PlainEntries::call(const Subject& subject, const Case& one,
                                       const AttributeSet& attributes, int threads) const {
  const graft_entry* entry = entry_of(library_, subject);
  if (!entry) throw EntryError("there is no such entry");
  Host host{.attributes = attributes, .threads = threads};
  host.outputs.resize(outputs_of(subject).size());
  host.memory.resize(host.outputs.size());
  std::vector<std::vector<graft_string>> strings;
  std::vector<graft_value> values;
  std::vector<Tensor> inputs = one.inputs;  // an operator that writes into its input must not spoil the case
  for (Tensor& tensor : inputs) {
    values.push_back(value_of(tensor, strings.emplace_back()));
  }
  const graft_host interface {
    sizeof(graft_host),
        &host, allocate, find_attribute, threads > 1 ? parallel_for : nullptr, fail, put_strings, option
  };
  if (entry->call(entry, &interface, values.data(), values.size(), host.outputs.size()) != 0)
    throw EntryError(host.failure);
  for (size_t i = 0; i < host.outputs.size(); ++i) {
    std::vector<std::byte>& bytes = host.outputs[i].bytes;
    if (!bytes.empty()) std::memcpy(bytes.data(), output_memory(host, i), bytes.size());
  }
  return std::move(host.outputs);
}

}  // namespace graft::check
