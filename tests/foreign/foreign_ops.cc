// Operators that Graft has no part in, written with ORT's own lite header: for describe, inject and eject.
#define ORT_API_MANUAL_INIT
#include <onnxruntime_lite_custom_op.h>

#include <memory>
#include <vector>

namespace {

/// Is y = x for x > 0, else alpha * x; the attribute is read by hand, so nobody but this code knows of it.
template <class T> struct Leaky {
  Leaky(const OrtApi*, const OrtKernelInfo* info) {
    alpha = Ort::ConstKernelInfo(info).GetAttribute<float>("alpha");
  }
  void Compute(const Ort::Custom::Tensor<T>& x, Ort::Custom::Tensor<T>& y) {
    const T* from = x.Data();
    T* to = y.Allocate(x.Shape());
    for (int64_t i = 0; i < x.NumberOfElement(); ++i)
      to[i] = from[i] > 0 ? from[i] : static_cast<T>(alpha) * from[i];
  }
  float alpha;
};

void hard_swish(const Ort::Custom::Tensor<float>& x, Ort::Custom::Tensor<float>& y) {
  const float* from = x.Data();
  float* to = y.Allocate(x.Shape());
  for (int64_t i = 0; i < x.NumberOfElement(); ++i) {
    const float t = from[i] + 3;
    const float clipped = t < 0 ? 0 : t > 6 ? 6 : t;  // a NaN stays one
    to[i] = from[i] * clipped / 6;
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(OrtSessionOptions* options,
                                                                               const OrtApiBase* base) {
  Ort::Global<void>::api_ = base->GetApi(ORT_API_VERSION);
  using Op = std::unique_ptr<Ort::Custom::OrtLiteCustomOp>;
  constexpr const char* cpu = "CPUExecutionProvider";
  static const Op ops[] = {Op{Ort::Custom::CreateLiteCustomOp<Leaky<float>>("Leaky", cpu)},
                           Op{Ort::Custom::CreateLiteCustomOp<Leaky<double>>("Leaky", cpu)},
                           Op{Ort::Custom::CreateLiteCustomOp("HardSwish", cpu, hard_swish)}};
  static Ort::CustomOpDomain domain = [] {
    Ort::CustomOpDomain made("foreign.ops");
    for (const Op& op : ops) made.Add(op.get());
    return made;
  }();
  Ort::UnownedSessionOptions session_options(options);
  session_options.Add(domain);
  return nullptr;
}
