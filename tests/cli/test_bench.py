"""`graft bench`: one model, two models, operators, providers, drift, the page, bad calls. No test looks at how fast anything is."""

import json
import math
from pathlib import Path

import numpy as np
import onnx
import pytest
from page import Page
from onnx import TensorProto, helper, numpy_helper

QUICK = ("--rounds", "6")


def chain(file: Path, nodes, shape=("N", 4096), name="x", extra=()) -> Path:
    """Writes a model whose nodes (type, second input) follow each other."""
    constants = {"three": 3, "zero": 0, "six": 6, "almost": 6.01}
    made, value = [], name
    for i, (op, *inputs) in enumerate(nodes):
        result = "y" if i == len(nodes) - 1 else f"v{i}"
        made.append(helper.make_node(op, [value, *inputs], [result], name=f"{op.lower()}{i}"))
        value = result
    used = {i for node in (*made, *extra) for i in node.input}
    graph = helper.make_graph(
        made, "chain", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.array(value, np.float32), key) for key, value in constants.items() if key in used],
    )
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), file)
    return file


@pytest.fixture
def model(tmp_path) -> Path:
    return chain(tmp_path / "model.onnx", [("Sin",), ("Mul", "three"), ("Cos",)])


@pytest.fixture
def other(tmp_path) -> Path:
    """Gives a model of the same meaning with one node more."""
    return chain(tmp_path / "other.onnx", [("Sin",), ("Mul", "three"), ("Add", "zero"), ("Cos",)])


