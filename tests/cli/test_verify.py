"""`graft verify`: equal models, drift, special values, given inputs, bad calls, other runtimes."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def hard_swish(file: Path, six=6.0, dtype=np.float32, shape=("N", 64), extra=(), outputs=("y",)) -> Path:
    """Writes x * clip(x + 3, 0, 6) / six, with nodes of one's own after it."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    constants = {"three": 3, "zero": 0, "top": 6, "six": six}
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["x", "three"], ["a"]),
            helper.make_node("Clip", ["a", "zero", "top"], ["b"]),
            helper.make_node("Mul", ["x", "b"], ["c"]),
            helper.make_node("Div", ["c", "six"], ["y"]),
            *extra,
        ],
        "hard_swish",
        [helper.make_tensor_value_info("x", element, shape)],
        [helper.make_tensor_value_info(name, element, shape) for name in outputs],
        [numpy_helper.from_array(np.array(value, dtype), name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), file)
    return file


@pytest.fixture
def reference(tmp_path) -> Path:
    return hard_swish(tmp_path / "reference.onnx")


def one_line(done) -> str:
    """Gives the error, which must be one line on stderr."""
    assert done.stderr.startswith("graft: error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("graft: error: ").rstrip("\n")


def test_a_model_equals_itself(run_graft, reference):
    done = run_graft("verify", reference, reference, check=0)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[-1] == "equal"
    assert "inputs     x[1,64], 4 sets" in lines
    assert any(line.startswith("y float[1,64]") for line in lines)


def test_drift_is_found_and_placed(run_graft, reference, tmp_path):
    candidate = hard_swish(tmp_path / "candidate.onnx", six=6.001)
    done = run_graft("verify", reference, candidate, check=1)
    assert "candidate, full optimisation" in done.stdout
    error = one_line(done)
    assert error.startswith(f"{candidate}: drift: output y[0,")
    assert " in a float64 evaluation, from which the reference is " in error


def test_rounding_is_not_drift(run_graft, reference, tmp_path):
    """A multiplication by the rounded 1/6 is another rounding, no further from the truth than the division is."""
    model = onnx.load(reference)
    model.graph.node[3].op_type = "Mul"
    model.graph.initializer[3].CopyFrom(numpy_helper.from_array(np.float32(1) / np.float32(6), "six"))
    onnx.save(model, tmp_path / "candidate.onnx")
    done = run_graft("verify", reference, tmp_path / "candidate.onnx", check=0)
    assert done.stdout.splitlines()[-1] == "the same within rounding"


def test_without_float64(run_graft, reference, tmp_path):
    candidate = hard_swish(tmp_path / "candidate.onnx", six=6.001)
    done = run_graft("verify", reference, candidate, "--no-float64", check=1)
    assert "allowed is 1e-06 + 1e-05 * |reference|" in one_line(done)
    assert "against float64" not in done.stdout


def test_tolerance(run_graft, reference, tmp_path):
    candidate = hard_swish(tmp_path / "candidate.onnx", six=6.001)
    run_graft("verify", reference, candidate, "--tolerance", "1e-3", check=0)
    run_graft("verify", reference, candidate, "--tolerance", "1e-9,1e-3", check=0)
    run_graft("verify", reference, candidate, "--tolerance", "1e-9,1e-5", check=1)


def test_json(run_graft, reference, tmp_path):
    candidate = hard_swish(tmp_path / "candidate.onnx", six=6.001)
    report = json.loads(run_graft("verify", reference, candidate, "--json", check=1).stdout)
    assert report["schema"] == "graft.verify/1"
    assert report["passed"] is False
    assert report["reason"].startswith("output y[")
    assert report["inputs"] == {"x": [1, 64]}
    (output,) = report["outputs"]
    assert (output["name"], output["type"], output["shape"]) == ("y", "float", [1, 64])
    assert output["optimised"]["relative"] == pytest.approx(0.001 / 6, rel=1e-2)
    assert output["optimised"]["elements"] == 3 * 64
    assert output["ort_itself"]["absolute"] < 1e-6
    assert output["float64"]["reference"]["ulp"]["largest"] <= 2
    assert output["float64"]["candidate"]["ulp"]["largest"] > 1000
    assert [other["distribution"] for other in report["others"]] == ["wide"]


def test_quiet(run_graft, reference, tmp_path):
    assert run_graft("verify", reference, reference, "--quiet", check=0).stdout == ""
    done = run_graft("verify", reference, hard_swish(tmp_path / "b.onnx", six=7), "--quiet", check=1)
    assert done.stdout == ""
    assert "drift" in one_line(done)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types(run_graft, tmp_path, dtype):
    reference = hard_swish(tmp_path / "a.onnx", dtype=dtype)
    run_graft("verify", reference, reference, check=0)
    run_graft("verify", reference, hard_swish(tmp_path / "b.onnx", six=6.1, dtype=dtype), check=1)


def test_special_values(run_graft, reference, tmp_path):
    """x - x is 0 but for NaN and the infinities."""
    same_but = [helper.make_node("Sub", ["x", "x"], ["nothing"]), helper.make_node("Add", ["y", "nothing"], ["z"])]
    left = hard_swish(tmp_path / "a.onnx", extra=[helper.make_node("Identity", ["y"], ["z"])], outputs=("z",))
    right = hard_swish(tmp_path / "b.onnx", extra=same_but, outputs=("z",))
    run_graft("verify", left, right, check=0)
    error = one_line(run_graft("verify", left, right, "--special", check=1))
    assert "inf became nan" in error and "special inputs" in error
    run_graft("verify", reference, reference, "--special", check=0)


def test_given_inputs(run_graft, reference, tmp_path):
    candidate = hard_swish(tmp_path / "candidate.onnx", six=7)
    x = np.zeros((2, 64), np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez_compressed(tmp_path / "x.npz", x=x)
    (tmp_path / "x.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    for given in (f"x={tmp_path}/x.npy", f"x={tmp_path}/x.npz", f"{tmp_path}/x.npz", f"x={tmp_path}/x.pb"):
        report = json.loads(run_graft("verify", reference, candidate, "--input", given, "--json", check=0).stdout)
        assert report["inputs"] == {"x": [2, 64]}
        assert report["sets"] == 1
    np.save(tmp_path / "x.npy", x + 1)
    run_graft("verify", reference, candidate, "--input", f"x={tmp_path}/x.npy", check=1)


def test_shapes_and_seeds(run_graft, reference):
    def report(*options):
        return json.loads(run_graft("verify", reference, reference, "--json", *options, check=0).stdout)

    assert report("--shape", "x=5,64")["inputs"] == {"x": [5, 64]}
    assert report("--shape", "N=3")["inputs"] == {"x": [3, 64]}
    assert report("--seeds", "7", "--seed", "9")["sets"] == 8


def test_models_with_other_inputs_or_outputs(run_graft, reference, tmp_path):
    other = hard_swish(tmp_path / "other.onnx", extra=[helper.make_node("Neg", ["y"], ["z"])], outputs=("z",))
    done = run_graft("verify", reference, other, check=2)
    assert one_line(done) == f"{other}: has no output y, which {reference} has"
    double = hard_swish(tmp_path / "double.onnx", dtype=np.float64)
    done = run_graft("verify", reference, double, check=2)
    assert one_line(done) == f"{double}: input x is double[N,64], and float[N,64] in {reference}"


def test_bad_models(run_graft, reference, tmp_path):
    missing = tmp_path / "missing.onnx"
    assert one_line(run_graft("verify", reference, missing, check=2)) == f"{missing}: does not exist"
    assert one_line(run_graft("verify", reference, tmp_path, check=2)) == f"{tmp_path}: is a folder, not a model"
    empty = tmp_path / "empty.onnx"
    empty.write_bytes(b"")
    assert one_line(run_graft("verify", reference, empty, check=2)) == f"{empty}: is empty"
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(reference.read_bytes()[:100])
    assert one_line(run_graft("verify", reference, cut, check=2)).startswith(f"{cut}: ")
    text = tmp_path / "text.onnx"
    text.write_text("no model\n")
    assert one_line(run_graft("verify", text, reference, check=2)).startswith(f"{text}: ")


def test_bad_calls(run_graft, reference, tmp_path):
    def error(*options):
        return one_line(run_graft("verify", reference, reference, *options, check=2))

    assert error("--shape", "x=1,a") == '--shape x=1,a: "a" is not a size'
    assert error("--shape", "x") == "--shape x: write it as NAME=1,3,32,32"
    assert error("--shape", "x=1,65").endswith("input x is [N,64], and [1,65] was given (dimension 1 must be 64)")
    assert error("--shape", "q=1").startswith("--shape q: the model has no input")
    assert "has more than 2^31 elements" in error("--shape", "x=999999999999,64")
    assert error("--input", "x=none.npy") == "none.npy: cannot be read: No such file or directory"
    assert error("--input", "x") == "--input x: write it as NAME=FILE"
    np.save(tmp_path / "x.npy", np.zeros((2, 64), np.int32))
    assert error("--input", f"x={tmp_path}/x.npy").endswith("input x takes float, and int32 was given")
    assert error("--tolerance", "-1") == "--tolerance -1: write one number, or ABSOLUTE,RELATIVE"
    assert error("--library", "none.so") == "none.so: does not exist"
    assert error("--library", reference) == f"{reference}: is not a shared library"
    assert error("--runtime", "nowhere") == "--runtime: nowhere does not exist"
    assert run_graft("verify", reference, reference, "--threads", "0").returncode == 2
    assert run_graft("verify", reference).returncode == 2


def test_sizes_that_are_refused(run_graft, tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        "reshape",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "length"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1237])],
        [numpy_helper.from_array(np.array([-1, 1237]), "shape")],
    )
    model = tmp_path / "reshape.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), model)
    error = one_line(run_graft("verify", model, model, check=2))
    assert "give them with --shape x=N,length" in error
    error = one_line(run_graft("verify", model, model, "--shape", "x=2,3", check=2))
    assert error.startswith(f"{model}: does not run with x[2,3]; ORT said: ")
    run_graft("verify", model, model, "--shape", "x=2,1237", check=0)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("pp-ocrv4-det", [1, 3, None, None]), ("pp-ocrv4-rec", [1, 3, 48, None]), ("pp-ocr-cls", [1, 3, None, None]), ("magika", [1, 2048])],
)
def test_real_models_run_on_generated_inputs(run_graft, models, name, shape):
    model = models / f"{name}.onnx"
    report = json.loads(run_graft("verify", model, model, "--json", "--seeds", "1", check=0).stdout)
    (found,) = report["inputs"].values()
    assert len(found) == len(shape)
    for size, wanted in zip(found, shape):
        assert size == wanted if wanted else size % 32 == 0
    assert report["float64_note"] == "", "the whole model is evaluated in float64"


