"""`graft inject`: real models, options, and what it says of bad input."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 4745517\n"
NOT_MODELS = {
    "empty": (b"", "the file is empty"),
    "text": (b"hello, this is no model\n" * 9, "this is a text"),
    "json": (b'{"model": []}\n', "JSON"),
    "html": (b"<!DOCTYPE html><html><body>404</body></html>", "HTML"),
    "zip": (b"PK\x03\x04" + bytes(200), "ZIP"),
    "gzip": (b"\x1f\x8b\x08" + bytes(range(200)), "gzip"),
    "pickle": (b"\x80\x02}q\x00." * 20, "pickle"),
    "pointer": (LFS, "Git LFS"),
    "zeros": (bytes(4096), "zeros"),
    "noise": (np.random.default_rng(1).bytes(5000), "not an ONNX model"),
    "graphless": (onnx.ModelProto(ir_version=8, producer_name="nobody").SerializeToString(), "no graph"),
}


def hard_swish(path, six=6.0, opset=17, ir_version=8, dtype=np.float32, by=None, shape=(2, 3)):
    """Writes a model of one HardSwish chain; `by` multiplies at the end instead of dividing by six."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    constants = {"three": 3, "zero": 0, "six": six, "last": 6 if by is None else by}
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "three"], ["a"]), helper.make_node("Clip", ["a", "zero", "six"], ["c"]),
         helper.make_node("Mul", ["x", "c"], ["m"]), helper.make_node("Div" if by is None else "Mul", ["m", "last"], ["y"])],
        "g", [helper.make_tensor_value_info("x", kind, shape)], [helper.make_tensor_value_info("y", kind, shape)],
        [numpy_helper.from_array(np.array(v, dtype), n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version), path)
    return path


def one_line(done, *parts):
    """Checks that the command said one line, with these parts, and gives it."""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("graft: error: "), done.stderr
    for part in parts:
        assert str(part) in done.stderr, done.stderr
    return done.stderr


@pytest.mark.parametrize("name, places", [("pp-ocrv4-det", 24), ("pp-ocrv4-rec", 28), ("pp-ocr-cls", 18)])
def test_real_models(run_graft, models, ops_library, tmp_path, name, places):
    output = tmp_path / "out.onnx"
    done = run_graft("inject", models / f"{name}.onnx", "--library", ops_library, "-o", output, "--json", "--seconds", "0.2", check=0)
    report = json.loads(done.stdout)
    assert report["schema"] == "graft.inject/1" and report["outcome"] == "injected" and report["fallback"]
    found = {operator["name"]: operator["places"] for operator in report["operators"]}
    assert found["graft:HardSwish"] == places
    assert report["undefined"] == []  # the pools are not named: what they compute stands in their nodes
    # What the chain had as nodes of its own is gone.
    assert report["nodes"]["before"] - report["nodes"]["after"] >= 3 * places
    verification = report["verification"]
    assert verification["passed"] and verification["runs_without_library"]
    assert verification["difference"]["absolute"] <= 1e-5 and verification["difference_without_library"]["absolute"] <= 1e-5
    assert verification["time"]["speedup"] > 0 and verification["time"]["original"]["best_ms"] > 0

    before, after = onnx.load(models / f"{name}.onnx"), onnx.load(output)
    assert [v.SerializeToString() for v in after.graph.output] == [v.SerializeToString() for v in before.graph.output]
    assert [v.SerializeToString() for v in after.graph.input] == [v.SerializeToString() for v in before.graph.input]
    assert [p.SerializeToString() for p in after.metadata_props] == [p.SerializeToString() for p in before.metadata_props]
    onnx.checker.check_model(after, full_check=False)

    again = tmp_path / "again.onnx"
    done = run_graft("inject", output, "--library", ops_library, "-o", again, check=0)
    assert "injected already" in done.stdout and again.read_bytes() == output.read_bytes()