def one_line(done) -> str:
    assert done.stderr.startswith("graft: error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("graft: error: ").rstrip("\n")


def test_one_model(run_graft, model):
    report = json.loads(run_graft("bench", model, *QUICK, "--json", "--shape", "N=8", check=0).stdout)
    assert report["schema"] == "graft.bench/1"
    assert report["other"] is None and report["comparison"] is None and report["verdict"] == ""
    assert report["inputs"] == {"x": [8, 4096]}
    assert report["rounds"] == 6 and len(report["turns"]) == 1
    assert len(report["turns"][0]) == 6 and all(len(turns) == 2 for turns in report["turns"][0])
    (found,) = report["models"]
    times = found["milliseconds"]
    assert 0 < times["least"] <= times["p10"] <= times["median"] <= times["p90"] <= times["most"]
    assert times["count"] == 12
    assert [node["name"] for node in found["nodes"]] == ["sin0", "mul1", "cos2"]
    size = 8 * 4096 * 4
    by_type = {entry["op"]: entry for entry in found["operators"]}
    assert {op: (entry["calls"], entry["bytes_in"], entry["bytes_out"]) for op, entry in by_type.items()} == {
        "Sin": (1, size, size), "Mul": (1, size + 4, size), "Cos": (1, size, size)}
    for entry in by_type.values():
        assert entry["providers"] == ["CPUExecutionProvider"]
        assert entry["calls_without_bytes"] == 0
        assert entry["bytes_per_second"] > 0 and entry["share_of_copy"] > 0
    assert math.isclose(sum(entry["share"] for entry in by_type.values()), 1, rel_tol=1e-6)
    assert found["bytes_in"] + found["bytes_out"] == 6 * size + 4
    bandwidths = report["copy"]
    assert [point["bytes"] for point in bandwidths] == sorted(point["bytes"] for point in bandwidths)
    assert bandwidths[0]["bytes"] == 8192 and bandwidths[-1]["bytes"] >= 2**21


def test_text_of_one_model(run_graft, model):
    done = run_graft("bench", model, *QUICK, check=0)
    assert done.stderr == ""
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["rounds", "6", "of", "A", "A,", "each", "turn"] in [words[:7] for words in lines]
    assert any(words[:3] == ["operators", "of", "the"] for words in lines)
    assert "speed-up" not in done.stdout
    assert {"Sin", "Mul", "Cos"} <= {words[0] for words in lines if words}


def test_two_models(run_graft, model, other):
    done = run_graft("bench", model, other, "--rounds", "9", "--json", check=0)
    report = json.loads(done.stdout)
    assert [found["file"] for found in report["models"]] == [str(model), str(other)]
    assert [len(turns) for turns in report["turns"]] == [9, 9]
    comparison = report["comparison"]
    speedup = comparison["speedup"]
    # The figures follow from the turns: the second and the eighth of nine ratios bound the median.
    ratios = sorted(sum(a) / sum(b) for a, b in zip(*report["turns"]))
    assert speedup["median"] == pytest.approx(ratios[4])
    assert speedup["interval"]["lower"] == pytest.approx(ratios[1])
    assert speedup["interval"]["upper"] == pytest.approx(ratios[7])
    assert speedup["interval"]["confidence"] == pytest.approx(1 - 20 / 512)
    assert speedup["tells"] == (not ratios[1] <= 1 <= ratios[7])
    assert ("no difference" in report["verdict"]) == (not speedup["tells"])
    assert comparison["drift"]["passed"] is True and comparison["drift"]["difference"]["absolute"] < 1e-5


def test_operators_of_two_models(run_graft, tmp_path, model):
    """Sin and Cos do the same work in both; Mul is in the first alone, Abs and Neg in the second."""
    changed = chain(tmp_path / "changed.onnx", [("Sin",), ("Abs",), ("Neg",), ("Cos",)])
    report = json.loads(run_graft("bench", model, changed, *QUICK, "--no-verify", "--json", check=0).stdout)
    comparison = report["comparison"]
    assert comparison["drift"] is None
    pairs = {pair["op"]: pair for pair in comparison["operators"]}
    assert {op: (pair["calls"], pair["same_work"]) for op, pair in pairs.items()} == {
        "Sin": ([1, 1], True), "Cos": ([1, 1], True), "Mul": ([1, 0], False), "Abs": ([0, 1], False), "Neg": ([0, 1], False)}
    assert all((pair["speedup"] is not None) == pair["same_work"] for pair in pairs.values())
    assert comparison["changed"]["calls"] == [1, 2]
    assert comparison["changed"]["speedup"]["median"] > 0


def test_a_model_against_itself_is_no_difference_or_a_doubt(run_graft, model):
    """What a noisy machine makes of it may not be told as a fact without its interval."""
    done = run_graft("bench", model, model, "--rounds", "21", check=0)
    lines = done.stdout.splitlines()
    assert any(line.startswith("speed-up ") and "95 % confidence interval" in line for line in lines)
    assert any(line.startswith("itself ") for line in lines)
    assert "other against model" in done.stdout
    assert "no difference that this run can tell" in lines[-1] or " times as " in lines[-1]


def test_few_rounds_are_not_enough(run_graft, model):
    report = json.loads(run_graft("bench", model, model, "--rounds", "5", "--json", check=0).stdout)
    assert report["comparison"]["speedup"]["interval"] is None
    assert report["verdict"] == "too few rounds to tell a difference"
    assert any("too few rounds" in warning for warning in report["warnings"])


def test_drift_is_measured_all_the_same(run_graft, tmp_path):
    model = chain(tmp_path / "six.onnx", [("Mul", "six"), ("Sin",)])
    wrong = chain(tmp_path / "almost.onnx", [("Mul", "almost"), ("Sin",)])
    page = tmp_path / "page.html"
    done = run_graft("bench", model, wrong, *QUICK, "--html", page, check=1)
    assert one_line(done).startswith(f"{wrong}: drift: output y[")
    assert "time of a run" in done.stdout
    assert "drift: output y[" in Page(page).text_of(Page(page).root)
    assert json.loads(run_graft("bench", model, wrong, *QUICK, "--json", check=1).stdout)["comparison"]["drift"]["passed"] is False
    run_graft("bench", model, wrong, *QUICK, "--no-verify", check=0)


def test_quiet(run_graft, model):
    assert run_graft("bench", model, *QUICK, "--quiet", check=0).stdout == ""


def test_threads_and_seed(run_graft, model):
    report = json.loads(run_graft("bench", model, *QUICK, "--threads", "2", "--seed", "7", "--json", check=0).stdout)
    assert report["threads"] == 2 and report["seed"] == 7


def test_given_input(run_graft, model, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 4096), np.float32))
    report = json.loads(run_graft("bench", model, *QUICK, "--input", f"x={tmp_path}/x.npy", "--json", check=0).stdout)
    assert report["inputs"] == {"x": [3, 4096]}


