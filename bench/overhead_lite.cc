// The operator y = x + 1 written with ORT's lite custom op header, for bench/overhead.cc.
#define ORT_API_MANUAL_INIT
#include <onnxruntime_lite_custom_op.h>

#include <memory>

namespace {

void add_one(const Ort::Custom::Tensor<float>& x, Ort::Custom::Tensor<float>& y) {
  const auto& shape = x.Shape();
  const float* from = x.Data();
  float* to = y.Allocate(shape);
  for (int64_t i = 0; i < x.NumberOfElement(); ++i) to[i] = from[i] + 1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  Ort::Global<void>::api_ = base->GetApi(ORT_API_VERSION);
  static const std::unique_ptr<Ort::Custom::OrtLiteCustomOp> op{Ort::Custom::CreateLiteCustomOp("AddOne", "CPUExecutionProvider", add_one)};
  static Ort::CustomOpDomain domain = [] {
    Ort::CustomOpDomain made("bench.lite");
    made.Add(op.get());
    return made;
  }();
  Ort::UnownedSessionOptions session_options(options);
  session_options.Add(domain);
  return nullptr;
}
