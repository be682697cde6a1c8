"""What people do with a model afterwards: ONNX's shape inference and checker, ORT's quantisation, the float16 converter."""

import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxconverter_common import float16
from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static

REAL = ["pp-ocrv4-det", "pp-ocrv4-rec", "pp-ocr-cls", "magika"]


def outputs(model, feeds, *libraries):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    for library in libraries:
        options.register_custom_ops_library(str(library))
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


@pytest.fixture(scope="module")
def injected(run_graft, ops_library, models, tmp_path_factory):
    """Gives a function that injects a real model, each once."""
    folder = tmp_path_factory.mktemp("injected")

    def make(name):
        file = folder / f"{name}.onnx"
        if not file.exists():
            run_graft("inject", models / f"{name}.onnx", "-l", ops_library, "-o", file, "--no-verify", check=0)
        return file

    return make


@pytest.mark.parametrize("name", REAL)
def test_shape_inference_and_checker(name, injected):
    model = onnx.load(injected(name))
    onnx.checker.check_model(model, full_check=True)
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    known = {v.name for v in [*inferred.graph.value_info, *inferred.graph.output]}
    assert {o for n in inferred.graph.node for o in n.output if o} <= known


class Once(CalibrationDataReader):
    def __init__(self, feeds):
        self.left = [feeds]

    def get_next(self):
        return self.left.pop() if self.left else None


@pytest.mark.parametrize("name, feeds", [
    ("pp-ocr-cls", {"x": np.random.default_rng(3).normal(size=(1, 3, 48, 192)).astype(np.float32)}),
    ("magika", {"bytes": np.random.default_rng(3).integers(0, 257, (1, 2048)).astype(np.int32)}),
])
def test_quantisation(name, feeds, injected, models, ops_library, tmp_path):
    # ORT 1.32 cannot quantise det and rec dynamically at all: their weights are Constant nodes.
    for quantise, file in ((lambda *f: quantize_dynamic(*f), tmp_path / "dynamic.onnx"), (lambda *f: quantize_static(*f, Once(feeds)), tmp_path / "static.onnx")):
        before = outputs(models / f"{name}.onnx", feeds)
        quantise(injected(name), file)
        assert any("Quantize" in n.op_type or "Integer" in n.op_type for n in onnx.load(file).graph.node)
        with_library, without = outputs(file, feeds, ops_library), outputs(file, feeds)
        # Quantising to 8 bits moves these models' probabilities by up to 0.04, injected or not.
        assert np.abs(with_library - before).max() < 0.1 and np.abs(with_library - without).max() < 0.1


def activations(path, opset):
    """Writes a model of a product, HardSwish, SiLU and another product."""
    random = np.random.default_rng(5)
    tensors = {"three": 3, "zero": 0, "six": 6, "w": random.normal(size=(8, 16)) / 4, "v": random.normal(size=(16, 4)) / 4}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "three"], ["a"]),
             helper.make_node("Clip", ["a", "zero", "six"], ["c"]), helper.make_node("Mul", ["h", "c"], ["m"]),
             helper.make_node("Div", ["m", "six"], ["n"]), helper.make_node("Sigmoid", ["n"], ["s"]),
             helper.make_node("Mul", ["n", "s"], ["o"]), helper.make_node("MatMul", ["o", "v"], ["y"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])],
        [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in tensors.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def convert(source, target):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of weights that float16 cannot hold
        onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True), target)
    return target


def test_float16_after_injection(run_graft, ops_library, tmp_path):
    """From opset 15 on the literals of the embedded functions follow the type that they are called with."""
    model, feeds = activations(tmp_path / "m.onnx", 17), {"x": np.random.default_rng(6).normal(size=(3, 8)).astype(np.float32)}
    run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "i.onnx", "--no-verify", check=0)
    half = convert(tmp_path / "i.onnx", tmp_path / "h.onnx")
    assert {n.op_type for n in onnx.load(half).graph.node if n.domain} == {"HardSwish", "Silu"}
    before = outputs(model, feeds)
    for libraries in ([ops_library], []):
        # float16 has 11 bits; sums of 16 products of weights and activations near 1.
        np.testing.assert_allclose(outputs(half, feeds, *libraries), before, rtol=0, atol=1e-2)


@pytest.mark.parametrize("opset", [12, 17])
def test_float16_before_injection(run_graft, ops_library, tmp_path, opset):
    """The road for older opsets: convert, then inject; or eject, convert, inject."""
    model, feeds = activations(tmp_path / "m.onnx", opset), {"x": np.random.default_rng(6).normal(size=(3, 8)).astype(np.float32)}
    run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "i.onnx", "--no-verify", check=0)
    run_graft("eject", tmp_path / "i.onnx", "-o", tmp_path / "e.onnx", check=0)
    half = convert(tmp_path / "e.onnx", tmp_path / "h.onnx")
    run_graft("inject", half, "-l", ops_library, "-o", tmp_path / "hi.onnx", "--seconds", "0", check=0)
    assert {n.op_type for n in onnx.load(tmp_path / "hi.onnx").graph.node if n.domain} == {"HardSwish", "Silu"}
    np.testing.assert_allclose(outputs(tmp_path / "hi.onnx", feeds, ops_library), outputs(model, feeds), rtol=0, atol=1e-2)
