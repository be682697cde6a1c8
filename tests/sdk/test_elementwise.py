"""Elementwise operators with inputs of several types, other types out, and several outputs."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import ort  # noqa: E402

DOMAIN = "sdk.elementwise"
NUMPY = {"float": np.float32, "double": np.float64, "float16": np.float16, "int8": np.int8, "int32": np.int32, "int64": np.int64}


@pytest.fixture(scope="module")
def library(build):
    return build / "libsdk_ops.so"


@pytest.mark.parametrize("kind", ["float", "int64"])
@pytest.mark.parametrize("shapes", [[(4, 5), (4, 5), (4, 5)], [(4, 1), (5,), ()], [(100_000,), (100_000,), (1,)]], ids=str)
def test_bool_input(shapes, kind, library):
    random = np.random.default_rng(0)
    c, x, y = random.random(shapes[0]) < 0.5, *(random.integers(-9, 9, s).astype(NUMPY[kind]) for s in shapes[1:])
    model = ort.one_node("Select", DOMAIN, [(k, list(s)) for k, s in zip(["bool", kind, kind], shapes)], output_types=[kind])
    assert np.array_equal(ort.run(model, library, c, x, y, threads=2)[0], np.where(c, x, y))


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
def test_bool_output(kind, library):
    x = np.arange(1000).astype(NUMPY[kind]) / 100
    model = ort.one_node("IsClose", DOMAIN, [(kind, ["n"]), (kind, [])], output_types=["bool"], tolerance=0.25)
    got = ort.run(model, library, x, np.array(5, NUMPY[kind]))[0]
    assert got.dtype == bool and np.array_equal(got, np.abs(x.astype(np.float32) - 5) <= 0.25)


@pytest.mark.parametrize("kind", ["float", "float16"])
def test_cast(kind, library):
    x = np.linspace(-300, 300, 1001).astype(NUMPY[kind])
    got = ort.run(ort.one_node("Quantize", DOMAIN, [(kind, ["n"])], output_types=["int8"], scale=2.0), library, x)[0]
    assert np.array_equal(got, np.trunc(np.clip(x.astype(np.float32) / 2, -128, 127)).astype(np.int8))


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
@pytest.mark.parametrize("shapes", [[(7, 9), (7, 9)], [(7, 9), (9,)], [(70, 90), (70, 1)], [(0,), (1,)]], ids=str)
def test_several_outputs(shapes, kind, library):
    random = np.random.default_rng(3)
    x, y = (random.integers(-9, 9, s).astype(NUMPY[kind]) for s in shapes)
    total, difference = ort.run(ort.one_node("SumAndDifference", DOMAIN, [(kind, list(s)) for s in shapes], ["s", "d"]), library, x, y)
    assert np.array_equal(total, x + y) and np.array_equal(difference, x - y) and total.dtype == difference.dtype == x.dtype


@pytest.mark.parametrize("kind", ["float", "float16"])
def test_outputs_of_several_types(kind, library):
    x = np.linspace(-3, 3, 3001).astype(NUMPY[kind])
    magnitude, negative = ort.run(ort.one_node("Mixed", DOMAIN, [(kind, ["n"])], ["m", "n"], [kind, "bool"]), library, x)
    assert np.array_equal(magnitude, np.abs(x)) and np.array_equal(negative, x < 0)


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "float"])
def test_integers(kind, library):
    x = np.arange(-128, 128).astype(NUMPY[kind])
    got = ort.run(ort.one_node("Saturate", DOMAIN, [(kind, ["n"])], limit=50), library, x)[0]
    assert np.array_equal(got, np.clip(x, -50, 50)) and got.dtype == x.dtype


def test_definitions(library):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "ops"))
    from test_ops import description
    texts = {op["name"]: op["definitions"][0]["text"] for op in description(library) if op["domain"] == DOMAIN}
    assert texts == {
        "Select": "out = Where(condition, x, y)",  # the input took the name y
        "IsClose": "y = LessOrEqual(Abs(Sub(x, x1)), @tolerance)",
        "Quantize": "y = Cast<to=3>(Clip(Div(x, @scale), -128, 127))",
        "SumAndDifference": "sum = Add(x, x1); difference = Sub(x, x1)",
        "Mixed": "magnitude = Abs(x); negative = Less(x, 0)",
        "Saturate": "y = Clip(x, Neg(@limit), @limit)",
    }
