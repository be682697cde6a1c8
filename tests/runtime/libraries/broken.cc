// Libraries that misbehave; the build defines one of these names for each.
#include <graft/describe_abi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

[[maybe_unused]] void crash() { std::raise(SIGSEGV); }
[[maybe_unused]] void hang() {
  while (true) sleep(1);
}
[[maybe_unused]] void leave() {
  std::puts("noise that must not reach the user");
  std::exit(7);
}

}  // namespace

#if defined(CRASHES_AT_LOAD)
__attribute__((constructor)) void at_load() { crash(); }
#elif defined(LEAVES_AT_LOAD)
__attribute__((constructor)) void at_load() { leave(); }
#elif defined(HANGS_AT_LOAD)
__attribute__((constructor)) void at_load() { hang(); }
#endif

#if defined(CRASHES)
extern "C" const graft_library* graft_describe(uint32_t) {
  crash();
  return nullptr;
}
#elif defined(OTHER_ABI)
extern "C" const graft_library* graft_describe(uint32_t) { return nullptr; }
#elif defined(ONLY_CUSTOM_OPS)
extern "C" void* RegisterCustomOps(void*, const void*) { return nullptr; }
#elif defined(REFUSES_REGISTRATION)
#include <onnxruntime_c_api.h>
extern "C" OrtStatus* RegisterCustomOps(OrtSessionOptions*, const OrtApiBase* base) {
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  OrtEnv* environment = nullptr;
  OrtStatus* refused = api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "x", &environment);  // not there while listing
  if (!refused) return nullptr;
  api->ReleaseStatus(refused);
  return api->CreateStatus(ORT_FAIL, "there is no such device");
}
#elif defined(CRASHES_AT_REGISTRATION)
extern "C" void* RegisterCustomOps(void*, const void*) {
  crash();
  return nullptr;
}
#elif defined(LACKS_DEPENDENCY)
extern "C" int from_the_dependency();
extern "C" int use() { return from_the_dependency(); }
#elif defined(LINKS_ORT)
extern "C" const void* OrtGetApiBase();
extern "C" const void* use() { return OrtGetApiBase(); }
#elif defined(DEPENDENCY)
extern "C" int from_the_dependency() { return 1; }
#endif