def test_the_table_for_people(run_graft, ops_library, tmp_path):
    model = hard_swish(tmp_path / "m.onnx")
    done = run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "out.onnx", "--seconds", "0", check=0)
    assert re.search(r"^graft:HardSwish +1 ", done.stdout, re.M), done.stdout
    assert "nodes  4 -> 1" in done.stdout and "without the library" in done.stdout
    assert re.search(r"out\.onnx: 1 place, [0-9.]+x as fast, largest difference .*, runs without the library too\n\Z", done.stdout)
    assert done.stderr == ""
    assert run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "q.onnx", "--quiet", "--no-verify", check=0).stdout == ""


def test_a_near_miss_says_what_differs(run_graft, ops_library, tmp_path):
    model = hard_swish(tmp_path / "m.onnx", six=6.0005)
    done = run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "out.onnx", check=1)
    assert "constant_differs" in done.stdout and "`six` is 6.0005" in done.stdout
    one_line(done, model, "no output was written")
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("opset", [12, 13, 17, 20, 21])
def test_types_and_opsets(run_graft, ops_library, tmp_path, dtype, opset):
    model = hard_swish(tmp_path / "m.onnx", dtype=dtype, opset=opset)
    report = json.loads(run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "out.onnx", "--json", "--seconds", "0", check=0).stdout)
    assert report["verification"]["passed"] and report["verification"]["runs_without_library"]
    onnx.checker.check_model(str(tmp_path / "out.onnx"), full_check=True)


def test_exact_declines_what_is_within_rounding(run_graft, ops_library, tmp_path):
    model = hard_swish(tmp_path / "m.onnx", by=1 / 6)
    options = ["inject", model, "-l", ops_library, "-o", tmp_path / "out.onnx", "--json", "--no-verify"]
    report = json.loads(run_graft(*options, check=0).stdout)
    site = next(o for o in report["operators"] if o["name"] == "graft:HardSwish")["sites"][0]
    assert site["class"] == "within_rounding"
    (tmp_path / "out.onnx").unlink()
    report = json.loads(run_graft(*options, "--exact", check=1).stdout)
    miss = next(o for o in report["operators"] if o["name"] == "graft:HardSwish")["near_misses"][0]
    assert miss["reason"] == "only_within_rounding"
    assert not (tmp_path / "out.onnx").exists()
    exact = hard_swish(tmp_path / "e.onnx")
    run_graft("inject", exact, "-l", ops_library, "-o", tmp_path / "out.onnx", "--no-verify", "--exact", check=0)


def test_keep_ir(run_graft, ops_library, tmp_path):
    model = hard_swish(tmp_path / "m.onnx", ir_version=7, opset=13)
    done = run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "out.onnx", "--no-verify", check=0)
    assert "IR version raised from 7 to 8" in done.stdout
    result = onnx.load(tmp_path / "out.onnx")
    assert result.ir_version == 8 and len(result.functions) == 1
    done = run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "kept.onnx", "--keep-ir", "--seconds", "0", check=0)
    assert "IR version 7 is kept" in done.stdout and "needs the library" in done.stdout
    result = onnx.load(tmp_path / "kept.onnx")
    assert result.ir_version == 7 and not result.functions


def test_one_operator_only(run_graft, ops_library, models, tmp_path):
    options = ["inject", models / "pp-ocrv4-rec.onnx", "-l", ops_library, "-o", tmp_path / "out.onnx", "--no-verify", "--json"]
    for name in ("Silu", "graft:Silu", "graft::Silu"):
        report = json.loads(run_graft(*options, "--op", name, check=0).stdout)
        assert [o["name"] for o in report["operators"]] == ["graft:Silu"] and report["places"] > 0
    one_line(run_graft(*options, "--op", "Sulu", check=2), "--op Sulu")