@pytest.mark.parametrize("name", ["pp-ocrv4-det", "pp-ocrv4-rec", "pp-ocr-cls"])
@pytest.mark.parametrize("place", [0, 9, 17])
def test_one_changed_constant_of_a_real_model_is_found(run_graft, models, tmp_path, name, place):
    """The 6 of one of the HardSwish chains becomes 6.001."""
    model = onnx.load(models / f"{name}.onnx")
    clipped = {node.output[0] for node in model.graph.node if node.op_type == "Clip"}
    products = {node.output[0] for node in model.graph.node if node.op_type == "Mul" and clipped & set(node.input)}
    divisions = [node for node in model.graph.node if node.op_type == "Div" and node.input[0] in products]
    model.graph.initializer.append(numpy_helper.from_array(np.array(6.001, np.float32), "planted"))
    divisions[place].input[1] = "planted"
    onnx.save(model, tmp_path / "planted.onnx")
    done = run_graft("verify", models / f"{name}.onnx", tmp_path / "planted.onnx", check=1)
    assert "in a float64 evaluation" in one_line(done)


def test_other_runtimes(run_graft, reference, tmp_path, root):
    """The runtimes that scripts/setup.sh keeps; wheels before 1.19 hold no library that a command could load."""
    runtimes = [library.parents[2] for library in (root / ".cache" / "onnxruntime").glob("1.*/onnxruntime/capi/libonnxruntime.so.*")]
    assert runtimes, ".cache/onnxruntime holds no runtime with a library: run scripts/setup.sh"
    candidate = hard_swish(tmp_path / "candidate.onnx", six=6.001)
    for runtime in runtimes:
        report = json.loads(run_graft("verify", reference, reference, "--runtime", runtime, "--json", check=0).stdout)
        assert report["runtime"]["version"] == runtime.name
        run_graft("verify", reference, candidate, "--runtime", runtime, check=1)


