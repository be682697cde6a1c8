"""Operators of every kind inside ORT: what they compute, and what the errors say."""

import gc
import os
import sys
import threading

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import ort  # noqa: E402

DOMAIN = "sdk.test"


@pytest.fixture(scope="module")
def library(build):
    return build / "libsdk_ops.so"


SHAPES = [
    [(2, 3, 4), (2, 3, 4)], [(2, 3, 4), ()], [(), (2, 3, 4)], [(2, 3, 4), (1,)], [(8, 16, 10, 10), (16, 1, 1)],
    [(5, 7), (7,)], [(1000, 3), (3,)], [(3, 1), (1, 4)], [(1, 5, 1, 6), (4, 1, 3, 1)], [(0, 3), (3,)], [(0, 3), (1, 1)],
    [(70_000,), (70_000,)], [(300, 300), (300, 1)], [(2, 200), (1, 200)], [(), ()], [(1, 1), (1,)],
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["float", "double", "float16"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_two_inputs_broadcast(shapes, kind, threads, library):
    random = np.random.default_rng(0)
    dtype = {"float": np.float32, "double": np.float64, "float16": np.float16}[kind]
    x, y = (random.integers(-8, 8, s).astype(dtype) for s in shapes)  # small integers: no rounding in any type
    model = ort.one_node("Axpby", DOMAIN, [(kind, list(s)) for s in shapes], a=2.0, b=-3.0)
    got = ort.run(model, library, x, y, threads=threads)[0]
    expected = 2 * x - 3 * y
    assert got.shape == expected.shape and got.dtype == dtype and np.array_equal(got, expected)


@pytest.mark.parametrize("shapes", [
    [(4, 5), (4, 5), (4, 5)], [(4, 5), (5,), ()], [(), (4, 5), (4, 1)], [(6, 100), (6, 1), (100,)], [(2, 1, 3), (5, 1), (1,)],
    [(3, 200), (1, 200), (3, 1)], [(1,), (1,), (9,)]], ids=str)
def test_three_inputs_broadcast(shapes, library):
    random = np.random.default_rng(1)
    x, y, t = (random.integers(-8, 8, s).astype(np.float32) for s in shapes)
    got = ort.run(ort.one_node("Lerp", DOMAIN, [("float", list(s)) for s in shapes]), library, x, y, t)[0]
    assert np.array_equal(got, x + t * (y - x)) and got.shape == (x + y + t).shape


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("float16", np.float16)])
def test_four_inputs_broadcast(kind, dtype, library):
    shapes = [(3, 1, 100), (2, 1), (), (3, 2, 100)]
    a, b, c, d = (np.random.default_rng(2).integers(-8, 8, s).astype(dtype) for s in shapes)
    got = ort.run(ort.one_node("Sum4", DOMAIN, [(kind, list(s)) for s in shapes]), library, a, b, c, d)[0]
    assert np.array_equal(got, a + 2 * b + 3 * c + 4 * d)


def test_conditions_and_shared_parts(library):
    x = np.array([-2, -1, 0, 1.5, 2, np.nan], np.float32)
    got = ort.run(ort.one_node("Between", DOMAIN, [("float", ["n"])]), library, x)[0]
    assert np.array_equal(got, [0, 0, 0, 1.5, 0, 0])
    got = ort.run(ort.one_node("Reuse", DOMAIN, [("float", ["n"])]), library, x)[0]
    assert np.allclose(got[:5], np.tanh(x[:5]) ** 2 + np.tanh(x[:5]), rtol=1e-6)


def test_ordinary_functions(library):
    x = np.linspace(-20, 20, 1001, dtype=np.float32)
    got = ort.run(ort.one_node("Squash", DOMAIN, [("float", ["n"])], limit=2.5), library, x)[0]
    assert np.allclose(got, 2.5 * np.tanh(x / 2.5), rtol=4e-7, atol=0)
    big = np.array([2**61, -5], np.int64)
    assert np.array_equal(ort.run(ort.one_node("AddIntegers", DOMAIN, [("int64", [2])] * 2), library, big, big)[0], big + big)
    model = ort.one_node("IsLarger", DOMAIN, [("float", [2, 1]), ("float", [2])], output_types=["bool"])
    a, b = np.array([[1.0], [3.0]], np.float32), np.array([2.0, 0.0], np.float32)
    assert np.array_equal(ort.run(model, library, a, b)[0], a > b)


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64), ("int64", np.int64)])
def test_tensor_function_in_several_types(kind, dtype, library):
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    for attributes, shift in [({}, 1), (dict(shift=-2), -2)]:
        got = ort.run(ort.one_node("Roll", DOMAIN, [(kind, [2, 3])], **attributes), library, x)[0]
        assert np.array_equal(got, np.roll(x.ravel(), shift).reshape(2, 3))


def test_optional_in_the_middle_and_variadic(library):
    one, two = np.ones(4, np.float32), np.full(4, 2, np.float32)
    f = ("float", [4])
    full = ort.one_node("WeightedSum", DOMAIN, [f, f, f, f], scale=0.5)
    assert np.array_equal(ort.run(full, library, one, two, one, one)[0], [2.5] * 4)
    without = ort.one_node("WeightedSum", DOMAIN, [f, None, f])
    assert np.array_equal(ort.run(without, library, one, two)[0], [3] * 4)


def test_several_outputs_of_several_types(library):
    model = ort.one_node("TwoOutputs", DOMAIN, [("float", ["n"])], ["s", "c"], ["float", "int64"])
    total, count = ort.run(model, library, np.ones(5, np.float32))
    assert total.shape == () and total == 5 and np.array_equal(count, [5])


