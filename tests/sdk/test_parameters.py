"""Every kind of parameter of a tensor function, inside ORT."""

import os
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import ort  # noqa: E402

DOMAIN = "sdk.params"


@pytest.fixture(scope="module")
def library(build):
    return build / "libsdk_ops.so"


F = ("float", ["n"])


def test_a_number_before_the_attributes_is_an_input(library):
    x = np.arange(3, dtype=np.float32)
    for shape in ([], [1], [1, 1]):
        model = ort.one_node("Scale", DOMAIN, [F, ("float", shape)])
        assert np.array_equal(ort.run(model, library, x, np.full(shape, 3, np.float32))[0], 3 * x)
    model = ort.one_node("Scale", DOMAIN, [F, ("float", ["m"])])
    assert 'input 1: expected one number, got shape [2]' in ort.error_of(ort.run, model, library, x, np.ones(2, np.float32))


def test_spans(library):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    model = ort.one_node("AddSpans", DOMAIN, [("float", [2, 3])] * 2)
    assert np.array_equal(ort.run(model, library, x, x)[0], 2 * x)


@pytest.mark.parametrize("wanted", [["p"], ["p", "n"], ["p", "n", "c"], ["p", "", "c"]], ids=str)
def test_optional_outputs(wanted, library):
    types = {"p": "float", "n": "float", "c": "int64"}
    node = helper.make_node("SplitSign", ["x"], wanted, domain=DOMAIN)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                              [helper.make_tensor_value_info(w, ort.ELEMENT[types[w]], None) for w in wanted if w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)], ir_version=8)
    x = np.array([-1, 2, -3, 4], np.float32)
    expected = {"p": [0, 2, 0, 4], "n": [-1, 0, -3, 0], "c": [2]}
    results = ort.run(model, library, x)
    assert [r.tolist() for r in results] == [expected[w] for w in wanted if w]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_variadic_outputs(count, library):
    names = [f"y{i}" for i in range(count)]
    model = ort.one_node("Halves", DOMAIN, [F], names)
    x = np.arange(10, dtype=np.float32)
    for got, expected in zip(ort.run(model, library, x), np.split(x, count)):
        assert np.array_equal(got, expected)


def test_in_place_and_copied(library):
    """A chain lets ORT reuse memory (1.18 and newer); a graph input must never be written to."""
    nodes = [helper.make_node("Increment", ["x"], ["a"], domain=DOMAIN), helper.make_node("Increment", ["a"], ["b"], domain=DOMAIN),
             helper.make_node("Increment", ["b"], ["c"], domain=DOMAIN), helper.make_node("Add", ["b", "c"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)], ir_version=8)
    x = np.arange(4, dtype=np.float32)
    assert np.array_equal(ort.run(model, library, x)[0], (x + 2) + (x + 3))
    assert np.array_equal(x, np.arange(4))
    two = ort.one_node("Accumulate", DOMAIN, [F, F])
    assert np.array_equal(ort.run(two, library, x, 10 * x)[0], 11 * x)


def test_the_shape_of_in_place_is_inferred(library):
    shape = ort.session(ort.one_node("Increment", DOMAIN, [("float", ["batch", 4])]), library).get_outputs()[0].shape
    assert shape == ["batch", 4]


@pytest.mark.parametrize("threads", [1, 2])
def test_pool(threads, library):
    x = np.random.default_rng(0).integers(0, 9, (1000, 7)).astype(np.float32)
    got = ort.run(ort.one_node("RowSums", DOMAIN, [("float", ["r", 7])]), library, x, threads=threads)[0]
    assert np.array_equal(got, x.sum(1))
    assert ort.run(ort.one_node("RowSums", DOMAIN, [("float", ["r", 7])]), library, x[:0], threads=threads)[0].shape == (0,)


