#include "runtime/registration.h"

#include <dlfcn.h>
#include <elf.h>
#include <onnxruntime_c_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/files.h"

namespace graft::runtime {
namespace {

using nlohmann::json;

/// Is what the child notes on; functions of ORT's C API carry no context of their own.
struct Notes {
  const Say* say = nullptr;
  const OrtApiBase* base = nullptr;
  decltype(OrtApi::CreateCustomOpDomain) create_domain = nullptr;
};
Notes notes;

void note(const json& what) { (*notes.say)(what.dump(-1, ' ', false, json::error_handler_t::replace)); }

OrtStatus* ORT_API_CALL create_domain(const char* name, OrtCustomOpDomain** out) noexcept {
  OrtStatus* status = notes.create_domain(name, out);
  if (!status) note({{"domain", name ? name : ""}});
  return status;
}

const OrtApi* ORT_API_CALL get_api(uint32_t version) noexcept {
  note({{"asked", version}});
  return notes.base->GetApi(version);
}

/// Puts our function into this child's own copy of ORT's table, which is shared by all API versions.
void watch_table(const OrtApi& api) {
  auto* table = const_cast<OrtApi*>(&api);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(table) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(table + 1);
  if (mprotect(reinterpret_cast<void*>(start), end - start, PROT_READ | PROT_WRITE) != 0) return;
  notes.create_domain = table->CreateCustomOpDomain;
  table->CreateCustomOpDomain = create_domain;
}

void register_in_child(const Runtime& runtime, const std::filesystem::path& file, const Say& say) {
  notes.say = &say;
  notes.base = &runtime.base();
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* text = dlerror();
    return note({{"not_loaded", text ? text : ""}});
  }
  note({{"loaded", true}});
  using Register = OrtStatus* (*)(OrtSessionOptions*, const OrtApiBase*);
  const auto register_operators = reinterpret_cast<Register>(dlsym(handle, "RegisterCustomOps"));
  if (!register_operators) return note({{"no_entry_point", true}});
  const OrtApi& api = runtime.api();
  watch_table(api);
  OrtSessionOptions* options = nullptr;
  OrtStatus* status = api.CreateSessionOptions(&options);
  const OrtApiBase base{get_api, runtime.base().GetVersionString};
  try {
    if (!status) status = register_operators(options, &base);
  } catch (const std::exception& error) {
    return note({{"refused", error.what()}});
  }
  if (status) return note({{"refused", api.GetErrorMessage(status)}});
  note({{"registered", true}});
}

/// Reads an array of T out of a file's bytes; empty when it ends before.
template <class T> std::vector<T> read_array(const std::string& bytes, uint64_t offset, uint64_t count) {
  if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T)) return {};
  std::vector<T> items(count);
  if (count) std::memcpy(items.data(), bytes.data() + offset, count * sizeof(T));
  return items;
}

}  // namespace

Registration watch_registration(const Runtime& runtime, const std::filesystem::path& file,
                                std::chrono::milliseconds patience) {
  Registration seen;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return seen;
  const std::filesystem::path absolute = std::filesystem::absolute(file);
  const ChildResult result =
      run_in_child([&](const Say& say) { register_in_child(runtime, absolute, say); }, patience);
  seen.end = result.end;
  seen.number = result.number;
  seen.died_at_load = result.end != ChildEnd::finished;
  for (const std::string& message : result.messages) {
    const json found = json::parse(message);
    const auto text_of = [&](const char* key, Registration::Stage stage) {
      if (!found.contains(key)) return;
      seen.stage = stage;
      if (found[key].is_string()) seen.text = found[key];
    };
    if (found.contains("loaded")) seen.died_at_load = false;
    text_of("not_loaded", Registration::not_loaded);
    text_of("no_entry_point", Registration::no_entry_point);
    text_of("refused", Registration::refused);
    text_of("registered", Registration::registered);
    if (found.contains("asked")) seen.asked_version = std::max(seen.asked_version, found["asked"].get<int>());
    if (found.contains("domain")) seen.domains.push_back(found["domain"]);
  }
  return seen;
}

std::vector<std::string> symbols_like(const std::filesystem::path& file, const std::string& text) {
  const std::string bytes = read_file(file);
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  std::set<std::string> found;
  const auto sections = read_array<Elf64_Shdr>(bytes, header.e_shoff, header.e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if ((section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) ||
        section.sh_link >= sections.size())
      continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    const auto names = read_array<char>(bytes, strings.sh_offset, strings.sh_size);
    for (const auto& symbol :
         read_array<Elf64_Sym>(bytes, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size() ||
          ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
        continue;
      const char* name = names.data() + symbol.st_name;
      const std::string symbol_name(name, strnlen(name, names.size() - symbol.st_name));
      if (symbol_name.find(text) != std::string::npos) found.insert(symbol_name);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace graft::runtime