def test_allow_none(run_graft, ops_library, models, tmp_path):
    model = models / "magika.onnx"
    done = run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "out.onnx", "--op", "HardSwish")
    assert done.returncode == 1 and not (tmp_path / "out.onnx").exists()
    one_line(done, model, "no output was written")
    run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "out.onnx", "--op", "HardSwish", "--allow-none", check=0)
    assert (tmp_path / "out.onnx").read_bytes() == model.read_bytes()


def test_drift_leaves_no_output(run_graft, build, tmp_path):
    model = hard_swish(tmp_path / "m.onnx", shape=(64, 64))
    (tmp_path / "out").mkdir()
    done = run_graft("inject", model, "-l", build / "libgraft_wrong_ops.so", "-o", tmp_path / "out" / "out.onnx", check=1)
    one_line(done, model, "computes something else", "no output was written")
    assert list((tmp_path / "out").iterdir()) == []
    report = json.loads(run_graft("inject", model, "-l", build / "libgraft_wrong_ops.so", "-o", tmp_path / "out" / "out.onnx", "--json", check=1).stdout)
    assert report["outcome"] == "drift" and not report["verification"]["passed"] and report["verification"]["reason"]


@pytest.mark.parametrize("kind", NOT_MODELS)
def test_a_file_that_is_no_model(run_graft, ops_library, tmp_path, kind):
    content, cause = NOT_MODELS[kind]
    model = tmp_path / f"{kind}.onnx"
    model.write_bytes(content)
    done = run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "out.onnx", check=2)
    one_line(done, model, cause)
    assert sorted(p.name for p in tmp_path.iterdir()) == [model.name] and model.read_bytes() == content


@pytest.mark.parametrize("share", [0.0001, 0.3, 0.5, 0.9, 0.99999])
def test_a_model_that_is_cut_short(run_graft, ops_library, models, tmp_path, share):
    whole = (models / "pp-ocrv4-det.onnx").read_bytes()
    model = tmp_path / "cut.onnx"
    model.write_bytes(whole[: int(len(whole) * share)])
    one_line(run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "out.onnx", check=2), model, "cut short")
    assert not (tmp_path / "out.onnx").exists()


def test_a_model_that_is_not_there(run_graft, ops_library, tmp_path):
    one_line(run_graft("inject", tmp_path / "no.onnx", "-l", ops_library, "-o", tmp_path / "o.onnx", check=2), "no.onnx", "does not exist")
    one_line(run_graft("inject", tmp_path, "-l", ops_library, "-o", tmp_path / "o.onnx", check=2), tmp_path, "folder")
    one_line(run_graft("inject", "/dev/null", "-l", ops_library, "-o", tmp_path / "o.onnx", check=2), "/dev/null", "not a regular file")


def test_a_library_that_is_none(run_graft, tmp_path):
    model = hard_swish(tmp_path / "m.onnx")
    text = tmp_path / "libtext.so"
    text.write_text("not a library")
    plain = tmp_path / "libplain.so"
    subprocess.run(["cc", "-shared", "-o", plain, "-x", "c", "-"], input="int nothing(void) { return 0; }", text=True, check=True)
    cut = tmp_path / "libcut.so"
    cut.write_bytes(plain.read_bytes()[:2000])
    for library in (tmp_path / "libno.so", text, plain, cut, tmp_path):
        done = run_graft("inject", model, "-l", library, "-o", tmp_path / "out.onnx", check=2)
        one_line(done, library)
        assert not (tmp_path / "out.onnx").exists()


def test_an_output_that_cannot_be_written(run_graft, ops_library, tmp_path):
    model = hard_swish(tmp_path / "m.onnx")
    before = model.read_bytes()
    shutil.copy(model, tmp_path / "file")
    os.symlink(model, tmp_path / "link.onnx")
    os.link(model, tmp_path / "hard.onnx")
    for output, cause in [
        (tmp_path / "no" / "out.onnx", "does not exist"), (tmp_path, "folder"), (tmp_path / "file" / "out.onnx", "does not exist"),
        (model, "never changed"), (tmp_path / "link.onnx", "never changed"), (tmp_path / "hard.onnx", "never changed"),
        ("/proc/out.onnx", "cannot be written"),
    ]:
        one_line(run_graft("inject", model, "-l", ops_library, "-o", output, "--no-verify", check=2), output, cause)
    assert model.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "hard.onnx", "link.onnx", "m.onnx"]


