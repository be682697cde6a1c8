"""`graft fuse`: what it makes of models, what it leaves, what it says."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

LARGE = (4, 16, 128, 128)  # a chain on a million elements pays on any machine


def model_of(nodes, inputs, outputs, initializers=(), opset=17, file=None, functions=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in dict(initializers).items()])
    imports = [helper.make_opsetid("", opset)]
    made = helper.make_model(graph, opset_imports=imports, ir_version=8, functions=list(functions))
    onnx.save(made, file)
    return file


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, *inputs, to, **attributes):
    return helper.make_node(op, list(inputs), [to], **attributes)


def chain(file, shape=("n", 16, 128, 128)):
    scalars = {"three": np.float32(3), "zero": np.float32(0), "six": np.float32(6)}
    nodes = [
        node("Add", "x", "three", to="a"), node("Clip", "a", "zero", "six", to="b"),
        node("Mul", "x", "b", to="c"), node("Div", "c", "six", to="y"),
    ]
    return model_of(nodes, [value("x", shape)], [value("y", shape)], {k: np.array(v) for k, v in scalars.items()}, file=file)


def run(model, feeds, library=None, level=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if level is not None:
        options.graph_optimization_level = level
    if library:
        options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def fuse(run_graft, model, output, *options, check=0):
    return json.loads(run_graft("fuse", model, "-o", output, "--json", *options, check=check).stdout)


@pytest.mark.parametrize("engine", ["portable", "compiled"])
def test_a_chain_becomes_one_node_and_is_faster(engine, run_graft, ops_library, tmp_path):
    model = chain(tmp_path / "m.onnx")
    before = model.read_bytes()
    output = tmp_path / "out" / "f.onnx"
    output.parent.mkdir()
    report = fuse(run_graft, model, output, "--shape", "x=4,16,128,128", "--seconds", "1", *(["--compile"] if engine == "compiled" else []))
    assert report["schema"] == "graft.fuse/1" and report["outcome"] == "fused" and report["regions"] == 1
    assert report["nodes"]["before"] == 4 and report["nodes"]["after"] == 1 and report["nodes"]["left_by_ort"] == 4
    assert report["verification"]["passed"] and report["verification"]["runs_without_library"]
    assert report["time"]["lower"] > 1
    site = report["kinds"][0]["sites"][0]
    assert site["inputs"] == ["x"] and site["outputs"] == ["y"] and site["after_ms"] < site["before_ms"]
    assert site["bytes_after"] < site["bytes_before"]
    assert model.read_bytes() == before
    left = {"f.onnx"} | ({"f.so", "f.cc"} if engine == "compiled" else set())
    assert {p.name for p in output.parent.iterdir()} == left
    onnx.checker.check_model(str(output), full_check=True)
    library = output.with_suffix(".so") if engine == "compiled" else ops_library
    x = np.random.default_rng(1).normal(0, 3, (2, 16, 128, 128)).astype(np.float32)
    exact = x.astype(np.float64) * np.clip(x.astype(np.float64) + 3, 0, 6) / 6
    for got in (run(output, {"x": x}, library)[0], run(output, {"x": x})[0]):
        np.testing.assert_allclose(got, exact, rtol=3e-7, atol=1e-7)  # three roundings


def test_a_person_reads_what_was_done(run_graft, tmp_path):
    model = chain(tmp_path / "m.onnx")
    done = run_graft("fuse", model, "-o", tmp_path / "f.onnx", "--shape", "x=4,16,128,128", "--seconds", "1", check=0)
    assert "4 nodes of 4 are elementwise, ORT 1." in done.stdout and "1 region can be fused" in done.stdout
    assert "Add Clip Mul Div" in done.stdout and "nodes  4 -> 1" in done.stdout
    assert "x as fast" in done.stdout and "runs without the library too" in done.stdout


def test_places_that_differ_in_scalars_share_one_operator(run_graft, ops_library, models, tmp_path):
    output = tmp_path / "f.onnx"
    report = fuse(run_graft, models / "pp-ocrv4-rec.onnx", output, "--no-measure", "--shape", "x=1,3,48,64")
    assert report["regions"] == 32 and sorted(kind["places"] for kind in report["kinds"]) == [4, 28]
    fused = onnx.load(output)
    assert len(fused.functions) == 2
    x = np.random.default_rng(0).normal(0, 1, (1, 3, 48, 64)).astype(np.float32)
    none = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    assert np.array_equal(run(output, {"x": x}, level=none)[0], run(models / "pp-ocrv4-rec.onnx", {"x": x}, level=none)[0])


def test_ejecting_gives_the_original_back(run_graft, models, tmp_path):
    original, fused, back = models / "pp-ocrv4-det.onnx", tmp_path / "f.onnx", tmp_path / "e.onnx"
    fuse(run_graft, original, fused, "--no-measure", "--no-verify")
    run_graft("eject", fused, "-o", back, "--no-verify", check=0)
    x = np.random.default_rng(0).normal(0, 1, (1, 3, 96, 96)).astype(np.float32)
    none = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    assert np.array_equal(run(back, {"x": x}, level=none)[0], run(original, {"x": x}, level=none)[0])
    assert not onnx.load(back).functions


def test_what_was_compiled_is_injected_again(run_graft, models, tmp_path):
    fused, again = tmp_path / "f.onnx", tmp_path / "again.onnx"
    report = fuse(run_graft, models / "pp-ocr-cls.onnx", fused, "--no-measure", "--compile", "--library-out", tmp_path / "lib" / "mine.so",
                  "--source-out", tmp_path / "source", "--domain", "my.fused")  # fmt: skip
    source = (tmp_path / "source" / "mine.cc").read_text()
    assert "struct HardSwish" in source and 'GRAFT_OPS(m, "my.fused")' in source and "18 places" in source
    done = run_graft("inject", models / "pp-ocr-cls.onnx", "--library", tmp_path / "lib" / "mine.so", "-o", again, "--json", "--no-verify", check=0)
    assert json.loads(done.stdout)["places"] == report["regions"] == 18


def test_nothing_to_fuse_is_said_and_leaves_nothing(run_graft, tmp_path):
    model = model_of([node("Relu", "x", to="a"), node("MatMul", "a", "a", to="y")], [value("x", (4, 4))], [value("y", (4, 4))], file=tmp_path / "m.onnx")
    done = run_graft("fuse", model, "-o", tmp_path / "f.onnx", check=1)
    assert done.stderr.count("\n") == 1 and "lie apart from each other; no output was written" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
    run_graft("fuse", model, "-o", tmp_path / "f.onnx", "--allow-none", check=0)
    assert (tmp_path / "f.onnx").read_bytes() == model.read_bytes()


def test_what_ort_fuses_itself_is_left_to_it(run_graft, tmp_path):
    """A Gelu spelled out: ORT has a kernel for it, and a region would take it away."""
    scalars = {"root": np.float32(2**0.5), "one": np.float32(1), "half": np.float32(0.5)}
    nodes = [
        node("MatMul", "x", "w", to="m"), node("Div", "m", "root", to="d"), node("Erf", "d", to="e"), node("Add", "e", "one", to="p"),
        node("Mul", "m", "p", to="q"), node("Mul", "q", "half", to="y"),
    ]  # fmt: skip
    weights = {**{k: np.array(v) for k, v in scalars.items()}, "w": np.eye(8, dtype=np.float32)}
    model = model_of(nodes, [value("x", ("n", 8))], [value("y", ("n", 8))], weights, file=tmp_path / "m.onnx")
    done = run_graft("fuse", model, "-o", tmp_path / "f.onnx", "--no-measure", check=1)
    assert "ORT itself fuses all its elementwise nodes" in done.stderr
    assert fuse(run_graft, model, tmp_path / "f.onnx", "--no-measure", "--optimisation", "none")["regions"] == 1


def test_regions_in_subgraphs(run_graft, ops_library, tmp_path):
    """Both branches of an If read an outer value; each is a place of its own."""
    branches = {}
    for name, scale in (("then_branch", 2.0), ("else_branch", 3.0)):
        constant = helper.make_node("Constant", [], [name + "_k"], value_float=scale)
        body = [constant, node("Mul", "x", name + "_k", to=name + "_a"), node("Exp", name + "_a", to=name + "_b"),
                node("Add", name + "_b", "x", to=name + "_y")]  # fmt: skip
        branches[name] = helper.make_graph(body, name, [], [value(name + "_y", ("n", 8))])
    nodes = [helper.make_node("If", ["c"], ["y"], **branches)]
    model = model_of(nodes, [value("x", ("n", 8)), value("c", (), TensorProto.BOOL)], [value("y", ("n", 8))], file=tmp_path / "m.onnx")
    report = fuse(run_graft, model, tmp_path / "f.onnx", "--no-measure")
    assert report["regions"] == 2 and len(report["kinds"]) == 1 and len(onnx.load(tmp_path / "f.onnx").functions) == 1
    x = np.random.default_rng(0).normal(0, 1, (5, 8)).astype(np.float32)
    for flag in (True, False):
        feeds = {"x": x, "c": np.array(flag)}
        want = np.exp(x.astype(np.float64) * (2 if flag else 3)) + x
        for library in (ops_library, None):
            np.testing.assert_allclose(run(tmp_path / "f.onnx", feeds, library)[0], want, rtol=1e-6)


def test_between_quantize_nodes_nothing_is_fused(run_graft, tmp_path):
    scales = {"s": np.float32(0.1), "z": np.uint8(128), "k": np.float32(3)}
    nodes = [
        node("QuantizeLinear", "x", "s", "z", to="q"), node("DequantizeLinear", "q", "s", "z", to="d"), node("Add", "d", "k", to="a"),
        node("Exp", "a", to="e"), node("QuantizeLinear", "e", "s", "z", to="r"), node("DequantizeLinear", "r", "s", "z", to="y"),
    ]  # fmt: skip
    model = model_of(nodes, [value("x", (8,))], [value("y", (8,))], {k: np.array(v) for k, v in scales.items()}, file=tmp_path / "m.onnx")
    run_graft("fuse", model, "-o", tmp_path / "f.onnx", "--no-measure", check=1)


def test_a_constant_that_a_caller_may_change_stays_an_input(run_graft, ops_library, tmp_path):
    nodes = [node("Add", "x", "k", to="a"), node("Exp", "a", to="y")]
    model = model_of(nodes, [value("x", (8,)), value("k", ())], [value("y", (8,))], {"k": np.array(np.float32(3))}, file=tmp_path / "m.onnx")
    fuse(run_graft, model, tmp_path / "f.onnx", "--no-measure")
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    for library in (ops_library, None):
        np.testing.assert_allclose(run(tmp_path / "f.onnx", {"x": x, "k": np.array(np.float32(1))}, library)[0], np.exp(x + 1.0), rtol=1e-6)


def test_fusing_a_fused_model_again_takes_no_name_twice(run_graft, ops_library, tmp_path):
    """One function body belongs to one name: the second run must not give Fused_f32_0 another meaning."""
    once = chain(tmp_path / "m.onnx", (2, 8))
    fuse(run_graft, once, tmp_path / "f.onnx", "--no-measure")
    more = onnx.load(tmp_path / "f.onnx")
    more.graph.node.extend([node("Exp", "y", to="e"), node("Neg", "e", to="z")])
    more.graph.output.append(value("z", (2, 8)))
    onnx.save(more, tmp_path / "more.onnx")
    fuse(run_graft, tmp_path / "more.onnx", tmp_path / "again.onnx", "--no-measure", "--library", ops_library)
    again = onnx.load(tmp_path / "again.onnx")
    assert [n.op_type for n in again.graph.node] == ["Fused_f32_0", "Fused_f32_1"]
    x = np.random.default_rng(0).normal(0, 1, (2, 8)).astype(np.float32)
    for want, got in zip(run(tmp_path / "more.onnx", {"x": x}), run(tmp_path / "again.onnx", {"x": x}, ops_library), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--operators", "nowhere.so"], "nowhere.so"),
        (["--compile", "--compiler", "no-such-compiler"], "no-such-compiler"),
        (["--shape", "x=1,2"], "x"),
    ],
)
def test_errors_name_what_is_wrong_and_leave_nothing(options, text, run_graft, tmp_path):
    model = chain(tmp_path / "m.onnx")
    done = run_graft("fuse", model, "-o", tmp_path / "f.onnx", *options, check=2)
    assert done.stderr.count("\n") == 1 and text in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


def test_an_output_is_asked_for(run_graft, tmp_path):
    done = run_graft("fuse", chain(tmp_path / "m.onnx"), check=2)
    assert "--output is required" in done.stderr


def test_check_writes_nothing(run_graft, tmp_path):
    model = chain(tmp_path / "m.onnx")
    done = run_graft("fuse", model, "--check", "--json", "--no-measure", check=0)
    assert json.loads(done.stdout)["outcome"] == "can_fuse" and [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
    run_graft("fuse", model, "--check", "--compile", "--no-measure", check=0)
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