def test_a_silent_fallback_is_an_error(run_graft, model):
    """ORT's wheels hold Azure, which runs no such node, and say nothing about it."""
    done = run_graft("bench", model, *QUICK, "--provider", "Azure", check=1)
    error = one_line(done)
    assert error.startswith(f"{model}: 3 of 3 nodes did not run on Azure: `sin0` (Sin, on CPU), `mul1` (Mul, on CPU), ")
    assert "--allow-fallback" in error
    report = json.loads(run_graft("bench", model, *QUICK, "--provider", "Azure", "--json", check=1).stdout)
    assert [node["name"] for node in report["models"][0]["fallbacks"]] == ["sin0", "mul1", "cos2"]
    done = run_graft("bench", model, *QUICK, "--provider", "AzureExecutionProvider", "--allow-fallback", check=0)
    assert "warning: " in done.stdout and "did not run on Azure" in done.stdout


def test_providers_that_were_asked_for(run_graft, model):
    for providers in (("--provider", "cpu"), ("--provider", "Azure", "--provider", "CPU")):
        report = json.loads(run_graft("bench", model, *QUICK, *providers, "--json", check=0).stdout)
        assert report["models"][0]["fallbacks"] == []


def test_a_provider_that_is_not_there(run_graft, model):
    error = one_line(run_graft("bench", model, "--provider", "CUDA", check=2))
    assert error.startswith("--provider CUDA: ONNX Runtime ") and error.endswith("has no such provider; it has Azure, CPU")


def test_control_flow_is_not_counted_twice(run_graft, tmp_path):
    """The time of a Loop is its own alone; the nodes inside stand for themselves, once each pass."""
    body = helper.make_graph(
        [helper.make_node("Sin", ["v"], ["w"], name="inside"), helper.make_node("Identity", ["c"], ["d"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", TensorProto.FLOAT, [65536])],
        [helper.make_tensor_value_info("d", TensorProto.BOOL, []), helper.make_tensor_value_info("w", TensorProto.FLOAT, [65536])],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["times", "", "x"], ["y"], body=body, name="loop")], "loops",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [65536])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [65536])],
        [numpy_helper.from_array(np.array(5, np.int64), "times")],
    )
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "loop.onnx")
    (found,) = json.loads(run_graft("bench", tmp_path / "loop.onnx", *QUICK, "--json", check=0).stdout)["models"]
    by_type = {entry["op"]: entry for entry in found["operators"]}
    assert by_type["Sin"]["calls"] == 5 and by_type["Sin"]["bytes_in"] == 5 * 65536 * 4
    assert by_type["Loop"]["calls"] == 1 and by_type["Loop"]["bytes_in"] == 0
    assert by_type["Loop"]["milliseconds"]["least"] < by_type["Sin"]["milliseconds"]["most"]


def test_the_page_holds_the_report(run_graft, model, other, tmp_path):
    page_file = tmp_path / "page.html"
    done = run_graft("bench", model, other, *QUICK, "--html", page_file, "--json", check=0)
    report = json.loads(done.stdout)
    page = Page(page_file)
    assert page.needs() == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "other.onnx", "page.html"], "nothing else is left"
    assert list(page.sections()) == [
        "Speed-up", "Time by operator type", "Roofline", "Drift", "Every turn", "Time of a run", "Operator types of both models",
        "Operators of the model", "Operators of the other", "How it was measured"]
    assert page.tiles()["speed-up"] == f"{report['comparison']['speedup']['median']:.2f}x"
    for found, heading in zip(report["models"], ("Operators of the model", "Operators of the other")):
        head, *rows = page.rows(heading)
        assert head[:3] == ["operator type", "calls", "time (ms)"]
        assert [row[0] for row in rows] == [entry["op"] for entry in found["operators"]]
        for row, entry in zip(rows, found["operators"]):
            assert int(row[1]) == entry["calls"] and row[-1] == "CPU"
            assert float(row[2]) == pytest.approx(entry["milliseconds"]["median"], rel=0.01, abs=0.0006)
    assert len(page.svg("Every turn", "circle")) == 4 * 6
    assert len(page.svg("Roofline", "circle")) == sum(len(found["nodes"]) for found in report["models"])
    assert len(page.svg("Roofline", "polyline")) == 1
    assert page.rows("Drift")[1][0] == "y"
    assert all(text in page.source for text in (report["runtime"]["version"], str(model), str(other), "x[1,4096]"))