def test_all_kinds_of_attributes(library):
    x = np.array([1, 2], np.float32)
    f = [("float", [2])]
    assert np.array_equal(ort.run(ort.one_node("AllAttributes", DOMAIN, f), library, x)[0], x + 2 + 3 + 9.5)
    given = ort.one_node("AllAttributes", DOMAIN, f, f=2.0, i=-1, s="äb", fs=[1.5, 2.0], **{"is": [7]})
    assert np.array_equal(ort.run(given, library, x)[0], 2 * x - 1 + 3 + 3.5 + 7)  # "äb" is three bytes long


def test_state_is_prepared_once_and_concurrent_runs_agree(library):
    s = ort.session(ort.one_node("MovingSum", DOMAIN, [("float", ["r", "n"])], n=4), library, threads=2)
    x = np.arange(60, dtype=np.float32).reshape(3, 20)
    expected = np.lib.stride_tricks.sliding_window_view(x, 4, 1).sum(-1)
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(s.run(None, {"x0": x})[0], expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_shape_inference_reaches_the_graph(library, tmp_path):
    """The shape of a node behind the operator is known before the run, symbols by name (ORT 1.17 and newer)."""
    from onnx import TensorProto, helper
    import onnxruntime
    nodes = [helper.make_node("MovingSum", ["x"], ["m"], domain=DOMAIN, n=3), helper.make_node("Twice", ["m"], ["y"], domain=DOMAIN)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 10])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)], ir_version=8)
    assert ort.session(model, library).get_outputs()[0].shape == ["batch", 8]


def test_an_unknown_dimension_raises_no_warning(library, capfd):
    """A dimension that the shape function cannot know gets a name of its own: ORT takes -1 for a size and warns."""
    import onnxruntime
    model = ort.one_node("MovingSum", DOMAIN, [("float", ["batch", "n"])], n=2)
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(library))
    s = onnxruntime.InferenceSession(model.SerializeToString(), options)
    shape = s.get_outputs()[0].shape
    assert shape[0] == "batch" and isinstance(shape[1], str) and shape[1] != "n"
    assert s.run(None, {"x0": np.ones((2, 5), np.float32)})[0].shape == (2, 4)
    assert capfd.readouterr().err == ""


def test_two_domains_of_one_library(library):
    x = np.ones(3, np.float32)
    for domain in (DOMAIN, "sdk.other"):
        assert np.array_equal(ort.run(ort.one_node("Twice", domain, [("float", [3])]), library, x)[0], 2 * x)


def test_errors_say_who_what_and_got(library):
    f2 = ("float", ["n"])
    x, y3 = np.ones(2, np.float32), np.ones(3, np.float32)
    assert 'sdk.test::WantsAMatrix (node "the_node"): expected a matrix for x, got shape [2]' in ort.error_of(
        ort.run, ort.one_node("WantsAMatrix", DOMAIN, [f2]), library, x)
    assert 'sdk.test::Axpby (node "the_node"): the shapes [2] and [3] do not broadcast' in ort.error_of(
        ort.run, ort.one_node("Axpby", DOMAIN, [f2, ("float", ["m"])], a=1.0), library, x, y3)
    assert 'sdk.test::ForgetsToAllocate (node "the_node"): output y was never allocated' in ort.error_of(
        ort.run, ort.one_node("ForgetsToAllocate", DOMAIN, [f2]), library, x)
    # while the session is made
    assert 'sdk.test::Axpby (node "the_node"): the attribute a (float) is required, and missing' in ort.error_of(
        ort.session, ort.one_node("Axpby", DOMAIN, [f2, f2]), library)
    assert 'sdk.test::Axpby (node "the_node"): attribute a: expected float, got int' in ort.error_of(
        ort.session, ort.one_node("Axpby", DOMAIN, [f2, f2], a=1), library)
    assert 'sdk.test::AllAttributes (node "the_node"): attribute i: expected int, got float' in ort.error_of(
        ort.session, ort.one_node("AllAttributes", DOMAIN, [f2], i=1.5), library)
    assert 'sdk.test::MovingSum (node "the_node"): n must be at least 1, got 0' in ort.error_of(
        ort.session, ort.one_node("MovingSum", DOMAIN, [f2], n=0), library)
    # without a node name
    assert "sdk.test::WantsAMatrix: expected a matrix" in ort.error_of(
        ort.run, ort.one_node("WantsAMatrix", DOMAIN, [f2], node_name=""), library, x)


def test_a_name_defined_twice_is_refused(build):
    text = ort.error_of(ort.session, ort.one_node("Times", "sdk.twice", [("float", [1])]), build / "libsdk_twice.so")
    assert "sdk.twice::Times is defined twice: ORT knows one schema a name" in text


def test_many_sessions_one_domain(library):
    model = ort.one_node("Twice", DOMAIN, [("float", [3])])
    sessions = [ort.session(model, library) for _ in range(20)]
    x = np.ones(3, np.float32)
    for s in sessions:
        assert np.array_equal(s.run(None, {"x0": x})[0], 2 * x)
    del sessions
    gc.collect()
    assert np.array_equal(ort.run(model, library, x)[0], 2 * x)


def test_output_may_take_the_place_of_the_input(library):
    """ORT reuses the input's memory where nobody else reads it; a value that is read again must stay."""
    from onnx import TensorProto, helper
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Twice", ["a"], ["b"], domain=DOMAIN),
             helper.make_node("Add", ["a", "b"], ["y"]), helper.make_node("Twice", ["y"], ["z"], domain=DOMAIN)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, [5])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)], ir_version=8)
    x = np.arange(-2, 3, dtype=np.float32)
    assert np.array_equal(ort.run(model, library, x)[0], 6 * np.abs(x))
