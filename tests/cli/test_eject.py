"""`graft eject`: the way back from an injected model to standard operators."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest

# What the models have where the definition of the operator is spelled otherwise differs by the chain's own rounding:
# magika writes 0.5 * x * (1 + tanh(...)) in another order.
ROUNDING = {"magika": 1e-6}
INPUTS = {
    "pp-ocrv4-det": ((1, 3, 128, 160), np.float32), "pp-ocrv4-rec": ((2, 3, 48, 96), np.float32),
    "pp-ocr-cls": ((2, 3, 48, 192), np.float32), "magika": ((3, 2048), np.int32),
}


def outputs(model, array):
    """Runs a model without any library at no optimisation, so that nothing but its nodes decides on the bits."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: array})


@pytest.mark.parametrize("name", INPUTS)
def test_inject_then_eject_computes_what_the_original_did(name, run_graft, ops_library, models, tmp_path):
    original, injected, ejected = models / f"{name}.onnx", tmp_path / "injected.onnx", tmp_path / "ejected.onnx"
    report = json.loads(run_graft("inject", original, "-l", ops_library, "-o", injected, "--no-verify", "--json", check=0).stdout)
    back = json.loads(run_graft("eject", injected, "-o", ejected, "--json", check=0).stdout)
    assert back["schema"] == "graft.eject/1" and back["outcome"] == "ejected" and back["places"] == report["places"]
    assert back["verification"]["passed"] and back["verification"]["difference_plain"]["equal"]
    result = onnx.load(ejected)
    assert not result.functions and result.opset_import == onnx.load(original).opset_import
    onnx.checker.check_model(result, full_check=True)
    shape, element = INPUTS[name]
    random = np.random.default_rng(7)
    array = random.integers(0, 257, shape).astype(element) if element == np.int32 else random.normal(0, 1, shape).astype(element)
    for want, got in zip(outputs(original, array), outputs(ejected, array), strict=True):
        if name in ROUNDING:
            assert any(site["class"] == "within_rounding" for op in report["operators"] for site in op["sites"])
            np.testing.assert_allclose(got, want, rtol=0, atol=ROUNDING[name])
        else:
            assert np.array_equal(got, want)


def test_a_person_reads_what_was_done(run_graft, ops_library, models, tmp_path):
    run_graft("inject", models / "pp-ocr-cls.onnx", "-l", ops_library, "-o", tmp_path / "i.onnx", "--no-verify", check=0)
    done = run_graft("eject", tmp_path / "i.onnx", "-o", tmp_path / "e.onnx", check=0)
    assert "graft:HardSwish      18" in done.stdout and "standard operators only, the same bits" in done.stdout


def test_nothing_to_eject_is_said_and_leaves_nothing(run_graft, models, tmp_path):
    done = run_graft("eject", models / "pp-ocr-cls.onnx", "-o", tmp_path / "e.onnx", check=1)
    assert done.stderr.count("\n") == 1 and "no operator that Graft put there" in done.stderr and not list(tmp_path.iterdir())
    run_graft("eject", models / "pp-ocr-cls.onnx", "-o", tmp_path / "e.onnx", "--allow-none", check=0)
    assert (tmp_path / "e.onnx").read_bytes() == (models / "pp-ocr-cls.onnx").read_bytes()


def test_without_a_function_the_library_is_asked_for(run_graft, ops_library, models, tmp_path):
    run_graft("inject", models / "pp-ocr-cls.onnx", "-l", ops_library, "-o", tmp_path / "i.onnx", "--keep-ir", "--no-verify", check=0)
    done = run_graft("eject", tmp_path / "i.onnx", "-o", tmp_path / "e.onnx", check=1)
    assert "no function for graft:HardSwish (18); give the library" in done.stderr and not (tmp_path / "e.onnx").exists()
    run_graft("eject", tmp_path / "i.onnx", "-o", tmp_path / "e.onnx", "-l", ops_library, check=0)
    assert onnx.load(tmp_path / "e.onnx").ir_version == onnx.load(models / "pp-ocr-cls.onnx").ir_version


def test_an_operator_that_is_not_there_is_refused(run_graft, ops_library, models, tmp_path):
    run_graft("inject", models / "pp-ocr-cls.onnx", "-l", ops_library, "-o", tmp_path / "i.onnx", "--no-verify", check=0)
    done = run_graft("eject", tmp_path / "i.onnx", "-o", tmp_path / "e.onnx", "--op", "Swish", check=2)
    assert "--op Swish" in done.stderr and "graft:HardSwish" in done.stderr
