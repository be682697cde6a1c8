#include "runtime/shared_object.h"

#include <elf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

namespace graft::runtime {
namespace {

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "32-bit x86";
    case EM_AARCH64:
      return "64-bit Arm";
    case EM_ARM:
      return "32-bit Arm";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "PowerPC";
    case EM_S390:
      return "s390x";
    default:
      return fmt::format("machine number {}", machine);
  }
}

unsigned machine_of_this_process() {
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr header{};
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  return header.e_machine;
}

/// Says what is wrong with the file itself; nothing when it is a shared library for this machine.
std::optional<std::string> flaw_of_file(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return "does not exist";
  if (std::filesystem::is_directory(file, error)) return "is a folder, not a shared library";
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return fmt::format("cannot be read: {}", std::strerror(errno));
  Elf64_Ehdr header{};  // e_type and e_machine lie at the same place in 32-bit files
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  const auto size = static_cast<size_t>(stream.gcount());
  if (size == 0) return "is empty";
  const auto starts_with = [&](const std::string& magic) {
    return size >= magic.size() && std::memcmp(&header, magic.data(), magic.size()) == 0;
  };
  if (starts_with("MZ")) return "is a Windows program or DLL, not a shared library for this system";
  if (starts_with("\xcf\xfa\xed\xfe") || starts_with("\xca\xfe\xba\xbe"))
    return "is a macOS library, not one for this system";
  if (!starts_with(std::string(ELFMAG, SELFMAG))) return "is not a shared library";
  if (size < sizeof(Elf32_Ehdr)) return "is cut short: its header is not complete";
  if (header.e_machine != machine_of_this_process()) {
    return fmt::format("is built for {}, and this is {}", machine_name(header.e_machine),
                       machine_name(machine_of_this_process()));
  }
  if (header.e_type != ET_DYN) return "is an object file or a program, not a shared library";
  return {};
}

std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t start = text.find(before);
  if (start == std::string::npos) return "";
  const size_t from = start + before.size();
  const size_t end = after.empty() ? text.size() : text.find(after, from);
  return end == std::string::npos ? "" : text.substr(from, end - from);
}

}  // namespace

std::string explain_load_failure(const std::filesystem::path& file, const std::string& loader_text) {
  const std::string name = file.string();
  if (const auto flaw = flaw_of_file(file)) return fmt::format("{}: {}", name, *flaw);

  // glibc: "libx.so.1: cannot open shared object file: No such file or directory" names the file that it
  // misses
  const std::string missing = loader_text.substr(0, loader_text.find(": cannot open shared object file"));
  if (missing.size() < loader_text.size() && missing != name) {
    return fmt::format("{}: needs {}, which is not found (install it, or add its folder to LD_LIBRARY_PATH)",
                       name, missing);
  }
  const std::string symbol = between(loader_text, "undefined symbol: ", "");
  if (symbol == "OrtGetApiBase") {
    return fmt::format(
        "{}: links ONNX Runtime directly (undefined symbol OrtGetApiBase); an operator library must reach it "
        "through the OrtApiBase that RegisterCustomOps is given",
        name);
  }
  if (symbol.starts_with("Py") || symbol.starts_with("_Py")) {
    return fmt::format("{}: is an extension of Python (undefined symbol {}), which only Python itself can load", name,
                       symbol);
  }
  if (!symbol.empty()) return fmt::format("{}: undefined symbol {}", name, symbol);
  const std::string version = between(loader_text, "version `", "' not found");
  if (!version.empty())
    return fmt::format("{}: needs a newer system library than this machine has ({})", name, version);
  const bool opens_with_name = loader_text.starts_with(name + ": ");
  return fmt::format("{}: cannot be loaded: {}", name,
                     opens_with_name ? loader_text.substr(name.size() + 2) : loader_text);
}

}  // namespace graft::runtime
