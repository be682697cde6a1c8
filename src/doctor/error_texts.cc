#include "doctor/error_texts.h"

#include <fmt/format.h>

#include <functional>
#include <regex>

#include "doctor/providers.h"
#include "graph/nearest.h"
#include "rewrite/opsets.h"

namespace graft::doctor {
namespace {

using Match = std::smatch;

/// Is one form of words; `say` adds the finding. The first ones that fit win.
struct Words {
  std::regex pattern;
  std::function<void(const Match&, Findings&)> say;
};

const char* const fix = "let it be repaired: graft doctor MODEL --fix -o fixed.onnx";
const char* const newer_runtime = "use a newer ONNX Runtime: pip install -U onnxruntime";
const char* const diagnose = "find the place: graft doctor MODEL --library LIBRARY.so";

/// Puts the pattern's groups in place of `{1}`, `{2}`, ...
std::string filled(std::string text, const Match& match) {
  for (size_t group = 1; group < match.size(); ++group) {
    const std::string mark = fmt::format("{{{}}}", group), value = match[static_cast<long>(group)];
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  }
  return text;
}

/// Makes the step that adds one cause with fixed words, filled in with what the pattern found.
std::function<void(const Match&, Findings&)> plain(Cause cause, std::string evidence,
                                                   std::vector<std::string> cure) {
  return [cause, evidence = std::move(evidence), cure = std::move(cure)](const Match& match,
                                                                         Findings& findings) {
    Finding& found = findings.add(cause, match.size() > 1 ? match[1].str() : "");
    found.evidence.push_back(filled(evidence, match));
    found.cure.clear();
    for (const std::string& step : cure) found.cure.push_back(filled(step, match));
  };
}

void say_not_registered(const Match& match, Findings& findings) {
  const std::string domain = match[1], op = match[2];
  if (domain.starts_with("com.microsoft") || domain.starts_with("ai.onnx")) {
    Finding& found = findings.add(Cause::op_not_in_library, domain + ":" + op);
    found.evidence.push_back(fmt::format("this ONNX Runtime has no {}:{}", domain, op));
    found.cure = {newer_runtime, "or check the spelling, and the import version of " + domain};
    return;
  }
  Finding& found = findings.add(Cause::library_not_registered, domain);
  found.evidence.push_back(fmt::format("nothing that is loaded has {}:{}", domain, op));
  found.cure = {
      "give the library that has it: options = onnxruntime.SessionOptions(); "
      "options.register_custom_ops_library('LIBRARY.so'); onnxruntime.InferenceSession('model.onnx', "
      "options)",
      "if it is given already, the domain or the operator is spelled otherwise, or the domain is imported at "
      "version 0: graft doctor MODEL --library LIBRARY.so tells which"};
}

void say_no_standard_op(const Match& match, Findings& findings) {
  const std::string op = match[1];
  const int64_t opset = std::stoll(match[2]), first = rewrite::first_opset(op);
  if (first > opset) {
    Finding& found = findings.add(Cause::op_newer_than_import, op);
    found.evidence.push_back(
        fmt::format("{} came with opset {}, and the model imports {}", op, first, opset));
    found.cure = {fix, fmt::format("or export the model again at opset {} or higher", first)};
    return;
  }
  if (first) {
    Finding& found = findings.add(Cause::op_unknown, op);
    found.evidence.push_back(
        fmt::format("{} is ONNX's since opset {}, and this ONNX Runtime does not know it", op, first));
    found.cure = {newer_runtime};
    return;
  }
  const std::string near = graph::nearest(op, rewrite::standard_operators());
  Finding& found = findings.add(Cause::op_in_default_domain, op);
  found.evidence.push_back(
      fmt::format("the node {} has no domain, so it is looked for among ONNX's own operators, which "
                  "have no {}{}",
                  op, op, near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  found.cure = {
      "if it is a custom operator, give the node its domain and import that; with its library, doctor does "
      "it: "
      "graft doctor MODEL --library LIBRARY.so --fix -o fixed.onnx"};
}

void say_not_loaded(const Match& match, Findings& findings) {
  const std::string library = match[1], missing = match[2];
  if (missing == library) {
    Finding& found = findings.add(Cause::library_missing, library);
    found.evidence.push_back(library + " is not there");
    found.cure = {"correct the path; a relative one starts at the folder that the program runs in"};
    return;
  }
  Finding& found = findings.add(Cause::dependency_missing, library);
  found.evidence.push_back(fmt::format("{} needs {}, which is not found", library, missing));
  found.cure = {fmt::format("install {}, or add its folder: export LD_LIBRARY_PATH=FOLDER", missing),
                fmt::format("`ldd {}` lists all that it needs", library)};
  if (missing.find("cu") != std::string::npos && library.find("providers_cuda") != std::string::npos)
    found.cure.insert(found.cure.begin(),
                      "install CUDA and cuDNN of the versions that this onnxruntime-gpu was built for: "
                      "pip install onnxruntime-gpu[cuda,cudnn]");
}

/// Puts a text on one line, as pasting may break it anywhere; of a very long one only both ends are kept.
std::string in_one_line(const std::string& pasted) {
  constexpr size_t most = 3000;
  std::string text;
  for (const char c : pasted) {
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!space) {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  if (text.size() <= 2 * most) return text;
  return text.substr(0, most) + " " + text.substr(text.size() - most);
}

std::vector<Words> make_words() {
  const auto words = [](const char* pattern, std::function<void(const Match&, Findings&)> say) {
    return Words{std::regex(pattern, std::regex::ECMAScript | std::regex::optimize), std::move(say)};
  };
  return {
      words("Unsupported model IR version: (\\d+), max supported IR version: (\\d+)",
            plain(Cause::ir_version_too_new,
                  "the model says IR version {1}; this ONNX Runtime reads versions up to {2}",
                  {fix, "or " + std::string(newer_runtime)})),
      words("Unknown model file format version",
            plain(Cause::ir_version_too_new,
                  "an old ONNX Runtime says so of a model whose IR version it does not know",
                  {newer_runtime, fix})),
      words("Missing model IR version",
            plain(Cause::ir_version_missing, "the field ir_version is not there, or 0", {fix})),
      words(
          "Missing opset in the model",
          plain(
              Cause::import_missing, "the model has no opset import at all",
              {"add the opset that the model was made for: python3 -c \"import onnx; m = onnx.load('MODEL'); "
               "m.opset_import.append(onnx.helper.make_opsetid('', VERSION)); onnx.save(m, "
               "'fixed.onnx')\""})),
      words("Opset (\\d+) is under development[^]*domain (\\S+) is till opset (\\d+)",
            plain(Cause::opset_too_new,
                  "the model imports {2} at version {1}; this ONNX Runtime knows versions up to {3}",
                  {newer_runtime, "or " + std::string(fix)})),
      words(
          "No opset import for domain '?([^' ]*)'?",
          plain(Cause::import_missing, "the model uses the domain {1}, and has no opset import for it",
                {fix, "if the domain is of a custom operator, give its library too: --library LIBRARY.so"})),
      words("No [oO]pset registered for domain (\\S+) in function (\\S+)",
            plain(Cause::import_missing,
                  "the function {2} uses the domain {1}, and has no opset import of its own for it", {fix})),
      words("No Opset registered for domain (\\S+)",
            plain(Cause::import_missing,
                  "a function of the model uses the domain {1}, and has no opset import for it", {fix})),
      words("([\\w.]+):(\\w+)\\(-?\\d+\\) is not a registered function/op", say_not_registered),
      words("No Op registered for (\\w+) with domain_version of (\\d+)", say_no_standard_op),
      words("Op registered for (\\w+) is deprecated in domain_version of (\\d+)",
            plain(Cause::op_removed, "{1} does not exist any more at opset {2}",
                  {"use the operator that took its place (https://onnx.ai/onnx/operators), or export at an "
                   "older opset"})),
      words(
          "(?:Could not find an implementation for|Failed to find kernel for|No registered implementation "
          "for)"
          "(?: the node)?\\s+(?:[\\w/.]+:)?(\\w+)\\((\\d+)\\)",
          plain(Cause::no_kernel_for_dtype,
                "this ONNX Runtime has no kernel for {1} (as of opset {2}) on the element type that it gets",
                {"cast around the node, to float and back",
                 "or use a provider that has the type, such as CUDAExecutionProvider",
                 "graft doctor MODEL says which node and which type"})),
      words("(?:Failed to find kernel|No registered implementation)",
            plain(Cause::no_kernel_for_dtype,
                  "an old ONNX Runtime says so of a type that it cannot run an operator on",
                  {"cast around the node, to float and back",
                   "graft doctor MODEL says which node and which type"})),
      words("No attribute with name:'(\\w+)'\\s*is defined",
            plain(Cause::attribute_missing,
                  "an operator asks its node for the attribute {1}, and the node has none",
                  {"ONNX Runtime does not say which node; " + std::string(diagnose),
                   "give the node the attribute, with your value"})),
      words("the attribute (\\w+) \\((\\w+)\\) is required, and missing",
            plain(Cause::attribute_missing, "a node has no attribute {1} ({2}), which its operator requires",
                  {"give the node the attribute, with your value: graft doctor MODEL --library LIBRARY.so "
                   "writes the command"})),
      words("attribute (\\w+): expected (\\w+), got (\\w+)",
            plain(Cause::attribute_type, "the attribute {1} must be {2}, and is {3}",
                  {"write it with the type that is wanted; where the value fits, doctor does it: graft "
                   "doctor MODEL "
                   "--library LIBRARY.so --fix -o fixed.onnx"})),
      words("Required attribute '(\\w+)' is missing",
            plain(Cause::attribute_missing, "a node has no attribute {1}, which its operator requires",
                  {"give the node the attribute, with your value"})),
      words("Attribute name and type don't match",
            plain(Cause::attribute_type,
                  "an operator asks its node for an attribute of one type, and the node has another",
                  {std::string("ONNX Runtime does not say which node; ") + diagnose})),
      words("Mismatched attribute type in '[^']*?(\\w+)'. Expected: '(\\w+)', actual: '(\\w+)'",
            plain(Cause::attribute_type, "the attribute {1} must be {2}, and is {3}",
                  {"write it with the type that is wanted"})),
      words("Unrecognized attribute: (\\w+) for operator (\\w+)",
            plain(Cause::attribute_unknown,
                  "a node {2} has the attribute {1}, which {2} does not have at the imported opset",
                  {"take it out, correct its spelling, or import the opset that it came with"})),
      words(
          "undefined symbol: OrtGetApiBase",
          plain(
              Cause::links_onnxruntime, "it wants the symbol OrtGetApiBase, which is undefined",
              {"call no OrtGetApiBase in the library: take the OrtApiBase that RegisterCustomOps is given "
               "(define "
               "ORT_API_MANUAL_INIT before the C++ header, then Ort::InitApi(base->GetApi(ORT_API_VERSION)))",
               "build it without -lonnxruntime"})),
      words("Failed to get symbol RegisterCustomOps|undefined symbol: RegisterCustomOps",
            plain(Cause::entry_point_missing, "ONNX Runtime looks for RegisterCustomOps and does not find it",
                  {"declare it extern \"C\" and export it: extern \"C\" "
                   "__attribute__((visibility(\"default\"))) OrtStatus* "
                   "RegisterCustomOps(OrtSessionOptions*, const OrtApiBase*)",
                   "graft doctor MODEL --library LIBRARY.so shows near names"})),
      words("undefined symbol: (\\S+)",
            plain(Cause::symbol_undefined, "{1} is called, and nothing that is loaded has it",
                  {"link the library (or add the source file) that defines it; `c++filt {1}` says what it is "
                   "in C++"})),
      words("Failed to load library (\\S+) with error:\\s*(\\S+): cannot open shared object file",
            say_not_loaded),
      words("Failed to load library (\\S+)[^]*?: cannot open shared object file",
            plain(Cause::library_missing, "{1}, or a library that it needs, is not found",
                  {"correct the path", "or install what `ldd {1}` shows as not found"})),
      words("(\\S+): cannot open shared object file",
            plain(Cause::dependency_missing, "{1} is not found",
                  {"correct the path, install it, or add its folder: export "
                   "LD_LIBRARY_PATH=FOLDER"})),
      words("requested API version \\[(\\d+)\\] is not available",
            plain(Cause::runtime_too_old,
                  "the library asks for version {1} of the ONNX Runtime API, which this one does not have; a "
                  "library that "
                  "does not look at the answer then dies with a segmentation fault",
                  {"use ONNX Runtime 1.{1} or newer: pip install -U onnxruntime",
                   "or build the library with older headers"})),
      words("Type '(?:tensor\\()?([^)']+)\\)?' of input parameter \\(([^)]*)\\) of operator \\(([^)]*)\\)",
            plain(Cause::dtype_not_supported, "{3} gets {1} through its input {2}, and takes other types",
                  {"cast before and behind it, or add the type to the operator in its library"})),
      words("Type parameter \\((\\w+)\\) of Optype \\((\\w+)\\) bound to different types \\((.+?) and (.+?) "
            "in node",
            plain(Cause::types_disagree, "{2} gets {3} and {4}, which must be the same",
                  {"cast one of the two"})),
      words("Type \\((.+?)\\) of output arg \\((.*?)\\) of node \\(.*?\\) does not match expected type "
            "\\((.+?)\\)\\.",
            plain(Cause::stale_value_info, "{2} is declared {1}, and its node makes {3}", {fix})),
      words("Node input '(.*?)' is not a graph input",
            plain(Cause::dangling_input, "a node reads {1}, which no input, initializer or node makes",
                  {"see which value is meant: graft doctor MODEL"})),
      words("however input '(.*?)' of node",
            plain(Cause::dangling_input, "a node of a subgraph reads {1}, which nothing before it makes",
                  {"see whether it is missing or only comes later: graft doctor MODEL", fix})),
      words("Graph output \\((.*?)\\) does not exist in the graph",
            plain(Cause::output_not_produced, "{1} is named as an output, and no node makes it",
                  {"see which value is meant: graft doctor MODEL"})),
      words("Subgraph output \\((.*?)\\) is an outer scope value",
            plain(Cause::output_not_produced,
                  "a subgraph names {1} as its output, which the graph around it makes", {fix})),
      words("Duplicate definition of name \\((.*?)\\)",
            plain(Cause::duplicate_value, "two nodes, or a node and an input or initializer, make {1}",
                  {"see which ones: graft doctor MODEL", "then give one of them another name"})),
      words("however '(.*?)' has been used as (?:output names|graph input names) multiple times",
            plain(Cause::duplicate_value, "{1} is made more than once, by a subgraph and what is around it",
                  {fix})),
      words("two nodes with same node name \\((.*?)\\)",
            plain(Cause::duplicate_node_name, "two nodes are called {1}", {fix})),
      words(
          "External initializer: (\\S+) .*(?:out of bounds|can not be read)",
          plain(Cause::external_data_short, "the file of weights ends before the data of {1} do",
                {"fetch the file again: a download or a copy was cut off, or it belongs to another model"})),
      words("External data path (?:validation failed for initializer: ([^\\s.]+)|does not exist)",
            plain(Cause::external_data_missing,
                  "the weights {1} lie in a file that is not where the model says",
                  {"put the file beside the model, where it was when the model was saved",
                   "or let doctor look for it: graft doctor MODEL --fix -o fixed.onnx"})),
      words("should be stored in (\\S+), but it has multiple hard links",
            plain(Cause::external_data_outside,
                  "{1} has other names on the disk (hard links), which ONNX Runtime refuses for weights of a "
                  "subgraph",
                  {"put a copy in its place: cp {1} copy && mv copy {1}"})),
      words("should be stored in (\\S+), but it (?:is not regular file|doesn't exist|is not accessible)",
            plain(Cause::external_data_missing, "{1}, where the model keeps its weights, is not there",
                  {"put the file beside the model, where it was when the model was saved",
                   "or let doctor look for it: graft doctor MODEL --fix -o fixed.onnx"})),
      words("GetFileLength for (\\S+) failed|open file \"?([^\"\\s]+)\"? fail",
            plain(Cause::external_data_missing, "{1}, where the model keeps its weights, is not there",
                  {"put the file beside the model, where it was when the model was saved"})),
      words("Initializer '(.*?)': raw_data size \\((\\d+) bytes\\) does not match expected "
            "size[^(]*\\((\\d+) bytes\\)",
            plain(Cause::initializer_size, "{1} holds {2} bytes, and its shape and type ask for {3}",
                  {"export the model again, or give the constant the shape that its data have"})),
      words("graph is not acyclic",
            plain(Cause::cycle, "some nodes read, directly or through others, what they make",
                  {"see the circle: graft doctor MODEL"})),
      words("must not be recursive. Cycle detected: (\\S+)",
            plain(Cause::function_recursion, "the function {1} calls itself",
                  {"have the body call another operator or function: ONNX has no recursion"})),
      words("schema\\(([^)]*)\\) has input size (\\d+) not in range \\[min=(\\d+), max=(\\d+)\\]",
            plain(Cause::input_count, "a node of {1} has {2} inputs; it takes {3} to {4}",
                  {"see which node: graft doctor MODEL",
                   "then connect what is missing, or take out what is too much"})),
      words("input size (\\d+) not in range \\[min=(\\d+), max=(\\d+)\\]",
            plain(Cause::input_count, "a node has {1} inputs; its operator takes {2} to {3}",
                  {"see which node: graft doctor MODEL",
                   "then connect what is missing, or take out what is too much"})),
      words("[oO]utput size (\\d+) not in range \\[min=(\\d+), max=(\\d+)\\]",
            plain(Cause::output_count, "a node has {1} outputs; its operator gives {2} to {3}",
                  {"see which node: graft doctor MODEL"})),
      words("INVALID_PROTOBUF|[pP]rotobuf parsing failed",
            plain(Cause::not_a_model, "ONNX Runtime cannot read the file as a model",
                  {"see what it is: graft doctor MODEL",
                   "fetch or export it again: a download may have been cut off"})),
      words("[lL]oad model (?:from )?(.+?) failed\\.? ?:?[^]*File doesn't exist",
            plain(Cause::model_missing, "{1} is not there",
                  {"correct the path; a relative one starts at the folder that the program runs in"})),
      words("Specified provider '(\\w+)' is not in available provider names",
            [](const Match& match, Findings& findings) {
              Finding& found = findings.add(Cause::provider_missing, match[1]);
              found.evidence.push_back(
                  fmt::format("{} is asked for, and this package was built without it", match[1].str()));
              found.cure = {match[1] == "CUDAExecutionProvider"
                                ? "install the package that has it: pip uninstall -y onnxruntime && pip "
                                  "install onnxruntime-gpu"
                                : "install an ONNX Runtime that was built with it"};
            }),
      words("Failed to create (\\w+ExecutionProvider)",
            [](const Match& match, Findings& findings) {
              Finding& found = findings.add(Cause::provider_fails, match[1]);
              found.evidence.push_back(fmt::format(
                  "this package has {}, and what it needs is missing or does not fit; the session "
                  "goes on without it, on the CPU",
                  match[1].str()));
              found.cure = start_cure(match[1]);
            }),
      words("CUDA driver version is insufficient for CUDA runtime version",
            [](const Match&, Findings& findings) {
              Finding& found = findings.add(Cause::provider_fails, "CUDAExecutionProvider");
              found.evidence.push_back(
                  "the driver of the GPU is older than the CUDA that ONNX Runtime was built with");
              found.cure = {"update the NVIDIA driver; `nvidia-smi` says which CUDA the one at hand serves",
                            "or install an onnxruntime-gpu that was built with that CUDA",
                            "or run on the CPU: ask for CPUExecutionProvider"};
            }),
      words("Domain already set in registry",
            plain(Cause::domain_twice, "the same domain is registered twice in one session",
                  {"give one library a domain; see which two: graft doctor MODEL --library A.so --library "
                   "B.so"})),
      words("SIGSEGV|[sS]egmentation fault",
            plain(Cause::library_crashes, "the process died of a segmentation fault",
                  {"see whether a library does it, and which: graft doctor MODEL --library LIBRARY.so"})),
  };
}

}  // namespace

bool recognise(const std::string& pasted, Findings& findings) {
  const std::string text = in_one_line(pasted);
  static const std::vector<Words> all = make_words();
  for (const Words& words : all) {
    Match match;
    if (!std::regex_search(text, match, words.pattern)) continue;
    words.say(match, findings);
    return true;
  }
  return false;
}

}  // namespace graft::doctor
