"""Node: its name, attributes by name, and options of the session, inside ORT."""

import os
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import ort  # noqa: E402

DOMAIN = "sdk.params"
F = ("float", ["n"])
X = np.array([1, 2, 3], np.float32)


@pytest.fixture(scope="module")
def library(build):
    return build / "libsdk_ops.so"


def test_node_name(library):
    assert ort.run(ort.one_node("NameLength", DOMAIN, [F], output_types=["int64"]), library, X)[0] == len("the_node")


def test_attributes_by_name(library):
    def blend(**attributes):
        session = ort.session(ort.one_node("Blend", DOMAIN, [F], **attributes), library)
        assert session.run(None, {"x0": X})[0].tolist() == session.run(None, {"x0": X})[0].tolist()
        return session.run(None, {"x0": X})[0].tolist()

    assert blend() == [2, 4, 6]
    assert blend(weight=0.5) == [0.5, 1, 1.5]
    assert blend(offsets=[10, 20]) == [12, 24, 16]
    assert blend(weight=1.0, table=onnx.numpy_helper.from_array(np.array([100, 200], np.float32))) == [101, 202, 103]


def test_errors_of_attributes_by_name(library):
    def error(**attributes):
        return ort.error_of(ort.run, ort.one_node("Blend", DOMAIN, [F], **attributes), library, X)

    assert 'sdk.params::Blend (node "the_node"): attribute weight: expected float, got int' in error(weight=1)
    assert 'attribute offsets: expected ints, got string' in error(offsets="1")
    assert 'attribute offsets: expected ints, got floats' in error(offsets=[1.0])
    table = onnx.numpy_helper.from_array(np.array([1], np.int64))
    assert 'attribute table: expected a tensor(float), got a tensor(int64)' in error(table=table)


def greeting(names, **attributes):
    graph = helper.make_graph([helper.make_node("Greeting", ["x", "names"], ["y"], domain=DOMAIN, name="g", **attributes)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.STRING, None)],
                              [helper.make_tensor("names", TensorProto.STRING, [len(names)], [n.encode() for n in names])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)], ir_version=8)


def test_prepare_sees_the_node_and_constant_strings(library):
    assert ort.run(greeting(["Ada", "Zoë"]), library, X)[0] == "hello Ada Zoë from g"
    assert ort.run(greeting([], word="goodbye"), library, X)[0] == "goodbye from g"
    assert "attribute word: expected string, got float" in ort.error_of(ort.session, greeting([], word=1.5), library)


def test_options_of_the_session(library):
    """Two sessions with one library: each kernel sees the options of its own."""
    model = ort.one_node("OptionText", DOMAIN, [F], output_types=["string"], key="my.ops.exact")
    sessions = [ort.session(model, library, entries=entries)
                for entries in ({"my.ops.exact": "1"}, {"my.ops.exact": "two, and more"}, {"session.use_env_allocators": "0"})]
    assert [s.run(None, {"x0": X})[0].tolist() for s in sessions] == ["1", "two, and more", "(none)"]


def test_a_tensor_attribute_of_strings(library):
    names = helper.make_tensor("names", TensorProto.STRING, [3], [b"zero", b"", "zwölf".encode()])
    model = ort.one_node("NameOf", DOMAIN, [("int64", ["n"])], output_types=["string"], names=names)
    assert ort.run(model, library, np.array([2, 0, 1]))[0].tolist() == ["zwölf", "zero", ""]