def test_a_runtime_without_a_library(run_graft, reference, tmp_path):
    (tmp_path / "old/onnxruntime/capi").mkdir(parents=True)
    (tmp_path / "old/onnxruntime/capi/_pybind_state.py").write_text("")
    error = one_line(run_graft("verify", reference, reference, "--runtime", tmp_path / "old", check=2))
    assert error.endswith("give one of version 1.19 or newer")


@pytest.mark.parametrize("place", [0, 7, 23])
def test_bisect_names_the_node_that_drifts(run_graft, models, tmp_path, place):
    """A clip at 6 of PP-OCRv4's detector becomes one at 6.001."""
    model = onnx.load(models / "pp-ocrv4-det.onnx")
    clip = [n for n in model.graph.node if n.op_type == "Clip"][place]
    model.graph.initializer.append(numpy_helper.from_array(np.array(6.001, np.float32), "nearly_six"))
    clip.input[2] = "nearly_six"
    onnx.save(model, tmp_path / "planted.onnx")
    options = ["--shape", "x=1,3,96,96", "--bisect"]
    done = run_graft("verify", models / "pp-ocrv4-det.onnx", tmp_path / "planted.onnx", *options, "--json", check=1)
    report = json.loads(done.stdout)
    assert report["passed"] is False and report["first_difference"]["value"] == clip.output[0]
    assert report["first_difference"]["candidate_node"] == f"Clip `{clip.name}`"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["planted.onnx"]