def test_what_a_thread_throws_reaches_the_caller(library):
    if (os.cpu_count() or 1) < 2:
        pytest.fail("this test needs two processors")
    text = ort.error_of(ort.run, ort.one_node("ThrowsInAThread", DOMAIN, [F]), library, np.ones(64, np.float32), threads=2)
    assert 'sdk.params::ThrowsInAThread (node "the_node"): the block that begins at' in text


def test_scratch(library):
    x = np.arange(1000, dtype=np.float32)
    s = ort.session(ort.one_node("ReverseTwice", DOMAIN, [F]), library)
    for n in (1000, 10, 0):
        assert np.array_equal(s.run(None, {"x0": x[:n]})[0], x[:n][::-1])


def dense(weights, constant=True):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])]
    initializers = [onnx.numpy_helper.from_array(weights, "w")]
    if not constant:
        inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, list(weights.shape)))
    graph = helper.make_graph([helper.make_node("Dense", ["x", "w"], ["y"], domain=DOMAIN, name="d")], "g", inputs,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)], ir_version=8)


def test_constant_input_is_prepared_once(library):
    w = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    session = ort.session(dense(w), library)
    assert np.array_equal(session.run(None, {"x": x})[0], x @ w)
    assert 'sdk.params::Dense (node "d"): the input w must be a constant' in ort.error_of(ort.session, dense(w, False), library)
    assert 'sdk.params::Dense (node "d"): expected a matrix for w, got shape [3]' in ort.error_of(ort.session, dense(w[:, 0].copy()), library)


def test_the_shape_from_a_constant_is_inferred(library):
    assert ort.session(dense(np.ones((3, 4), np.float32)), library).get_outputs()[0].shape == ["n", 4]


def test_strings(library):
    words = np.array(["a", "", "zwölf", "nul\0inside", "x" * 1000], object)
    s = ("string", ["n"])
    assert ort.run(ort.one_node("Join", DOMAIN, [s], separator="; "), library, words)[0] == "; ".join(words)
    got = ort.run(ort.one_node("Lengths", DOMAIN, [s], output_types=["int64"]), library, words)[0]
    assert got.tolist() == [len(w.encode()) for w in words]
    assert ort.run(ort.one_node("Lengths", DOMAIN, [s], output_types=["int64"]), library, words[:0])[0].shape == (0,)
    model = ort.one_node("MakeStrings", DOMAIN, [("int64", ["n"])], output_types=["string"])
    assert ort.run(model, library, np.array([0, 2], np.int64))[0].tolist() == ["é", "\0\0é"]


def test_tensor_attribute(library):
    x = np.zeros(4, np.float32)
    table = onnx.numpy_helper.from_array(np.array([1.5, 2.5], np.float32))
    assert ort.run(ort.one_node("AddTable", DOMAIN, [F], table=table), library, x)[0].tolist() == [1.5, 2.5, 1.5, 2.5]
    wrong = onnx.numpy_helper.from_array(np.array([1, 2], np.int64))
    assert "expected a tensor(float), got a tensor(int64)" in ort.error_of(ort.session, ort.one_node("AddTable", DOMAIN, [F], table=wrong), library)
    assert "attribute table: expected tensor, got float" in ort.error_of(ort.session, ort.one_node("AddTable", DOMAIN, [F], table=1.0), library)


def test_limits_of_attributes(library):
    x = np.array([2.0], np.float32)
    assert ort.run(ort.one_node("Pick", DOMAIN, [F]), library, x)[0] == 2
    assert ort.run(ort.one_node("Pick", DOMAIN, [F], mode="negate", axis=-4, power=2.0), library, x)[0] == -8
    for attributes, text in [
            (dict(mode="flip"), 'attribute mode: expected one of "keep", "negate", got "flip"'),
            (dict(axis=4), "attribute axis: expected -4 to 3, got 4"),
            (dict(power=-1.0), "attribute power: expected at least 0, got -1")]:
        assert f'sdk.params::Pick (node "the_node"): {text}' in ort.error_of(ort.session, ort.one_node("Pick", DOMAIN, [F], **attributes), library)
