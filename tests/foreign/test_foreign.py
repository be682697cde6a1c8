"""A library that Graft has no part in: what it registers is listed, and a file says what its operators mean."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

DEFINITIONS = Path(__file__).parent / "foreign_ops.def"


@pytest.fixture(scope="session")
def foreign(build):
    library = build / "libforeign_ops.so"
    if not library.exists():
        pytest.fail(f"{library} is missing: build the target foreign_ops", pytrace=False)
    return library


def model_of_both(path, opset=17):
    """Writes a model of a HardSwish and of a leaky activation spelled with Where."""
    constants = {"three": 3, "zero": 0, "six": 6, "slope": 0.125}
    nodes = [helper.make_node("Add", ["x", "three"], ["a"]), helper.make_node("Clip", ["a", "zero", "six"], ["c"]),
             helper.make_node("Mul", ["x", "c"], ["m"]), helper.make_node("Div", ["m", "six"], ["h"]),
             helper.make_node("Greater", ["h", "zero"], ["g"]), helper.make_node("Mul", ["h", "slope"], ["s"]),
             helper.make_node("Where", ["g", "h", "s"], ["y"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 5])],
        [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def outputs(model, *libraries):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    for library in libraries:
        options.register_custom_ops_library(str(library))
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.linspace(-5, 5, 15, dtype=np.float32).reshape(3, 5)})[0]


def test_what_it_registers_is_listed(run_graft, foreign):
    report = json.loads(run_graft("describe", foreign, "--json", check=0).stdout)
    assert report["recorded"] is True
    ops = {op["name"]: op for op in report["library"]["operators"]}
    assert set(ops) == {"Leaky", "HardSwish"} and ops["Leaky"]["domain"] == "foreign.ops"
    assert ops["Leaky"]["overloads"] == [{"inputs": [t], "outputs": [t]} for t in ("float", "double")]
    assert ops["HardSwish"]["provider"] == "CPUExecutionProvider" and ops["HardSwish"]["definitions"] == []
    text = run_graft("describe", foreign, check=0).stdout
    assert "not made with Graft" in text and "--definition" in text


def test_its_operators_are_injected_and_ejected(run_graft, foreign, tmp_path):
    model = model_of_both(tmp_path / "m.onnx")
    injected, ejected = tmp_path / "i.onnx", tmp_path / "e.onnx"
    done = run_graft("inject", model, "-l", foreign, "--definition", DEFINITIONS, "-o", injected, "--json", "--seconds", "0", check=0)
    report = json.loads(done.stdout)
    assert report["places"] == 2 and report["verification"]["passed"] and report["verification"]["runs_without_library"]
    assert [n.op_type for n in onnx.load(injected).graph.node] == ["HardSwish", "Leaky"]
    want = outputs(model)
    for got in (outputs(injected, foreign), outputs(injected)):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)  # the lite kernels round as the chain does, but for FMA
    run_graft("eject", injected, "-o", ejected, check=0)
    assert np.array_equal(outputs(ejected), want)


def test_without_definitions_it_is_said_that_there_are_none(run_graft, foreign, tmp_path):
    model = model_of_both(tmp_path / "m.onnx")
    done = run_graft("inject", model, "-l", foreign, "-o", tmp_path / "i.onnx", check=1)
    assert "without a definition, so not looked for: foreign.ops:Leaky, foreign.ops:HardSwish" in done.stdout
    assert "--definition" in done.stderr


def test_a_definition_of_a_newer_opset_serves_an_older_model_that_has_its_words(run_graft, foreign, tmp_path):
    model = model_of_both(tmp_path / "m.onnx", opset=11)
    done = run_graft("inject", model, "-l", foreign, "--definition", DEFINITIONS, "-o", tmp_path / "i.onnx", "--no-verify", "--json", check=0)
    assert json.loads(done.stdout)["places"] == 2  # Where and Greater of opset 11 say the same


@pytest.mark.parametrize("text, words", [
    ("", "a function is expected"),
    ("Leaky (x) => (y) { y = x }", "line 1, column 1: `<` is expected, got `L`"),
    ('<domain: "foreign.ops">\nLeaky (x) => (y) { y = x }', 'the head lacks `opset_import'),
    ('<domain: "foreign.ops", opset_import: ["": 16]>\nLeaky <alpha: number> (x) => (y) { y = x }', "line 2, column 21: `number` is none of the types"),
    ('<domain: "foreign.ops", opset_import: ["": 16]> Leaky (x) => (y) { y = Neg(x)', "`}` is expected, the file ends"),
    ('<domain: "foreign.ops", opset_import: ["": 16]> Leaky (x) => (y) { y = Neg(z) }', "`z` is neither an input nor assigned before"),
    ('<domain: "foreign.ops", opset_import: ["": 16]> Lucky (x) => (y) { y = Neg(x) }', "none of the libraries has the operator foreign.ops:Lucky"),
    ('<domain: "foreign.ops", opset_import: ["": 16]> Leaky (x, z) => (y) { y = Neg(x) }', "has 2 inputs and 1 outputs, the library's operator 1 and 1"),
])
def test_a_file_that_is_wrong_is_refused(run_graft, foreign, tmp_path, text, words):
    model = model_of_both(tmp_path / "m.onnx")
    (tmp_path / "ops.def").write_text(text)
    done = run_graft("inject", model, "-l", foreign, "--definition", tmp_path / "ops.def", "-o", tmp_path / "i.onnx", check=2)
    assert done.stderr.count("\n") == 1 and words in done.stderr, done.stderr
    assert not (tmp_path / "i.onnx").exists()