def test_bisect_of_models_that_share_no_value_says_so(run_graft, tmp_path):
    for name, factor in (("a", 2.0), ("b", 2.5)):
        graph = helper.make_graph(
            [helper.make_node("Mul", ["x", "c"], [f"{name}1"]), helper.make_node("Neg", [f"{name}1"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
            [numpy_helper.from_array(np.array(factor, np.float32), "c")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / f"{name}.onnx")
    done = run_graft("verify", tmp_path / "a.onnx", tmp_path / "b.onnx", "--bisect", check=1)
    assert "first node that differs: Neg, which makes y" in done.stdout


def test_special_runs_empty_and_single_batches_too(run_graft, tmp_path):
    """The candidate reshapes with a fixed batch, so it refuses other batches than the reference takes."""
    reference = hard_swish(tmp_path / "reference.onnx")
    done = run_graft("verify", reference, reference, "--special", "--json", "--shape", "x=4,64", check=0)
    assert json.loads(done.stdout)["batches"] == [1, 0]
    candidate = onnx.load(reference)
    candidate.graph.initializer.append(numpy_helper.from_array(np.array([4, 64]), "shape"))
    candidate.graph.node[-1].output[0] = "before"
    candidate.graph.node.append(helper.make_node("Reshape", ["before", "shape"], ["y"]))
    onnx.save(candidate, tmp_path / "candidate.onnx")
    run_graft("verify", reference, tmp_path / "candidate.onnx", "--shape", "x=4,64", check=0)
    done = run_graft("verify", reference, tmp_path / "candidate.onnx", "--special", "--shape", "x=4,64", check=1)
    assert "with 1 as the first dimension, which the reference takes" in one_line(done)