def test_the_page_of_one_model(run_graft, model, tmp_path):
    done = run_graft("bench", model, *QUICK, "--html", tmp_path / "page.html", check=0)
    assert done.stdout.endswith(f"page       {tmp_path}/page.html\n")
    page = Page(tmp_path / "page.html")
    assert list(page.sections()) == [
        "Time by operator type", "Roofline", "Every turn", "Time of a run", "Operators of the model", "How it was measured"]
    assert len(page.svg("Time by operator type", "rect")) == 3


def test_names_are_escaped(run_graft, tmp_path):
    """Names of files, inputs and nodes stand in the page as text."""
    model = chain(tmp_path / "a&<b>'\".onnx", [("Sin",), ("Cos",)], name="</p><script>x")
    onnx_model = onnx.load(model)
    onnx_model.graph.node[0].name = "]]><img src=x onerror=y> \x01"
    onnx.save(onnx_model, model)
    run_graft("bench", model, model, *QUICK, "--html", tmp_path / "page.html", check=0)
    page = Page(tmp_path / "page.html")
    assert page.needs() == []
    assert page.text_of(next(page.root.iter("h1"))) == "a&<b>'\".onnx against a&<b>'\".onnx"
    assert "</p><script>x[1,4096]" in page.text_of(page.root)
    assert any("]]><img src=x onerror=y> ?" in page.text_of(circle) for circle in page.svg("Roofline", "circle"))


def test_a_page_appears_whole_or_not_at_all(run_graft, model, tmp_path):
    missing = tmp_path / "missing" / "page.html"
    assert str(missing) in one_line(run_graft("bench", model, *QUICK, "--html", missing, check=2))
    assert not missing.parent.exists()
    assert one_line(run_graft("bench", model, *QUICK, "--html", tmp_path, check=2)) == f"--html {tmp_path}: is a folder"
    run_graft("bench", tmp_path / "none.onnx", "--html", tmp_path / "page.html", check=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx"]


def test_bad_calls(run_graft, model, tmp_path):
    def error(*options):
        return one_line(run_graft("bench", model, *options, check=2))

    assert error("--shape", "x=1,a") == '--shape x=1,a: "a" is not a size'
    assert error("--input", "x") == "--input x: write it as NAME=FILE"
    assert error("--library", "none.so") == "none.so: does not exist"
    assert error("none.onnx") == "none.onnx: does not exist"
    assert error("--rounds", "0").startswith("--rounds")
    assert error("--threads", "0").startswith("--threads")
    assert error("--seconds", "-1").startswith("--seconds")
    assert one_line(run_graft("bench", check=2)).startswith("model is required")
    narrow = chain(tmp_path / "narrow.onnx", [("Sin",)], shape=("N", 64))
    assert error(narrow) == f"{narrow}: input x is [N,64], and [1,4096] was given (dimension 1 must be 64)"


def test_other_runtimes(run_graft, model, root):
    """Their profiles have other entries."""
    runtimes = [library.parents[2] for library in (root / ".cache" / "onnxruntime").glob("1.*/onnxruntime/capi/libonnxruntime.so.*")]
    assert runtimes, ".cache/onnxruntime holds no runtime with a library: run scripts/setup.sh"
    for runtime in runtimes:
        report = json.loads(run_graft("bench", model, *QUICK, "--runtime", runtime, "--json", check=0).stdout)
        assert report["runtime"]["version"] == runtime.name
        assert [entry["calls_without_bytes"] for entry in report["models"][0]["operators"]] == [0, 0, 0]


def test_an_injected_model(run_graft, models, ops_library, tmp_path):
    model, injected = models / "pp-ocr-cls.onnx", tmp_path / "injected.onnx"
    run_graft("inject", model, "--library", ops_library, "-o", injected, "--no-verify", check=0)
    done = run_graft("bench", "-l", ops_library, model, injected, *QUICK, "--json", check=0)
    report = json.loads(done.stdout)
    pairs = {pair["op"]: pair for pair in report["comparison"]["operators"]}
    assert pairs["HardSwish"]["calls"] == [0, 18]
    assert pairs["Clip"]["calls"][0] - pairs["Clip"]["calls"][1] == 18
    assert report["comparison"]["drift"]["passed"] is True
    assert all(found["fallbacks"] == [] for found in report["models"])
