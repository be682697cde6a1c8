#include "runtime/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <graft/describe_abi.h>
#include <onnxruntime_c_api.h>

#include <csignal>
#include <cstring>

#include "runtime/child.h"
#include "runtime/recording.h"
#include "runtime/shared_object.h"

namespace graft::runtime {
namespace {

// What the child says, in this order; the last one tells how far it came.
constexpr const char* loading = "loading";
constexpr const char* loaded = "loaded";
constexpr const char* not_loaded = "not loaded";  // then the loader's text
constexpr const char* recorded = "recorded";          // then the JSON
constexpr const char* not_recorded = "not recorded";  // then why not
constexpr const char* no_symbol = "no symbol";
constexpr const char* other_abi = "other abi";
constexpr const char* described = "described";  // then the JSON

void record_in_child(void* register_custom_ops, const Say& say) {
  if (!register_custom_ops) {
    say(no_symbol);
    return;
  }
  try {
    const std::string json = record_operators(register_custom_ops);
    say(recorded);
    say(json);
  } catch (const std::exception& error) {
    say(not_recorded);
    say(error.what());
  }
}

void describe_in_child(const std::filesystem::path& file, const Say& say) {
  say(loading);
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* text = dlerror();
    say(not_loaded);
    say(text ? text : "");
    return;
  }
  say(loaded);
  const auto describe = reinterpret_cast<decltype(&graft_describe)>(dlsym(handle, "graft_describe"));
  if (!describe) {
    record_in_child(dlsym(handle, "RegisterCustomOps"), say);
    return;
  }
  const graft_library* library = describe(GRAFT_ABI);
  if (!library || library->size < sizeof(graft_library) || library->abi != GRAFT_ABI || !library->json) {
    say(other_abi);
    return;
  }
  say(described);
  say(library->json);
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

/// Throws what a child that did not finish died of.
void refuse_bad_end(const ChildResult& result, const std::string& name, const char* stage,
                    std::chrono::milliseconds patience) {
  switch (result.end) {
    case ChildEnd::killed:
      throw InputError(fmt::format("{}: crashed {} ({})", name, stage, signal_name(result.number)));
    case ChildEnd::left:
      throw InputError(fmt::format("{}: ended the process {} (exit code {})", name, stage, result.number));
    case ChildEnd::hung:
      throw InputError(fmt::format("{}: hung {} (gave up after {:.3g} s)", name, stage,
                                   static_cast<double>(patience.count()) / 1000));
    case ChildEnd::finished:
      break;
  }
}

}  // namespace

LibraryDescription describe_library(const std::filesystem::path& file, std::chrono::milliseconds patience) {
  const std::string name = file.string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) throw InputError(explain_load_failure(file, ""));
  const std::filesystem::path absolute =
      std::filesystem::absolute(file);  // dlopen searches for a bare name elsewhere
  const ChildResult result =
      run_in_child([&](const Say& say) { describe_in_child(absolute, say); }, patience);

  const std::vector<std::string>& said = result.messages;
  refuse_bad_end(result, name, said.size() > 1 ? "while it described itself" : "while it was loaded",
                 patience);
  const std::string& last = said.back();
  if (said.size() > 1 && said[said.size() - 2] == described) return parse_description(last, file);
  if (said.size() > 1 && said[said.size() - 2] == not_loaded)
    throw InputError(explain_load_failure(absolute, last));
  if (said.size() > 1 && said[said.size() - 2] == recorded) {
    LibraryDescription library = parse_description(last, file);
    library.recorded = true;
    if (library.operators.empty()) throw InputError(fmt::format("{}: registers no operator", name));
    return library;
  }
  if (said.size() > 1 && said[said.size() - 2] == not_recorded)
    throw InputError(fmt::format("{}: its operators cannot be listed: {}", name, last));
  if (last == no_symbol) {
    throw InputError(fmt::format(
        "{}: not an operator library (it exports neither graft_describe nor RegisterCustomOps)", name));
  }
  throw InputError(fmt::format(
      "{}: gives no description for ABI {}: it was built with another version of Graft, or its operators "
      "contradict each other (loading it in ONNX Runtime then says how)",
      name, GRAFT_ABI));
}

void try_library(const Runtime& runtime, const std::filesystem::path& file,
                 std::chrono::milliseconds patience) {
  const std::string name = file.string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) throw InputError(explain_load_failure(file, ""));
  const std::filesystem::path absolute = std::filesystem::absolute(file);
  const ChildResult result = run_in_child(
      [&](const Say& say) {
        say(loading);
        if (!dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL)) {
          const char* text = dlerror();
          say(not_loaded);
          say(text ? text : "");
          return;
        }
        say(loaded);
        const OrtApi& api = runtime.api();
        OrtSessionOptions* options = nullptr;
        OrtStatus* status = api.CreateSessionOptions(&options);
        if (!status) status = api.RegisterCustomOpsLibrary_V2(options, absolute.c_str());
        if (status) say(api.GetErrorMessage(status));
      },
      patience);
  const std::vector<std::string>& said = result.messages;
  refuse_bad_end(result, name,
                 said.size() > 1 ? "while ONNX Runtime registered its operators" : "while it was loaded",
                 patience);
  if (said.size() < 3) {
    if (said.back() == loaded) return;
  } else if (said[1] == not_loaded) {
    throw InputError(explain_load_failure(absolute, said[2]));
  }
  throw OrtError(name, ORT_FAIL, said.back());
}

}  // namespace graft::runtime
