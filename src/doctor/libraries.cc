#include "doctor/libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <set>

#include "runtime/registration.h"
#include "runtime/shared_object.h"

namespace graft::doctor {
namespace {

namespace fs = std::filesystem;
using runtime::ChildEnd;
using runtime::Registration;

/// Reads the N of "1.N.P", which is also the newest API version that this runtime offers.
int minor_version(const std::string& version) {
  int major = 0, minor = 0;
  return std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2 ? minor : 0;
}

std::string end_of(const Registration& seen) {
  if (seen.end == ChildEnd::hung) return "it hung; 20 seconds were waited";
  if (seen.end == ChildEnd::left) return fmt::format("it called exit({})", seen.number);
  return fmt::format("it died of signal {}, {}", seen.number, strsignal(seen.number));
}

void explain_not_loaded(const fs::path& file, const std::string& loader_text, Findings& findings) {
  const std::string name = file.string();
  const std::string text = runtime::explain_load_failure(fs::absolute(file), loader_text);
  const std::string said = text.substr(text.find(": ") + 2);
  Finding* found = nullptr;
  std::error_code error;
  if (!fs::exists(file, error)) {
    found = &findings.add(Cause::library_missing, name);
    found->evidence.push_back(fmt::format("{} does not exist", fs::absolute(file).string()));
    found->cure.push_back("correct the path; a relative one starts at the folder that the program runs in");
    return;
  }
  if (text.find("links ONNX Runtime directly") != std::string::npos) {
    found = &findings.add(Cause::links_onnxruntime, name);
    found->evidence.push_back("it wants the symbol OrtGetApiBase, which is undefined");
    found->cure.push_back(
        "call no OrtGetApiBase in the library: take the OrtApiBase that RegisterCustomOps is given (define "
        "ORT_API_MANUAL_INIT before the C++ header, then Ort::InitApi(base->GetApi(ORT_API_VERSION)))");
    found->cure.push_back("build it without -lonnxruntime");
    return;
  }
  if (const size_t needs = text.find(": needs "); needs != std::string::npos) {
    found = &findings.add(Cause::dependency_missing, name);
    found->evidence.push_back("it " + said.substr(0, said.find(" (")));
    found->cure.push_back(
        "install the library that is named, or add its folder: export LD_LIBRARY_PATH=FOLDER");
    found->cure.push_back(fmt::format("`ldd {}` lists all that it needs", name));
    return;
  }
  if (const size_t symbol = text.find("undefined symbol "); symbol != std::string::npos) {
    found = &findings.add(Cause::symbol_undefined, name);
    found->evidence.push_back("it has the " + text.substr(symbol));
    found->cure.push_back(
        "link the library (or add the source file) that defines it; `c++filt SYMBOL` says what it is in C++");
    return;
  }
  found = &findings.add(Cause::library_unfit, name);
  found->evidence.push_back(said);
  found->cure.push_back("give the shared library (.so) that was built for this machine");
}

void explain_no_entry_point(const fs::path& file, Findings& findings) {
  Finding& found = findings.add(Cause::entry_point_missing, file.string());
  const std::vector<std::string> near = runtime::symbols_like(file, "RegisterCustomOps");
  bool mangled = false, hidden = false;
  for (const std::string& symbol : near) {
    (symbol == "RegisterCustomOps" ? hidden : mangled) = true;
    found.evidence.push_back(symbol == "RegisterCustomOps"
                                 ? "RegisterCustomOps is there, but hidden: other programs cannot see it"
                                 : fmt::format("a near name is there: {}, as C++ mangles it", symbol));
  }
  if (near.empty()) found.evidence.push_back("no symbol with a name like RegisterCustomOps is in it");
  if (mangled) {
    found.cure.push_back(
        "declare it extern \"C\": extern \"C\" OrtStatus* RegisterCustomOps(OrtSessionOptions*, "
        "const OrtApiBase*)");
  } else if (hidden) {
    found.cure.push_back(
        "export it: write __attribute__((visibility(\"default\"))) before it, and name it in the version "
        "script if "
        "there is one");
  } else {
    found.cure.push_back("give a library of operators; with Graft, GRAFT_OPS and graft_add_library make one");
  }
}

void explain_end(const runtime::Runtime& runtime, const fs::path& file, const Registration& seen,
                 Findings& findings) {
  const int newest = minor_version(runtime.version());
  if (seen.asked_version > newest) {
    Finding& found = findings.add(Cause::runtime_too_old, file.string());
    found.evidence.push_back(fmt::format(
        "it asks for version {} of the ONNX Runtime API; ONNX Runtime {} has versions up to {}, so it {}",
        seen.asked_version, runtime.version(), newest,
        seen.end == ChildEnd::finished ? "gives up: " + seen.text : "crashes: " + end_of(seen)));
    found.cure.push_back(
        fmt::format("use ONNX Runtime 1.{} or newer: pip install -U onnxruntime", seen.asked_version));
    found.cure.push_back(
        fmt::format("or build the library for this one: with ONNX Runtime headers of 1.{} or older, or by "
                    "asking for the smaller "
                    "of the two versions, as Graft does",
                    newest));
    return;
  }
  if (seen.end != ChildEnd::finished) {
    Finding& found = findings.add(Cause::library_crashes, file.string());
    found.evidence.push_back(fmt::format(
        "{}, {}", end_of(seen),
        seen.died_at_load ? "while it was loaded" : "while ONNX Runtime registered its operators"));
    found.cure.push_back(
        fmt::format("run it under a debugger: gdb --args python3 -c \"import onnxruntime as o; "
                    "o.SessionOptions().register_custom_ops_library('{}')\"",
                    file.string()));
    found.cure.push_back("or leave the library out");
    return;
  }
  Finding& found = findings.add(Cause::library_refused, file.string());
  found.evidence.push_back("ONNX Runtime says: " + seen.text);
  found.cure.push_back("correct the operator that the text names and build the library again");
}

/// Lists the library's operators. One that lists none to a stranger is still of use, as ONNX Runtime takes
/// it.
void list_operators(Library& library) {
  try {
    runtime::LibraryDescription description = runtime::describe_library(library.file);
    library.operators = std::move(description.operators);
    library.recorded = description.recorded;
  } catch (const InputError&) {
    library.recorded = true;
  }
}

}  // namespace

Libraries::Libraries(const runtime::Runtime& runtime, const std::vector<fs::path>& files,
                     Findings& findings) {
  for (const fs::path& file : files) {
    Library library;
    library.file = file;
    const Registration seen = runtime::watch_registration(runtime, file);
    library.hangs = seen.end == ChildEnd::hung;
    library.domains = seen.domains;
    if (seen.end != ChildEnd::finished || seen.stage == Registration::refused) {
      explain_end(runtime, file, seen, findings);
    } else if (seen.stage == Registration::unreadable || seen.stage == Registration::not_loaded) {
      explain_not_loaded(file, seen.text, findings);
    } else if (seen.stage == Registration::no_entry_point) {
      explain_no_entry_point(file, findings);
    } else {
      library.usable = true;
      list_operators(library);
    }
    all_.push_back(std::move(library));
  }
  std::map<std::string, std::string> owners;
  for (Library& library : all_) {
    for (const std::string& domain : std::set<std::string>(library.domains.begin(), library.domains.end())) {
      const auto [place, added] = owners.emplace(domain, library.file.string());
      if (added) continue;
      Finding& found = findings.add(Cause::domain_twice, domain);
      found.evidence.push_back(
          fmt::format("both {} and {} register the domain {}", place->second, library.file.string(), domain));
      found.cure.push_back(place->second == library.file.string()
                               ? "give the library once"
                               : "give one of the two, or build one with another domain "
                                 "(graft_add_library(... DOMAIN other.ops ...))");
      library.usable = false;
    }
  }
}

std::vector<fs::path> Libraries::usable() const {
  std::vector<fs::path> files;
  for (const Library& library : all_) {
    if (library.usable) files.push_back(library.file);
  }
  return files;
}

bool Libraries::any_hangs() const {
  return std::any_of(all_.begin(), all_.end(), [](const Library& library) { return library.hangs; });
}

std::vector<const runtime::OperatorDescription*> Libraries::find(const std::string& domain,
                                                                 const std::string& name) const {
  std::vector<const runtime::OperatorDescription*> found;
  for (const auto* op : find(name)) {
    if (op->domain == domain) found.push_back(op);
  }
  return found;
}

std::vector<const runtime::OperatorDescription*> Libraries::find(const std::string& name) const {
  std::vector<const runtime::OperatorDescription*> found;
  for (const Library& library : all_) {
    for (const auto& op : library.operators) {
      if (op.name == name) found.push_back(&op);
    }
  }
  return found;
}

bool Libraries::has_domain(const std::string& domain) const {
  const std::vector<std::string> all = domains();
  return std::find(all.begin(), all.end(), domain) != all.end();
}

bool Libraries::is_recorded(const runtime::OperatorDescription& op) const {
  for (const Library& library : all_) {
    if (&op >= library.operators.data() && &op < library.operators.data() + library.operators.size())
      return library.recorded;
  }
  return false;
}

std::vector<std::string> Libraries::domains() const {
  std::set<std::string> all;
  for (const Library& library : all_) {
    all.insert(library.domains.begin(), library.domains.end());
    for (const auto& op : library.operators) all.insert(op.domain);
  }
  return {all.begin(), all.end()};
}

std::vector<std::string> Libraries::names(const std::string& domain) const {
  std::set<std::string> all;
  for (const Library& library : all_) {
    for (const auto& op : library.operators) {
      if (op.domain == domain) all.insert(op.name);
    }
  }
  return {all.begin(), all.end()};
}

}  // namespace graft::doctor
