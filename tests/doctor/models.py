"""Small models that are wrong in one way each: what the doctor's tests are made of."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, DOUBLE, HALF, BFLOAT16, INT64 = (
    TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT64,
)
DOMAIN = "my.ops"


def node(op, inputs, outputs, domain="", **attributes):
    return helper.make_node(op, inputs, outputs, domain=domain, **attributes)


def value(name, element=FLOAT, shape=(2, 3)):
    return helper.make_tensor_value_info(name, element, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes, inputs=None, outputs=None, constants=(), opset=17, ir=8, imports=((DOMAIN, 1),), functions=(), infos=()):
    graph = helper.make_graph(
        nodes, "g", [value("x")] if inputs is None else inputs, [value("y")] if outputs is None else outputs, list(constants), value_info=list(infos)
    )
    versions = ([("", opset)] if opset is not None else []) + list(imports)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(*pair) for pair in versions], functions=list(functions))
    made.ir_version = ir or 0
    if ir is None:
        made.ClearField("ir_version")
    return made


def body(nodes, output="o", constants=(), infos=(), element=FLOAT):
    """Makes a subgraph that gives one output."""
    return helper.make_graph(nodes, "body", [], [helper.make_tensor_value_info(output, element, None)], list(constants), value_info=list(infos))


def in_if(nodes, before=(), output="o", constants=(), infos=(), element=FLOAT, **keywords):
    """Puts nodes into the branch of an If that is taken; what is read of the graph around is x, or what `before` makes."""
    other = body([node("Constant", [], ["other"], value=numpy_helper.from_array(np.zeros((2, 3), helper.tensor_dtype_to_np_dtype(element)), "v"))], "other", element=element)
    nodes = [*before, node("If", ["flag"], ["y"], then_branch=body(nodes, output, constants, infos, element), else_branch=other)]
    return model(nodes, constants=[constant("flag", True), *keywords.pop("outer", [])], **keywords)


def function(nodes, imports=(("", 17), (DOMAIN, 1)), inputs=("a",), outputs=("b",), name="Wrap"):
    return helper.make_function("blocks", name, list(inputs), list(outputs), nodes, [helper.make_opsetid(*pair) for pair in imports])


def in_function(nodes, function_imports=(("", 17), (DOMAIN, 1)), **keywords):
    """Puts nodes, from a to b, into a function that the model calls."""
    imports = keywords.pop("imports", ((DOMAIN, 1), ("blocks", 1)))
    return model([node("Wrap", ["x"], ["y"], "blocks")], functions=[function(nodes, function_imports)], imports=imports, **keywords)


def cut(tensor, size):
    """Has a tensor say another size than its data have."""
    tensor.dims[0] = size
    return tensor


def typed(name, count, dims):
    """Makes a tensor with `count` elements, whatever its dimensions say."""
    tensor = TensorProto(name=name, data_type=FLOAT, dims=dims)
    tensor.float_data.extend([1.0] * count)
    return tensor


def external(name, shape, location, offset=None, length=None, element=FLOAT):
    tensor = TensorProto(name=name, data_type=element, dims=shape, data_location=TensorProto.EXTERNAL)
    entries = {"location": location, "offset": offset, "length": length}
    for key, entry in entries.items():
        if entry is not None:
            tensor.external_data.add(key=key, value=str(entry))
    return tensor


def save(made: onnx.ModelProto, file):
    file.write_bytes(made.SerializeToString())
    return file
