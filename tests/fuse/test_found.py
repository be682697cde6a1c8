"""The smallest models of what random graphs have found: each was wrong once."""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import ort  # noqa: E402


def model_of(nodes, inputs, outputs, constants=(), opset=17):
    """Makes a model; inputs and outputs are (name, element type, dimensions), constants (name, array)."""
    values = [[helper.make_tensor_value_info(*v) for v in part] for part in (inputs, outputs)]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants]
    graph = helper.make_graph(nodes, "g", *values, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture
def fuse(run_graft, ops_library, tmp_path):
    """Gives a function that fuses a model, and checks that the result gives the original's numbers with and without the library."""

    def call(model, feeds, *options, libraries=(), check=0):
        before, output = tmp_path / "before.onnx", tmp_path / "fused.onnx"
        onnx.save(model, before)
        done = run_graft("fuse", before, "-o", output, "--no-measure", "--no-verify", "--json", *options, check=check)
        if check:
            return None, json.loads(done.stdout)
        after = onnx.load(output)
        onnx.checker.check_model(after)
        library = output.with_suffix(".so") if "--compile" in options else ops_library
        expected = ort.session(model, *libraries).run(None, feeds)
        for used in ([library], list(libraries)):
            for x, y in zip(expected, ort.session(after, *used).run(None, feeds)):
                assert x.shape == y.shape and np.allclose(x, y, rtol=1e-6, atol=0, equal_nan=True)
        return after, json.loads(done.stdout)

    return call


def operators(model, domain="graft"):
    return [n.op_type for n in model.graph.node if n.domain == domain]


def test_literals_of_integers_before_opset_9(fuse):
    """There were no Constant nodes of them."""
    nodes = [helper.make_node("Mul", ["x", "k"], ["a"]), helper.make_node("Sub", ["a", "k"], ["y"])]
    model = model_of(nodes, [("x", TensorProto.INT32, [2, 3])], [("y", TensorProto.INT32, [2, 3])], [("k", np.int32(7))], opset=8)
    fuse(model, {"x": np.arange(6, dtype=np.int32).reshape(2, 3)})


def test_numbers_that_differ_before_opset_12(fuse):
    """There was no value_float: each place has an operator of its own."""
    nodes, outputs = [], []
    for i in range(2):
        nodes += [helper.make_node("Add", ["x", f"k{i}"], [f"a{i}"]), helper.make_node("Exp", [f"a{i}"], [f"e{i}"]),
                  helper.make_node("Softmax", [f"e{i}"], [f"y{i}"], axis=1)]
        outputs.append((f"y{i}", TensorProto.FLOAT, [2, 3]))
    for opset, places in ((11, 2), (12, 1)):
        model = model_of(nodes, [("x", TensorProto.FLOAT, [2, 3])], outputs, [("k0", np.float32(1)), ("k1", np.float32(-2))], opset=opset)
        after, _ = fuse(model, {"x": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)})
        assert len(set(operators(after))) == places


def test_a_model_that_has_fused_operators_already(fuse, ops_library):
    """Their names are taken; the library is there once."""
    nodes = [helper.make_node("Add", ["x", "k"], ["a"]), helper.make_node("Exp", ["a"], ["y"])]
    x = {"x": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)}
    once, _ = fuse(model_of(nodes, [("x", TensorProto.FLOAT, [2, 3])], [("y", TensorProto.FLOAT, [2, 3])], [("k", np.float32(1))]), x)
    once.graph.node.extend([helper.make_node("Softmax", ["y"], ["s"]), helper.make_node("Sub", ["s", "y"], ["t"]), helper.make_node("Abs", ["t"], ["z"])])
    once.graph.output[0].name = "z"
    twice, _ = fuse(once, x)
    assert operators(twice) == ["Fused_f32_0", "Fused_f32_1"]
    again, _ = fuse(once, x, "--library", ops_library, libraries=[ops_library])
    assert operators(again) == ["Fused_f32_0", "Fused_f32_1"]


def test_nodes_that_spell_out_the_domain_of_onnx(fuse):
    nodes = [helper.make_node("Add", ["x", "k"], ["a"], domain="ai.onnx"), helper.make_node("Exp", ["a"], ["y"])]
    model = model_of(nodes, [("x", TensorProto.FLOAT, [3])], [("y", TensorProto.FLOAT, [3])], [("k", np.float32(1))])
    fuse(model, {"x": np.float32([1, 2, 3])})


def test_a_dead_node_gives_no_shape(fuse):
    nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Exp", ["a"], ["y"]), helper.make_node("Add", ["y", "w"], ["dead"])]
    model = model_of(nodes, [("x", TensorProto.FLOAT, ["n", 3]), ("w", TensorProto.FLOAT, ["m", 3])], [("y", TensorProto.FLOAT, ["n", 3])])
    fuse(model, {"x": np.ones((1, 3), np.float32), "w": np.ones((4, 3), np.float32)})


def test_the_sign_of_minus_zero(fuse):
    nodes = [helper.make_node("Sign", ["x"], ["a"]), helper.make_node("Reciprocal", ["a"], ["y"])]
    for engine in ((), ("--compile",)):
        fuse(model_of(nodes, [("x", TensorProto.FLOAT, [4])], [("y", TensorProto.FLOAT, [4])]), {"x": np.float32([-0.0, 0, 3, np.nan])}, *engine)


def test_a_compiled_operator_has_no_name_that_ort_rewrites(fuse):
    """ORT takes any Sub for its own, and reads a second input."""
    nodes = [helper.make_node("Sub", ["x", "x"], ["a"]), helper.make_node("Cast", ["a"], ["y"], to=TensorProto.FLOAT)]
    model = model_of(nodes, [("x", TensorProto.FLOAT, [3])], [("y", TensorProto.FLOAT, [3])])
    after, _ = fuse(model, {"x": np.float32([1, np.nan, 3])}, "--compile", "--domain", "test.fused")
    assert operators(after, "test.fused") == ["Sub2"]


def test_what_is_in_the_way_of_ort_does_not_keep_the_rest_from_being_fused(fuse):
    """ORT makes one node of two Signs; a region with one of them leaves the other."""
    nodes = [helper.make_node("Sign", ["x"], ["a"]), helper.make_node("Sign", ["x"], ["b"]), helper.make_node("Cast", ["a"], ["c"], to=TensorProto.DOUBLE),
             helper.make_node("Cast", ["b"], ["d"], to=TensorProto.DOUBLE), helper.make_node("Softmax", ["x"], ["e"]),
             helper.make_node("Add", ["e", "k"], ["f"]), helper.make_node("Exp", ["f"], ["g"])]
    outputs = [("c", TensorProto.DOUBLE, [3]), ("d", TensorProto.DOUBLE, [3]), ("g", TensorProto.FLOAT, [3])]
    model = model_of(nodes, [("x", TensorProto.FLOAT, [3])], outputs, [("k", np.float32(1))])
    after, _ = fuse(model, {"x": np.float32([-2, 0, 3])})
    assert "Exp" not in [n.op_type for n in after.graph.node]
