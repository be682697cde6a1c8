// An ONNX Runtime that says it has CUDA and cannot start it, as onnxruntime-gpu does where CUDA's libraries
// are missing: the real one, REAL, with one entry of its API changed.
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <cstring>

namespace {

const OrtApiBase* real = nullptr;
char cpu[] = "CPUExecutionProvider", cuda[] = "CUDAExecutionProvider";

OrtStatus* providers(char*** names, int* count) noexcept {
  *names = new char* [2] { cuda, cpu };
  *count = 2;
  return nullptr;
}
OrtStatus* release(char** names, int) noexcept {
  delete[] names;
  return nullptr;
}

const OrtApi* api(uint32_t version) noexcept {
  static OrtApi changed;
  const OrtApi* whole = real->GetApi(version);
  if (!whole) return nullptr;
  std::memcpy(static_cast<void*>(&changed), whole, sizeof(OrtApi));
  changed.GetAvailableProviders = providers;
  changed.ReleaseAvailableProviders = release;
  return &changed;
}
const char* version() noexcept { return real->GetVersionString(); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const OrtApiBase* OrtGetApiBase() noexcept {
  static void* handle = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
  real = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"))();
  static const OrtApiBase base{api, version};
  return &base;
}
