"""One-node models, and sessions with an operator library: what the tests of operators need of ONNX and ORT."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

ELEMENT = {
    "float": TensorProto.FLOAT, "double": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16, "bool": TensorProto.BOOL, "string": TensorProto.STRING,
    "int8": TensorProto.INT8, "int16": TensorProto.INT16, "int32": TensorProto.INT32, "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8, "uint16": TensorProto.UINT16, "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64,
}


def one_node(op, domain, inputs, outputs=("y",), output_types=None, node_name="the_node", opset=17, **attributes):
    """Makes the model of one node. `inputs` lists (type, shape), or None for an input that is left out."""
    names = ["" if i is None else f"x{k}" for k, i in enumerate(inputs)]
    values = [helper.make_tensor_value_info(n, ELEMENT[i[0]], i[1]) for n, i in zip(names, inputs) if i is not None]
    first = next(i for i in inputs if i is not None)
    output_types = output_types or [first[0]] * len(outputs)
    results = [helper.make_tensor_value_info(n, ELEMENT[t], None) for n, t in zip(outputs, output_types)]
    node = helper.make_node(op, names, list(outputs), domain=domain, name=node_name, **attributes)
    graph = helper.make_graph([node], "g", values, results)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def session(model, *libraries, threads=1, optimised=True, entries={}):
    """Loads a model with operator libraries, and entries of the session's configuration."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    for library in libraries:
        options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, library, *arrays, **options):
    """Loads and runs a model of `one_node` and gives its outputs."""
    s = session(model, library, **options)
    return s.run(None, dict(zip([i.name for i in s.get_inputs()], arrays)))


def bfloat16(values):
    """Rounds float32 values to bfloat16 and gives them as an OrtValue's bits."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def error_of(function, *arguments, **options):
    """Calls what must fail, and gives its text."""
    with pytest.raises(Exception) as caught:
        function(*arguments, **options)
    return str(caught.value)
