#pragma once
/// Lets you write the models that a check runs: one node of the operator, and what it is defined as.
///
///   onnx::ModelProto model = node_model(subject, one, attributes, {.opset = 17});
///   session.run(fed(subject, one));
#include <onnx-ml.pb.h>

#include <vector>

#include "check/attributes.h"
#include "check/cases.h"

namespace graft::check {

/// Says what the model tells of its inputs' sizes: all, a name for each ("x0_1": input 0, axis 1), or not
/// even how many.
enum class Sizes { declared, named, open };

/// Says where the inputs come from: from the caller, or from nodes, so that the operator may write into their
/// memory; `kept` are read again after it.
enum class Source { caller, nodes, kept };

struct ModelForm {
  int64_t opset = 17;
  Sizes sizes = Sizes::declared;
  Source source = Source::caller;
};

/// Gives the types of the outputs; a variadic one is two tensors.
std::vector<runtime::DataType> outputs_of(const Subject& subject);

/// Writes a model of one node. Inputs that must be constant are initializers with the case's values.
onnx::ModelProto node_model(const Subject& subject, const Case& one, const AttributeSet& attributes,
                            const ModelForm& form);

/// Writes a model of the definition in standard operators, for the inputs that the case has, of any shape.
/// InputError or OpsetError when it cannot be written.
onnx::ModelProto definition_model(const Subject& subject, const Case& one, const AttributeSet& attributes,
                                  int64_t opset);

/// Gives the tensors that the caller feeds to node_model (`constants` false) or definition_model (true).
std::vector<runtime::Tensor> fed(const Subject& subject, const Case& one, bool constants);

}  // namespace graft::check
