"""8-bit floats and 4-bit integers inside ORT, against ORT's own Cast."""

import os
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import ort  # noqa: E402

DOMAIN = "sdk.storage"


@pytest.fixture(scope="module")
def library(build):
    return build / "libsdk_ops.so"


def through(nodes, x, library, opset):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)], ir_version=9)
    return ort.run(model, library, x, optimised=False)[0]


FLOAT8 = {"e4m3fn": TensorProto.FLOAT8E4M3FN, "e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ, "e5m2": TensorProto.FLOAT8E5M2,
          "e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ}
X = np.concatenate([np.linspace(-500, 500, 1001), np.geomspace(1e-6, 60000, 500), [0, -0.0]]).astype(np.float32)


@pytest.mark.parametrize("kind", FLOAT8)
def test_float8_reads_as_ort_wrote(kind, library):
    cast = helper.make_node("Cast", ["x"], ["h"], to=FLOAT8[kind])
    own = through([cast, helper.make_node("Widen", ["h"], ["y"], domain=DOMAIN)], X, library, 19)
    expected = through([cast, helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT)], X, library, 19)
    assert np.array_equal(own, expected, equal_nan=True)


@pytest.mark.parametrize("kind", ["e4m3fn", "e5m2"])
def test_float8_writes_as_ort_does(kind, library):
    cast = helper.make_node("Cast", ["x"], ["h"], to=FLOAT8[kind])
    back = helper.make_node("Cast", ["k"], ["y"], to=TensorProto.FLOAT)
    own = through([cast, helper.make_node("Halve", ["h"], ["k"], domain=DOMAIN), back], X, library, 19)
    half = [helper.make_node("Cast", ["h"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("Constant", [], ["two"], value_float=2.0), helper.make_node("Div", ["f", "two"], ["d"]),
            helper.make_node("Cast", ["d"], ["k"], to=FLOAT8[kind])]
    assert np.array_equal(own, through([cast, *half, back], X, library, 19), equal_nan=True)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
def test_int4(n, library):
    x = (np.arange(n) % 16 - 8).astype(np.float32)
    pack = helper.make_node("PackSigned", ["x"], ["h"], domain=DOMAIN)
    assert np.array_equal(through([pack, helper.make_node("Unpack", ["h"], ["y"], domain=DOMAIN)], x, library, 19), x)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
def test_ort_reads_int4(n, library):
    x = (np.arange(n) % 16 - 8).astype(np.float32)
    pack = helper.make_node("PackSigned", ["x"], ["h"], domain=DOMAIN)
    assert np.array_equal(through([pack, helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT)], x, library, 21), x)
