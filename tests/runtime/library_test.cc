#include "runtime/library.h"

#include <gtest/gtest.h>

#include "expect_error.h"
#include "loaded_runtime.h"
#include "runtime/child.h"
#include "runtime/files.h"
#include "temporary_folder.h"

namespace graft::runtime {
namespace {

using testing::error_of;
using testing::TemporaryFolder;

std::filesystem::path library(const std::string& name) {
  return std::filesystem::path(GRAFT_TEST_LIBRARIES) / (name + ".so");
}

/// Gives what describe_library complains about, without the file's name that must open it.
std::string complaint(const std::filesystem::path& file,
                      std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  const std::string text = error_of([&] { describe_library(file, patience); });
  const std::string prefix = file.string() + ": ";
  EXPECT_TRUE(text.starts_with(prefix)) << text;
  return text.substr(std::min(prefix.size(), text.size()));
}

TEST(Library, DescribesItself) {
  const LibraryDescription described = describe_library(library("described"));
  EXPECT_EQ(described.file, library("described"));
  ASSERT_EQ(described.operators.size(), 1u);
  EXPECT_EQ(described.operators[0].name, "Double");
  EXPECT_EQ(described.operators[0].definitions[0].text, "y = Add(x, x)");
}

TEST(Library, SaysWhatIsWrongWithAFile) {
  TemporaryFolder folder;
  EXPECT_EQ(complaint(folder / "none.so"), "does not exist");
  EXPECT_EQ(complaint(folder.path()), "is a folder, not a shared library");
  write_file(folder / "empty.so", "");
  EXPECT_EQ(complaint(folder / "empty.so"), "is empty");
  write_file(folder / "text.so", "#include <graft/graft.h>\n");
  EXPECT_EQ(complaint(folder / "text.so"), "is not a shared library");
  const std::string good = read_file(library("described"));
  std::string arm = good;
  arm[18] = static_cast<char>(
      good[18] == '\xb7' ? 62 : 183);  // e_machine: x86-64 or 64-bit Arm, whichever this is not
  write_file(folder / "other.so", arm);
  EXPECT_TRUE(complaint(folder / "other.so").starts_with("is built for ")) << complaint(folder / "other.so");
  write_file(folder / "cut.so", good.substr(0, 700));
  EXPECT_NE(complaint(folder / "cut.so"), "");
  write_file(folder / "dll.so", "MZ\x90");
  EXPECT_EQ(complaint(folder / "dll.so"),
            "is a Windows program or DLL, not a shared library for this system");
}

TEST(Library, SaysWhatALibraryLacks) {
  EXPECT_EQ(
      complaint(library("lacks_dependency")),
      "needs libgraft_absent.so.1, which is not found (install it, or add its folder to LD_LIBRARY_PATH)");
  EXPECT_EQ(complaint(library("only_custom_ops")), "registers no operator");
  EXPECT_EQ(complaint(library("crashes_at_registration")), "crashed while it described itself (SIGSEGV)");
  EXPECT_EQ(complaint(library("refuses_registration")), "its operators cannot be listed: there is no such device");
  EXPECT_EQ(complaint(library("exports_nothing")),
            "not an operator library (it exports neither graft_describe nor RegisterCustomOps)");
  EXPECT_TRUE(complaint(library("other_abi")).starts_with("gives no description for ABI 1"));
  EXPECT_TRUE(complaint(library("not_json")).starts_with("its description is not valid: "));
  EXPECT_TRUE(complaint(library("links_ort")).starts_with("links ONNX Runtime directly"))
      << complaint(library("links_ort"));
}

TEST(Library, SurvivesLibrariesThatMisbehave) {
  EXPECT_EQ(complaint(library("crashes_at_load")), "crashed while it was loaded (SIGSEGV)");
  EXPECT_EQ(complaint(library("crashes")), "crashed while it described itself (SIGSEGV)");
  EXPECT_EQ(complaint(library("leaves_at_load")), "ended the process while it was loaded (exit code 7)");
  EXPECT_EQ(complaint(library("hangs_at_load"), std::chrono::milliseconds(300)),
            "hung while it was loaded (gave up after 0.3 s)");
}

TEST(Library, KeepsTheNoiseOfALibraryFromTheUser) {
  ::testing::internal::CaptureStdout();
  complaint(library("leaves_at_load"));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(TryLibrary, FailsWhereTheLibraryWould) {
  const auto complaint_of = [](const std::filesystem::path& file,
                               std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    const std::string text = error_of([&] { try_library(*testing::loaded_runtime(), file, patience); });
    const std::string prefix = file.string() + ": ";
    EXPECT_TRUE(text.starts_with(prefix)) << text;
    return text.substr(std::min(prefix.size(), text.size()));
  };
  EXPECT_EQ(complaint_of("none.so"), "does not exist");
  EXPECT_EQ(complaint_of(library("crashes_at_load")), "crashed while it was loaded (SIGSEGV)");
  EXPECT_EQ(complaint_of(library("leaves_at_load")), "ended the process while it was loaded (exit code 7)");
  EXPECT_EQ(complaint_of(library("hangs_at_load"), std::chrono::milliseconds(300)),
            "hung while it was loaded (gave up after 0.3 s)");
  EXPECT_TRUE(complaint_of(library("lacks_dependency")).starts_with("needs libgraft_absent.so.1, "));
  EXPECT_NE(complaint_of(library("described")).find("RegisterCustomOps"),
            std::string::npos);  // which it does not export
  EXPECT_EQ(complaint_of(library("crashes_at_registration")),
            "crashed while ONNX Runtime registered its operators (SIGSEGV)");
}

TEST(TryLibrary, AcceptsWhatRegisters) {
  EXPECT_EQ(error_of([] { try_library(*testing::loaded_runtime(), library("only_custom_ops")); }),
            "no error");
}

TEST(Child, BringsBackLongMessagesWhole) {
  const std::string big(1'000'000, 'f');
  const ChildResult result = run_in_child(
      [&](const Say& say) {
        say("first");
        say(big);
        say("");
      },
      std::chrono::seconds(20));
  EXPECT_EQ(result.end, ChildEnd::finished);
  EXPECT_EQ(result.messages, (std::vector<std::string>{"first", big, ""}));
}

TEST(Child, AnExceptionStaysInTheChild) {
  const ChildResult result = run_in_child([](const Say&) { throw 1; }, std::chrono::seconds(20));
  EXPECT_EQ(result.end, ChildEnd::killed);
}

}  // namespace
}  // namespace graft::runtime