def test_a_call_that_is_wrong(run_graft, ops_library, tmp_path):
    model = hard_swish(tmp_path / "m.onnx")
    one_line(run_graft("injct", model, check=2), "`injct`", "did you mean `inject`")
    one_line(run_graft("graftify", model, check=2), "`graftify`", "inject")
    one_line(run_graft("inject", model, check=2), "--library")
    one_line(run_graft("inject", model, "-l", ops_library, "-o", "x.onnx", "--shpe", "x=1", check=2), "--shpe")
    for shape in ("x", "=1", "x=1,", "x=-1", "x=a"):
        one_line(run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "o.onnx", "--shape", shape, check=2), "--shape", shape)
    assert run_graft("--version", check=0).stdout.startswith("graft ")
    assert "inject" in run_graft("--help", check=0).stdout
    assert "--library" in run_graft("inject", "--help", check=0).stdout
    assert "Subcommands" in run_graft(check=2).stdout


def test_external_data_in_another_folder(run_graft, ops_library, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    model = hard_swish(tmp_path / "in" / "m.onnx")
    loaded = onnx.load(model)
    weights = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "w")
    loaded.graph.initializer.append(weights)
    loaded.graph.node.append(helper.make_node("Mul", ["y", "w"], ["z"]))
    loaded.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 3]))
    (tmp_path / "in" / "sub").mkdir()
    onnx.save(loaded, model, save_as_external_data=True, location="sub/m.bin", size_threshold=20)
    data = tmp_path / "in" / "sub" / "m.bin"
    assert data.exists()
    output = tmp_path / "out" / "m.onnx"
    done = run_graft("inject", model, "-l", ops_library, "-o", output, "--seconds", "0", check=0)
    assert "hard link" in done.stdout and (tmp_path / "out" / "sub" / "m.bin").samefile(data)
    run_graft("inject", model, "-l", ops_library, "-o", output, "--no-verify", check=0)  # the link is there already
    shutil.rmtree(tmp_path / "out" / "sub")
    (tmp_path / "out" / "sub").mkdir()
    (tmp_path / "out" / "sub" / "m.bin").write_bytes(b"something else")
    one_line(run_graft("inject", model, "-l", ops_library, "-o", output, check=2), "m.bin", "already there")
    assert (tmp_path / "out" / "sub" / "m.bin").read_bytes() == b"something else"
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").mkdir()
    data.unlink()
    one_line(run_graft("inject", model, "-l", ops_library, "-o", output, check=2), "m.bin", "does not exist")
    assert list((tmp_path / "out").iterdir()) == []


def test_progress_is_shown_on_a_terminal_only(graft, ops_library, tmp_path):
    model = hard_swish(tmp_path / "m.onnx")
    command = [str(graft), "inject", str(model), "-l", str(ops_library), "-o", str(tmp_path / "out.onnx"), "--seconds", "0"]
    primary, secondary = pty.openpty()
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=secondary, env=environment)
    os.close(secondary)
    shown = os.read(primary, 65536).decode()
    os.close(primary)
    assert done.returncode == 0 and "comparing" in shown and shown.endswith("\r\x1b[K")


