// The operator y = x + 1 written by hand against ORT's C API, for bench/overhead.cc.
#include <onnxruntime_c_api.h>

#include <vector>

namespace {

const OrtApi* api = nullptr;

OrtStatusPtr compute(void*, OrtKernelContext* context) {
  const OrtValue* x = nullptr;
  if (OrtStatus* status = api->KernelContext_GetInput(context, 0, &x)) return status;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (OrtStatus* status = api->GetTensorTypeAndShape(x, &info)) return status;
  size_t rank = 0, count = 0;
  int64_t dims[8];
  OrtStatus* status = api->GetDimensionsCount(info, &rank);
  if (!status) status = api->GetDimensions(info, dims, rank);
  if (!status) status = api->GetTensorShapeElementCount(info, &count);
  api->ReleaseTensorTypeAndShapeInfo(info);
  if (status) return status;
  OrtValue* y = nullptr;
  if (OrtStatus* s = api->KernelContext_GetOutput(context, 0, dims, rank, &y)) return s;
  void *from = nullptr, *to = nullptr;
  if (OrtStatus* s = api->GetTensorMutableData(const_cast<OrtValue*>(x), &from)) return s;
  if (OrtStatus* s = api->GetTensorMutableData(y, &to)) return s;
  for (size_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = static_cast<const float*>(from)[i] + 1;
  return nullptr;
}

OrtCustomOp make() {
  OrtCustomOp op{};
  op.version = 16;
  op.GetName = [](const OrtCustomOp*) { return "AddOne"; };
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputTypeCount = op.GetOutputTypeCount = [](const OrtCustomOp*) { return size_t(1); };
  op.GetInputType = op.GetOutputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
  op.GetInputCharacteristic = op.GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  op.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  op.CreateKernelV2 = [](const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void** kernel) -> OrtStatusPtr {
    *kernel = nullptr;
    return nullptr;
  };
  op.KernelComputeV2 = compute;
  op.KernelDestroy = [](void*) {};
  return op;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  api = base->GetApi(16);
  static OrtCustomOp op = make();
  static OrtCustomOpDomain* domain = nullptr;
  if (!domain) {
    if (OrtStatus* status = api->CreateCustomOpDomain("bench.raw", &domain)) return status;
    if (OrtStatus* status = api->CustomOpDomain_Add(domain, &op)) return status;
  }
  return api->AddCustomOpDomain(options, domain);
}
