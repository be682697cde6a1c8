"""`graft describe`: libraries and models, for people and as JSON, and what it says of neither."""

import json


def test_a_library(run_graft, ops_library):
    text = run_graft("describe", ops_library, check=0).stdout
    assert "8 operators and 7 pools of names" in text
    assert "graft:Fused_f32_0 to _47" in text and "graft:Fused_f32_1" not in text and text.count("Fused_f16") == 2
    assert "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)" in text
    line = next(line for line in text.splitlines() if line.startswith("graft:LeakyRelu"))
    assert "float alpha = 0.01" in line and "float double float16 bfloat16" in line
    report = json.loads(run_graft("describe", ops_library, "--json", check=0).stdout)
    assert report["schema"] == "graft.describe/1" and report["kind"] == "library"
    assert {"graft"} == {op["domain"] for op in report["library"]["operators"]}


def test_a_model(run_graft, models, ops_library, tmp_path):
    model = models / "pp-ocrv4-det.onnx"
    text = run_graft("describe", model, check=0).stdout
    assert "IR version 8, opset 12" in text and "HardSigmoid" in text
    report = json.loads(run_graft("describe", model, "--json", check=0).stdout)
    assert report["kind"] == "model" and report["imports"] == {"": 12} and report["other_operators"] == []
    assert report["inputs"][0]["name"] == "x" and report["standard_operators"]["Conv"] > 10

    run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "out.onnx", "--no-verify", check=0)
    report = json.loads(run_graft("describe", tmp_path / "out.onnx", "--json", check=0).stdout)
    other = next(op for op in report["other_operators"] if op["name"] == "graft:HardSwish")
    assert other == {"name": "graft:HardSwish", "nodes": 24, "function": True}
    assert "graft:HardSwish" in report["functions"]
    assert "graft:HardSwish" in run_graft("describe", tmp_path / "out.onnx", check=0).stdout


def test_neither(run_graft, tmp_path):
    (tmp_path / "text").write_text("neither\n" * 10)
    for file, cause in [("text", "not an ONNX model"), ("no.so", "no.so"), ("no.onnx", "does not exist"), (".", "folder")]:
        done = run_graft("describe", tmp_path / file, check=2)
        assert done.stderr.count("\n") == 1 and cause in done.stderr and done.stdout == ""


def test_a_library_with_operators_of_every_kind(run_graft, build):
    """Parameters, limits, tensor attributes, several types: all that the SDK can say of itself is read."""
    report = json.loads(run_graft("describe", build / "libsdk_ops.so", "--json", check=0).stdout)
    operators = {(op["domain"], op["name"]): op for op in report["library"]["operators"]}
    assert operators["sdk.params", "AddTable"]["attributes"] == [{"name": "table", "type": "tensor", "required": True}]
    assert operators["sdk.params", "Dense"]["inputs"][1] == {"name": "w", "arity": "required", "constant": True}
    assert operators["sdk.storage", "Unpack"]["overloads"][0]["inputs"] == ["int4"]
    assert "pow" in report["math_calls"] and "expf" not in report["math_calls"]
    text = run_graft("describe", build / "libsdk_ops.so", check=0).stdout
    assert "sdk.params:WeightedSum" not in text and "sdk.test:WeightedSum" in text
    assert "calls of the C math library: " in text