def two_chains(path, scale=1.0):
    """Writes a model of two HardSwish chains: the first makes `h` (node `first`), the second `y`."""
    constants = {"three": 3, "zero": 0, "six": 6}
    nodes = []
    for source, target, name in (("x", "h", "first"), ("h", "y", "second")):
        nodes += [helper.make_node("Add", [source, "three"], [f"{target}a"]), helper.make_node("Clip", [f"{target}a", "zero", "six"], [f"{target}c"]),
                  helper.make_node("Mul", [source, f"{target}c"], [f"{target}m"]), helper.make_node("Div", [f"{target}m", "six"], [target], name=name)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
        [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def grafted(path):
    return [n.output[0] for n in onnx.load(path).graph.node if n.domain == "graft"]


@pytest.mark.parametrize("options, left", [
    (["--only", "first"], ["h"]), (["--only", "h"], ["h"]), (["--skip", "f*"], ["y"]), (["--skip", "main:h"], ["y"]),
    (["--only", "?", "--skip", "second"], ["h"]),
])
def test_places_are_chosen_by_name(run_graft, ops_library, tmp_path, options, left):
    model = two_chains(tmp_path / "m.onnx")
    done = run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "o.onnx", "--no-verify", "--json", *options, check=0)
    assert grafted(tmp_path / "o.onnx") == left
    misses = [m for op in json.loads(done.stdout)["operators"] if op["name"] == "graft:HardSwish" for m in op["near_misses"]]
    assert [m["reason"] for m in misses] == ["declined"]


def test_a_name_that_is_no_place_is_refused(run_graft, ops_library, tmp_path):
    model = two_chains(tmp_path / "m.onnx")
    for option in ("--only", "--skip"):
        done = run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "o.onnx", option, "third", check=2)
        one_line(done, f"{option} third: no place of that name; there are 2, the first: h, y")
        assert not (tmp_path / "o.onnx").exists()


def test_a_plan_is_printed_edited_and_applied(run_graft, ops_library, tmp_path):
    model = two_chains(tmp_path / "m.onnx")
    before = sorted(p.name for p in tmp_path.iterdir())
    done = run_graft("inject", model, "-l", ops_library, "--dry-run", check=0)
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    plan = json.loads(done.stdout)
    assert plan["schema"] == "graft.plan/1" and [p["output"] for p in plan["places"]] == ["h", "y"]
    assert all(p["apply"] and p["op"] == "graft:HardSwish" and p["class"] == "equal" for p in plan["places"])
    file = tmp_path / "plan.json"
    apply = ["inject", model, "-l", ops_library, "-o", tmp_path / "o.onnx", "--plan", file, "--no-verify"]
    file.write_text(done.stdout)
    run_graft(*apply, check=0)
    assert grafted(tmp_path / "o.onnx") == ["h", "y"]
    plan["places"][0]["apply"] = False
    file.write_text(json.dumps(plan))
    run_graft(*apply, check=0)
    assert grafted(tmp_path / "o.onnx") == ["y"]
    del plan["places"][1]
    file.write_text(json.dumps(plan))
    one_line(run_graft(*apply, check=1), "nothing in it")


@pytest.mark.parametrize("change, words", [
    (lambda plan: plan["places"][0].update(output="z"), "nothing that the operator defines is made there"),
    (lambda plan: plan["places"][0].update(op="graft:Mish"), "is not one"),
    (lambda plan: plan["places"][1].pop("scope"), 'places[1] lacks "scope"'),
    (lambda plan: plan["places"][1].update(apply="no"), "places[1].apply is neither true nor false"),
    (lambda plan: plan.update(schema="graft.plan/9"), 'its schema is "graft.plan/9", expected "graft.plan/1"'),
    (lambda plan: plan.pop("places"), 'no list "places"'),
])
def test_a_plan_that_does_not_fit_is_refused(run_graft, ops_library, tmp_path, change, words):
    model = two_chains(tmp_path / "m.onnx")
    plan = json.loads(run_graft("inject", model, "-l", ops_library, "--dry-run", check=0).stdout)
    change(plan)
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    done = run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "o.onnx", "--plan", tmp_path / "plan.json", check=2)
    one_line(done, words)
    assert not (tmp_path / "o.onnx").exists()


def test_a_plan_that_is_no_json_is_refused(run_graft, ops_library, tmp_path):
    model = two_chains(tmp_path / "m.onnx")
    (tmp_path / "plan.json").write_text("{")
    one_line(run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "o.onnx", "--plan", tmp_path / "plan.json", check=2), "not valid JSON")
    one_line(run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "o.onnx", "--plan", tmp_path / "none.json", check=2), "none.json")


