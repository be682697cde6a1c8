// Operator libraries written against the C API, without Graft: one that is right (domain raw.ops, operator Twice), and, with
// one of these names defined, some that are wrong in one way each.
#include <onnxruntime_c_api.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

int absent_function(int);
int dependency_function(int);

namespace {

const OrtApi* api = nullptr;

struct Twice : OrtCustomOp {
  explicit Twice(ONNXTensorElementDataType element) : OrtCustomOp{}, type(element) {
    version = 16;
    CreateKernel = [](const OrtCustomOp*, const OrtApi*, [[maybe_unused]] const OrtKernelInfo* info) -> void* {
#ifdef NEEDS_ATTRIBUTE
      float alpha = 0;
      if (OrtStatus* status = api->KernelInfoGetAttribute_float(info, "alpha", &alpha))
        throw std::runtime_error(api->GetErrorMessage(status));
#endif
      return nullptr;
    };
    GetName = [](const OrtCustomOp*) { return "Twice"; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* {
#ifdef FOR_CUDA
      return "CUDAExecutionProvider";
#else
      return nullptr;
#endif
    };
    GetInputType = [](const OrtCustomOp* op, size_t) { return static_cast<const Twice*>(op)->type; };
    GetInputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
    GetOutputType = GetInputType;
    GetOutputTypeCount = GetInputTypeCount;
    KernelCompute = [](void*, OrtKernelContext* context) {
      const OrtValue* x = nullptr;
      OrtTensorTypeAndShapeInfo* info = nullptr;
      OrtValue* y = nullptr;
      size_t rank = 0, count = 0;
      int64_t shape[8];
      void *from = nullptr, *to = nullptr;
      (void)api->KernelContext_GetInput(context, 0, &x);
      (void)api->GetTensorTypeAndShape(x, &info);
      (void)api->GetDimensionsCount(info, &rank);
      (void)api->GetDimensions(info, shape, rank);
      (void)api->GetTensorShapeElementCount(info, &count);
      api->ReleaseTensorTypeAndShapeInfo(info);
      (void)api->KernelContext_GetOutput(context, 0, shape, rank, &y);
      (void)api->GetTensorMutableData(const_cast<OrtValue*>(x), &from);
      (void)api->GetTensorMutableData(y, &to);
      for (size_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = 2 * static_cast<const float*>(from)[i];
    };
    KernelDestroy = [](void*) {};
    GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetOutputCharacteristic = GetInputCharacteristic;
    GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicInputHomogeneity = GetVariadicInputMinArity;
    GetVariadicOutputMinArity = GetVariadicInputMinArity;
    GetVariadicOutputHomogeneity = GetVariadicInputMinArity;
  }
  ONNXTensorElementDataType type;
};

[[maybe_unused]] OrtStatus* add_operators(OrtSessionOptions* options, const OrtApiBase* base) {
  static Twice twice(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  api = base->GetApi(16);
  OrtCustomOpDomain* domain = nullptr;
  if (OrtStatus* status = api->CreateCustomOpDomain("raw.ops", &domain)) return status;
  if (OrtStatus* status = api->CustomOpDomain_Add(domain, &twice)) return status;
  return api->AddCustomOpDomain(options, domain);
}

}  // namespace

#if defined(MANGLED)
OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) { return add_operators(options, base); }
#elif defined(NO_ENTRY_POINT)
extern "C" int something_else() { return 1; }
#else
#if defined(HIDDEN)
extern "C" __attribute__((visibility("hidden"), used))
#else
extern "C"
#endif
OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
#if defined(CRASHES)
  std::raise(SIGSEGV);
#elif defined(LEAVES)
  std::exit(3);
#elif defined(HANGS)
  while (true) pause();
#elif defined(NEWER)
  api = base->GetApi(99);
  return api->CreateStatus(ORT_FAIL, "never reached");
#elif defined(REFUSES)
  return base->GetApi(16)->CreateStatus(ORT_FAIL, "the licence has run out");
#elif defined(LINKS_ORT)
  base = OrtGetApiBase();
#elif defined(UNDEFINED)
  return absent_function(1) ? add_operators(options, base) : nullptr;
#elif defined(LACKS_DEPENDENCY)
  return dependency_function(1) ? add_operators(options, base) : nullptr;
#endif
  return add_operators(options, base);
}
#endif
#if defined(DEPENDENCY)
int dependency_function(int x) { return x; }
#endif
