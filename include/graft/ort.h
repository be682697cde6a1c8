// RegisterCustomOps: hands a library's operators to ONNX Runtime. With its folder ort/, the only part that knows ORT.
//
// One binary serves ORT 1.15 and newer: it asks the runtime for the smaller of the runtime's API version and its own, and
// uses what is newer than 1.15 only where it is there: statuses from callbacks (1.16), shape inference and ORT's threads
// (1.17), in-place outputs (1.18), shapes without an allocation (1.24).
#pragma once

#include <algorithm>
#include <list>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>

#include "graft/describe.h"
#include "graft/module.h"
#include "graft/ort/api.h"
#include "graft/ort/call.h"
#include "graft/ort/inference.h"
#include "graft/ort/node.h"

namespace graft::detail {

inline const OrtOperator& self(const OrtCustomOp* op) { return *static_cast<const OrtOperator*>(op); }

/// Runs `work` and turns what it throws into ORT's status. The one boundary between exceptions and statuses.
template <class Work>
OrtStatus* as_status(const OrtApi& api, Work work) noexcept {
  try {
    work();
    return nullptr;
  } catch (const std::exception& error) {
    return api.CreateStatus(ORT_FAIL, error.what());
  } catch (...) {
    return api.CreateStatus(ORT_FAIL, "an operator threw something that is not a std::exception");
  }
}

constexpr OrtCustomOpInputOutputCharacteristic characteristic(Arity arity) {
  return arity == Arity::optional   ? INPUT_OUTPUT_OPTIONAL
         : arity == Arity::variadic ? INPUT_OUTPUT_VARIADIC
                                    : INPUT_OUTPUT_REQUIRED;
}

[[gnu::cold]] inline OrtOperator make_ort_operator(const Registration& registration, const Operator& op, const Overload& overload) {
  OrtOperator result{};
  result.op = &op;
  result.overload = &overload;
  result.registration = &registration;
  result.version = registration.version;
  result.GetName = [](const OrtCustomOp* o) { return self(o).op->name.c_str(); };
  result.GetExecutionProviderType = [](const OrtCustomOp*) { return "CPUExecutionProvider"; };
  result.GetInputTypeCount = [](const OrtCustomOp* o) { return self(o).op->inputs.size(); };
  result.GetInputType = [](const OrtCustomOp* o, size_t i) { return ort_type(self(o).overload->inputs[i]); };
  result.GetOutputTypeCount = [](const OrtCustomOp* o) { return self(o).op->outputs.size(); };
  result.GetOutputType = [](const OrtCustomOp* o, size_t i) { return ort_type(self(o).overload->outputs[i]); };
  result.GetInputCharacteristic = [](const OrtCustomOp* o, size_t i) { return characteristic(self(o).op->inputs[i].arity); };
  result.GetOutputCharacteristic = [](const OrtCustomOp* o, size_t i) { return characteristic(self(o).op->outputs[i].arity); };
  result.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  result.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
  result.GetVariadicInputHomogeneity = [](const OrtCustomOp* o) { return int(self(o).overload->any.empty()); };
  result.GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
  result.GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
  result.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  result.GetEndVersion = [](const OrtCustomOp*) { return std::numeric_limits<int>::max(); };

  // 1.15 has no status here: it catches what is thrown and shows the text.
  result.CreateKernel = [](const OrtCustomOp* o, const OrtApi*, const OrtKernelInfo* info) -> void* {
    return make_node(self(o), info).release();
  };
  result.KernelCompute = [](void* kernel, OrtKernelContext* context) { compute_node(kernel, context); };
  result.CreateKernelV2 = [](const OrtCustomOp* o, const OrtApi*, const OrtKernelInfo* info, void** kernel) -> OrtStatusPtr {
    return as_status(*self(o).registration->api, [&] { *kernel = make_node(self(o), info).release(); });
  };
  result.KernelComputeV2 = [](void* kernel, OrtKernelContext* context) -> OrtStatusPtr {
    return as_status(*static_cast<OrtNode*>(kernel)->type->registration->api, [&] { compute_node(kernel, context); });
  };
  result.KernelDestroy = [](void* kernel) { delete static_cast<OrtNode*>(kernel); };
  const bool optional = std::ranges::any_of(op.inputs, [](const Argument& a) { return a.arity == Arity::optional; });
  if (registration.version >= kApiWithInference && (!optional || registration.runtime >= kRuntimeWithOptionalInference)) {
    result.InferOutputShapeFn = [](const OrtCustomOp* o, OrtShapeInferContext* context) -> OrtStatusPtr {
      return as_status(*self(o).registration->api, [&] { infer_shapes(self(o), context); });
    };
  }
  if (registration.version >= kApiWithInPlace) {
    result.GetMayInplace = overload.may_inplace;
    result.ReleaseMayInplace = [](int* inputs, int* outputs) {
      delete[] inputs;
      delete[] outputs;
    };
  }
  return result;
}

// ---- registration ------------------------------------------------------------------------------------------------

/// Finds or makes this library's registration in the runtime. One set of domain objects serves all sessions.
[[gnu::cold]] inline const Registration& registration_in(const OrtApiBase* base, const OrtApi* api, uint32_t runtime, uint32_t version) {
  static std::mutex mutex;
  static std::list<Registration> all;
  const std::scoped_lock lock(mutex);
  for (const Registration& known : all) {
    if (known.base == base) return known;
  }
  const std::list<Operator>& ops = operators();
  Registration& made = all.emplace_back(base, api, runtime, version);
  try {
    check(*api, api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &made.cpu));
    for (const Operator& op : ops) {
      auto found = std::ranges::find(made.domains, op.domain, [](const auto& d) { return d.first; });
      if (found == made.domains.end()) {
        OrtCustomOpDomain* domain = nullptr;
        check(*api, api->CreateCustomOpDomain(op.domain.c_str(), &domain));
        found = made.domains.emplace(made.domains.end(), op.domain, domain);
      }
      for (const Overload& overload : op.overloads) {
        const auto unknown = [&](DType dtype) { return made.runtime < first_runtime_with(dtype); };
        if (std::ranges::any_of(overload.inputs, unknown) || std::ranges::any_of(overload.outputs, unknown)) continue;
        made.operators.push_back(make_ort_operator(made, op, overload));
        check(*api, api->CustomOpDomain_Add(found->second, &made.operators.back()));
      }
    }
  } catch (...) {
    all.pop_back();
    throw;
  }
  return made;
}

inline OrtStatus* register_operators(OrtSessionOptions* options, const OrtApiBase* base) {
  const uint32_t runtime = minor_version(base->GetVersionString());
  const uint32_t version = std::min<uint32_t>(runtime, ORT_API_VERSION);
  const OrtApi* api = base->GetApi(version);
  if (api == nullptr) return nullptr;  // not a runtime 1.x: there is no way to say so
  return as_status(*api, [&] {
    if (version < kOldestApi) {
      fail("this library was made with Graft ", GRAFT_VERSION, " and needs ONNX Runtime 1.", kOldestApi,
           " or newer, this is ", base->GetVersionString());
    }
    for (const auto& [name, domain] : registration_in(base, api, runtime, version).domains) {
      check(*api, api->AddCustomOpDomain(options, domain));
    }
  });
}

}  // namespace graft::detail

extern "C" {
/// Registers this library's operators with a session; ORT calls it.
GRAFT_EXPORT inline OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  return graft::detail::register_operators(options, base);
}
}
