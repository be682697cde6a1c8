// Puts two operator libraries through what a long-lived process does to them, with ORT's C API alone.
//
//   lifetime SCENARIO RUNTIME MODEL BAD_MODEL LIBRARY LIBRARY [ROUNDS]
//
// MODEL multiplies the floats x by six, through both libraries; it fails when the first is negative.
// BAD_MODEL cannot be made a session of. Prints the resident memory where a scenario repeats itself; exit
// code 1 with a line says what is wrong.
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

const OrtApiBase* base = nullptr;
const OrtApi* ort = nullptr;
OrtEnv* env = nullptr;
std::vector<std::string> libraries;
std::string model, bad_model;
int rounds = 500;

[[noreturn]] void wrong(const std::string& text) { throw std::runtime_error(text); }

/// Gives ORT's text and frees the status; empty when there is none.
std::string text_of(OrtStatus* status) {
  if (status == nullptr) return {};
  std::string text = ort->GetErrorMessage(status);
  ort->ReleaseStatus(status);
  return text;
}
void check(OrtStatus* status) {
  if (const std::string text = text_of(status); !text.empty()) wrong(text);
}

template <class T> using Owned = std::unique_ptr<T, void (*)(T*)>;

void* open_library(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) wrong(dlerror());
  return handle;
}

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) wrong(std::string("cannot read ") + path);
  return bytes;
}

/// Makes options with both libraries, which ORT loads and unloads: the usual way.
Owned<OrtSessionOptions> options_with_libraries(int threads = 1) {
  OrtSessionOptions* raw = nullptr;
  check(ort->CreateSessionOptions(&raw));
  Owned<OrtSessionOptions> options(raw, ort->ReleaseSessionOptions);
  check(ort->SetIntraOpNumThreads(raw, threads));
  // Threads that spin while they wait take the time of those that work, where there are fewer processors.
  check(ort->AddSessionConfigEntry(raw, "session.intra_op.allow_spinning", "0"));
  for (const std::string& library : libraries) check(ort->RegisterCustomOpsLibrary_V2(raw, library.c_str()));
  return options;
}

Owned<OrtSession> session_of(const std::string& bytes, const OrtSessionOptions* options) {
  OrtSession* raw = nullptr;
  check(ort->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &raw));
  return {raw, ort->ReleaseSession};
}

/// Runs a session on `size` floats; gives ORT's text when it fails.
std::string run(OrtSession* session, float first, size_t size = 5) {
  OrtMemoryInfo* raw_memory = nullptr;
  check(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &raw_memory));
  const Owned<OrtMemoryInfo> memory(raw_memory, ort->ReleaseMemoryInfo);
  constexpr float numbers[] = {0, 1, -2, 3.5f, 100};
  std::vector<float> x(size);
  for (size_t i = 0; i < size; ++i) x[i] = i == 0 ? first : numbers[i % 5];
  const int64_t shape[] = {int64_t(x.size())};
  OrtValue* raw_input = nullptr;
  check(ort->CreateTensorWithDataAsOrtValue(raw_memory, x.data(), x.size() * sizeof(float), shape, 1,
                                            ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &raw_input));
  const Owned<OrtValue> input(raw_input, ort->ReleaseValue);
  const char* input_names[] = {"x"};
  const char* output_names[] = {"y"};
  OrtValue* raw_output = nullptr;
  const std::string text =
      text_of(ort->Run(session, nullptr, input_names, &raw_input, 1, output_names, 1, &raw_output));
  const Owned<OrtValue> output(raw_output, ort->ReleaseValue);
  if (!text.empty()) return text;
  float* y = nullptr;
  check(ort->GetTensorMutableData(raw_output, reinterpret_cast<void**>(&y)));
  for (size_t i = 0; i < x.size(); ++i) {
    if (y[i] != 6 * x[i]) wrong("got " + std::to_string(y[i]) + " for " + std::to_string(x[i]));
  }
  return {};
}

void run_well(OrtSession* session, size_t size = 5) {
  if (const std::string text = run(session, 7, size); !text.empty()) wrong("a run failed: " + text);
}

void expect(const std::string& text, const char* part) {
  if (text.find(part) == std::string::npos)
    wrong(std::string("expected an error with \"") + part + "\", got \"" + text + "\"");
}

/// Creates, runs and destroys; then a session that cannot be made, and a run that fails.
void one_round() {
  const Owned<OrtSessionOptions> options = options_with_libraries();
  const Owned<OrtSession> session = session_of(model, options.get());
  run_well(session.get());
  expect(run(session.get(), -1),
         R"(lifetime.double::Window (node "window"): x begins with a negative number)");
  OrtSession* none = nullptr;
  expect(text_of(ort->CreateSessionFromArray(env, bad_model.data(), bad_model.size(), options.get(), &none)),
         R"(lifetime.triple::Window (node "window"): n must be at least 1, got 0)");
}

long resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") {
      long kilobytes = 0;
      status >> kilobytes;
      return kilobytes;
    }
  }
  wrong("/proc/self/status has no VmRSS");
}

/// Prints "rounds kilobytes" ten times; the caller judges.
void many_rounds() {
  for (int i = 1; i <= rounds; ++i) {
    one_round();
    if (i % std::max(1, rounds / 10) == 0) std::printf("%d %ld\n", i, resident_kilobytes());
  }
}

/// The same while the program holds the libraries, so that ORT does not load and unload them in every round.
void many_rounds_loaded() {
  for (const std::string& library : libraries) open_library(library);
  many_rounds();
}

