#pragma once
/// Lets you read what an operator library registers, without trusting it: it is loaded in a child process.
///
///   LibraryDescription library = describe_library("libgraft_ops.so");
///   for (const OperatorDescription& op : library.operators) fmt::print("{}::{}\n", op.domain, op.name);
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "error.h"
#include "runtime/runtime.h"
#include "runtime/tensor.h"

namespace graft::runtime {

enum class OperatorKind { elementwise, tensor };
enum class Arity { required, optional, variadic };
enum class ShapeRule { broadcast, same, function, computed };

/// Numbers are those of ONNX AttributeProto.AttributeType.
enum class AttributeType : int32_t {
  float_ = 1,
  int_ = 2,
  string = 3,
  tensor = 4,
  floats = 6,
  ints = 7,
  strings = 8
};

/// Holds an attribute's value; floats are kept as double, to be rounded once where they are used.
using AttributeValue = std::variant<std::monostate, double, int64_t, std::string, std::vector<double>,
                                    std::vector<int64_t>, std::vector<std::string>>;

struct PortDescription {
  std::string name;
  Arity arity = Arity::required;
};

/// Gives the element types of one kernel, in the order of the inputs and outputs; undefined for a variadic
/// input whose tensors each have their own.
struct Overload {
  std::vector<DataType> inputs;
  std::vector<DataType> outputs;
};

struct AttributeDescription {
  std::string name;
  AttributeType type = AttributeType::float_;
  bool required = false;
  AttributeValue default_value;  ///< monostate when there is none
  AttributeValue example;        ///< of a required one; monostate when none is given
};

/// Holds a definition in standard operators, valid from `opset` on until the next one of the list.
struct DefinitionText {
  int64_t opset = 0;
  std::string text;
  bool traced = false;
};

struct OperatorDescription {
  std::string domain;
  std::string name;
  int64_t since_version = 1;
  std::string pool;  ///< what operators have in common that are one, under several names
  OperatorKind kind = OperatorKind::tensor;
  std::string provider;
  std::vector<PortDescription> inputs;
  std::vector<PortDescription> outputs;
  std::vector<Overload> overloads;
  std::vector<AttributeDescription> attributes;
  ShapeRule shape = ShapeRule::computed;
  std::vector<DefinitionText> definitions;  ///< ascending by opset
};

struct LibraryDescription {
  std::filesystem::path file;
  std::string graft_version;
  std::string json;       ///< as the library gave it, or as it was recorded
  bool recorded = false;  ///< it does not describe itself: what it registers was listed, without attributes
                          ///< and definitions
  std::vector<OperatorDescription> operators;
};

/// Loads the library in a child process and reads its description; of one that was not made with Graft,
/// records what it registers. InputError names the file and the cause: missing, a folder, not a shared
/// library, for another machine, a missing dependency (named), neither graft_describe nor RegisterCustomOps,
/// another ABI, invalid JSON, or a library that crashed, left or hung.
LibraryDescription describe_library(const std::filesystem::path& file,
                                    std::chrono::milliseconds patience = std::chrono::seconds(20));

/// Registers the library with ORT in a child process, whatever made it, so that a library that crashes,
/// leaves or hangs does so there. InputError names the file and the cause.
void try_library(const Runtime& runtime, const std::filesystem::path& file,
                 std::chrono::milliseconds patience = std::chrono::seconds(20));

/// Reads the JSON of ABI 1; `file` opens the error messages.
LibraryDescription parse_description(std::string_view json, const std::filesystem::path& file);

/// Gives the word that the JSON uses.
std::string_view to_string(OperatorKind kind);
std::string_view to_string(Arity arity);
std::string_view to_string(ShapeRule rule);
std::string_view to_string(AttributeType type);

}  // namespace graft::runtime