def test_check_writes_nothing(run_graft, ops_library, tmp_path):
    model = two_chains(tmp_path / "m.onnx")
    done = run_graft("inject", model, "-l", ops_library, "--check", "--at-least", "2", check=0)
    assert "m.onnx: 2 places, largest difference" in done.stdout and sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx"]
    report = json.loads(run_graft("inject", model, "-l", ops_library, "--check", "--json", check=0).stdout)
    assert report["outcome"] == "can_inject" and report["verification"]["passed"]
    one_line(run_graft("inject", model, "-l", ops_library, "--check", "--at-least", "3", check=1), "2 places, 3 asked for")
    run_graft("inject", model, "-l", ops_library, "-o", tmp_path / "o.onnx", "--no-verify", check=0)
    run_graft("inject", tmp_path / "o.onnx", "-l", ops_library, "--check", "--at-least", "2", check=0)
    one_line(run_graft("inject", model, "-l", ops_library, "--check", "--op", "Mish", check=1), "nothing in it")
    one_line(run_graft("inject", model, "-l", ops_library, check=2), "--output is required")


def test_check_of_a_model_in_a_folder_that_cannot_be_written(run_graft, ops_library, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    model = two_chains(folder / "m.onnx")
    folder.chmod(0o555)
    try:
        run_graft("inject", model, "-l", ops_library, "--check", check=0)
    finally:
        folder.chmod(0o755)
    assert [p.name for p in folder.iterdir()] == ["m.onnx"]


def test_parts_are_proven_alone(run_graft, ops_library, models, tmp_path):
    options = ["-l", ops_library, "--verify", "parts", "--json"]
    report = json.loads(run_graft("inject", models / "pp-ocrv4-rec.onnx", "-o", tmp_path / "o.onnx", *options, check=0).stdout)
    assert report["places"] == 33 and report["verification"]["extent"] == "parts"
    assert report["verification"]["parts"] == {"run": 2, "left": 0} and report["verification"]["runs_without_library"]
    done = run_graft("inject", models / "pp-ocrv4-rec.onnx", "-l", ops_library, "-o", tmp_path / "o.onnx", "--verify", "parts", check=0)
    assert "the model as a whole was not run, its 2 kinds of place were run alone" in done.stdout


def test_a_large_model_is_proven_in_parts(run_graft, ops_library, tmp_path):
    """Above 20,000 nodes the command decides so by itself."""
    nodes, value = [], "x"
    for i in range(5001):
        nodes += [helper.make_node("Sigmoid", [value], [f"s{i}"]), helper.make_node("Mul", [value, f"s{i}"], [f"m{i}"]),
                  helper.make_node("Neg", [f"m{i}"], [f"n{i}"]), helper.make_node("Abs", [f"n{i}"], [f"a{i}"])]
        value = f"a{i}"
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], [helper.make_tensor_value_info(value, TensorProto.FLOAT, [2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    report = json.loads(run_graft("inject", tmp_path / "m.onnx", "-l", ops_library, "-o", tmp_path / "o.onnx", "--json", check=0).stdout)
    assert report["places"] == 5001 and report["verification"]["parts"] == {"run": 1, "left": 0}


def test_options_may_stand_before_the_model(run_graft, ops_library, tmp_path):
    model = two_chains(tmp_path / "m.onnx")
    run_graft("inject", "--library", ops_library, model, "--op", "HardSwish", "--check", "--verify", "none", check=0)
    run_graft("inject", "-l", ops_library, "--only", "h", "--only", "y", model, "-o", tmp_path / "o.onnx", "--no-verify", check=0)
    assert grafted(tmp_path / "o.onnx") == ["h", "y"]
    run_graft("verify", "-l", ops_library, model, tmp_path / "o.onnx", check=0)