/// Runs `work` in `count` threads that begin together, and passes on what one of them throws.
void in_threads(int count, const std::function<void(int)>& work) {
  std::latch begin(count);
  std::vector<std::string> errors(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      begin.arrive_and_wait();
      try {
        work(t);
      } catch (const std::exception& error) {
        errors[size_t(t)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) {
    if (!error.empty()) wrong(error);
  }
}

/// The first registration of the process happens in eight threads at once; each goes on creating and
/// destroying.
///
/// ORT makes a domain known to the process when the first session with it is created, and does not lock for
/// it: eight first sessions at once fail with "domain is already exist". So one thread is first there, once
/// all have registered.
void register_in_threads() {
  std::latch all_registered(8);
  std::once_flag first;
  in_threads(8, [&](int) {
    const Owned<OrtSessionOptions> options = options_with_libraries();
    all_registered.arrive_and_wait();
    std::call_once(first, [&] { run_well(session_of(model, options.get()).get()); });
    run_well(session_of(model, options.get()).get());
    for (int i = 0; i < std::max(1, rounds / 20); ++i) one_round();
  });
}

/// Like the first, with libraries that the program loads itself and that stay.
void register_loaded_in_threads() {
  using Register = OrtStatus* (*)(OrtSessionOptions*, const OrtApiBase*);
  std::vector<Register> entries;
  for (const std::string& library : libraries) {
    entries.push_back(reinterpret_cast<Register>(dlsym(open_library(library), "RegisterCustomOps")));
    if (entries.back() == nullptr) wrong(library + " has no RegisterCustomOps");
  }
  const auto registered = [&] {
    OrtSessionOptions* raw = nullptr;
    check(ort->CreateSessionOptions(&raw));
    Owned<OrtSessionOptions> options(raw, ort->ReleaseSessionOptions);
    for (Register entry : entries) check(entry(raw, base));
    return options;
  };
  std::latch all_registered(8);
  std::once_flag first;
  in_threads(8, [&](int) {
    const Owned<OrtSessionOptions> options = registered();
    all_registered.arrive_and_wait();
    std::call_once(first, [&] { run_well(session_of(model, options.get()).get()); });
    for (int i = 0; i < std::max(1, rounds / 20); ++i) run_well(session_of(model, registered().get()).get());
  });
}

/// Many sessions at a time, of one and of several options, run from threads and ended in another order.
void many_sessions() {
  std::vector<Owned<OrtSession>> sessions;
  const Owned<OrtSessionOptions> shared = options_with_libraries();
  for (int i = 0; i < 25; ++i) {
    sessions.push_back(session_of(model, shared.get()));
    sessions.push_back(session_of(model, options_with_libraries().get()));
  }
  in_threads(4, [&](int t) {
    for (int i = 0; i < std::max(1, rounds / 10); ++i)
      run_well(sessions[size_t(i * 7 + t) % sessions.size()].get());
  });
  std::mt19937 order(3);
  std::ranges::shuffle(sessions, order);
  while (sessions.size() > 1) {
    sessions.pop_back();
    run_well(sessions.front().get());
  }
}

/// One session with four threads of its own, called from four at once, on tensors that are split over
/// threads.
void one_session_in_threads() {
  const Owned<OrtSession> session = session_of(model, options_with_libraries(4).get());
  in_threads(4, [&](int t) {
    for (int i = 0; i < std::max(1, rounds / 20); ++i) run_well(session.get(), 100000 + size_t(t));
  });
}

/// Sessions that outlive their options.
void session_outlives_options() {
  for (int i = 0; i < std::max(1, rounds / 10); ++i) {
    Owned<OrtSessionOptions> options = options_with_libraries();
    const Owned<OrtSession> first = session_of(model, options.get()),
                            second = session_of(model, options.get());
    options.reset();
    run_well(first.get());
    run_well(second.get());
  }
}

/// The program ends while sessions, options and libraries are in use, as a Python program does.
void exit_in_use() {
  static OrtSessionOptions* options = options_with_libraries().release();
  static OrtSession* session = session_of(model, options).release();
  run_well(session);
  std::exit(0);
}

/// ORT's environment is ended and made anew; what a library keeps for the runtime serves again.
void new_environment() {
  for (int i = 0; i < 5; ++i) {
    one_round();
    ort->ReleaseEnv(env);
    check(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "lifetime", &env));
  }
}

const std::map<std::string, void (*)()> scenarios{
    {"many_rounds", many_rounds},
    {"many_rounds_loaded", many_rounds_loaded},
    {"register_in_threads", register_in_threads},
    {"register_loaded_in_threads", register_loaded_in_threads},
    {"many_sessions", many_sessions},
    {"one_session_in_threads", one_session_in_threads},
    {"session_outlives_options", session_outlives_options},
    {"exit_in_use", exit_in_use},
    {"new_environment", new_environment},
};

}  // namespace

int main(int count, char** words) {
  try {
    if (count < 7 || !scenarios.contains(words[1])) {
      wrong("usage: lifetime SCENARIO RUNTIME MODEL BAD_MODEL LIBRARY LIBRARY [ROUNDS]");
    }
    const auto get_base =
        reinterpret_cast<const OrtApiBase* (*)()>(dlsym(open_library(words[2]), "OrtGetApiBase"));
    if (get_base == nullptr) wrong("the runtime has no OrtGetApiBase");
    base = get_base();
    ort = base->GetApi(15);
    model = read(words[3]);
    bad_model = read(words[4]);
    libraries = {words[5], words[6]};
    if (count > 7) rounds = std::atoi(words[7]);
    check(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "lifetime", &env));
    scenarios.at(words[1])();
    ort->ReleaseEnv(env);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lifetime: %s\n", error.what());
    return 1;
  }
}
