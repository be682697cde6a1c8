"""`graft doctor` as a command: what it prints, its exit codes, bad calls, and that it leaves nothing behind."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from doctor.models import DOMAIN, function, in_function, in_if, model, node, save
from doctor.test_variants import RELU, X, causes, compute, diagnose

GOOD = model([node("Gate", ["x"], ["y"], DOMAIN)])
TOO_NEW = model([node("Relu", ["x"], ["y"])], ir=99)
LOST = model([node("Relu", ["nothing"], ["y"])])


def error(done):
    """Gives the error, which must be one line on stderr, with nothing on stdout."""
    assert done.stderr.startswith("graft: error: ") and done.stderr.count("\n") == 1 and done.stdout == ""
    return done.stderr


def test_a_healthy_model_gets_one_line(run_graft, case_ops, tmp_path):
    file = save(GOOD, tmp_path / "model.onnx")
    done = run_graft("doctor", file, "--library", case_ops, check=0)
    assert done.stdout.startswith(f"{file}: healthy: ONNX Runtime ") and done.stdout.count("\n") == 1 and done.stderr == ""


def test_the_report(run_graft, tmp_path):
    file = save(TOO_NEW, tmp_path / "model.onnx")
    report = json.loads(run_graft("doctor", file, "--json", check=1).stdout)
    assert report["schema"] == "graft.doctor/1" and report["model"] == str(file) and report["libraries"] == []
    assert not report["loads"] and not report["healthy"] and "Unsupported model IR version" in report["text"]
    cause = report["causes"][0]
    assert cause["code"] == "ir_version_too_new" and cause["severity"] == "error" and cause["fixable"]
    assert cause["repairs"] == ["set the IR version to 14"] and "99" in cause["evidence"][0]
    assert "fix" not in report
    assert run_graft("doctor", file, "--quiet", check=1).stdout == ""


def test_fixing(run_graft, tmp_path):
    file = save(TOO_NEW, tmp_path / "model.onnx")
    (tmp_path / "out").mkdir()
    done = run_graft("doctor", file, "--fix", "-o", tmp_path / "out" / "fixed.onnx", check=0)
    assert "done: set the IR version to 14" in done.stdout and "is written, and ONNX Runtime loads it" in done.stdout
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["fixed.onnx"]
    np.testing.assert_array_equal(compute(tmp_path / "out" / "fixed.onnx", None), RELU)


def test_fixing_a_healthy_model_copies_it(run_graft, case_ops, tmp_path):
    file = save(GOOD, tmp_path / "model.onnx")
    run_graft("doctor", file, "--library", case_ops, "--fix", "-o", tmp_path / "fixed.onnx", check=0)
    assert (tmp_path / "fixed.onnx").read_bytes() == file.read_bytes()


def test_what_cannot_be_repaired_leaves_nothing(run_graft, tmp_path):
    file = save(LOST, tmp_path / "model.onnx")
    done = run_graft("doctor", file, "--fix", "-o", tmp_path / "fixed.onnx", check=1)
    assert "was not written: nothing of this can be repaired" in done.stdout
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.onnx"]


def test_the_rest_is_said_when_a_part_is_repaired(run_graft, tmp_path):
    made = model([node("Relu", ["nothing"], ["y"])], ir=99)
    file = save(made, tmp_path / "model.onnx")
    done = run_graft("doctor", file, "--fix", "-o", tmp_path / "fixed.onnx", check=1)
    assert "done: set the IR version" in done.stdout and "does not load yet" in done.stdout
    assert causes(diagnose(run_graft, tmp_path / "fixed.onnx", None)[1]) == ["dangling_input"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ([], "give a model, or an error's text"),
        (["model.onnx", "--fix"], "--fix needs a place for the result: -o FILE"),
        (["model.onnx", "-o", "out.onnx"], "-o goes with --fix"),
        (["--error", "Missing model IR version.", "--fix", "-o", "out.onnx"], "--fix needs a model"),
        (["absent.onnx"], "absent.onnx: the file does not exist"),
        (["."], "folder"),
        (["model.onnx", "--fix", "-o", "model.onnx"], "the output is the input itself"),
        (["model.onnx", "--fix", "-o", "no/where.onnx"], "does not exist"),
        (["model.onnx", "--runtime", "nowhere"], "nowhere does not exist"),
    ],
)
def test_wrong_calls(call, words, run_graft, tmp_path):
    save(TOO_NEW, tmp_path / "model.onnx")
    before = (tmp_path / "model.onnx").read_bytes()
    assert words in error(run_graft("doctor", *call, check=2, cwd=tmp_path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.onnx"] and (tmp_path / "model.onnx").read_bytes() == before


CURED = {
    "operator": (model([node("gate", ["x"], ["y"], DOMAIN)]), RELU),
    "operator in an If": (in_if([node("gate", ["x"], ["o"], DOMAIN)]), RELU),
    "operator in a function": (in_function([node("gate", ["a"], ["b"], DOMAIN)]), RELU),
    "domain": (model([node("Gate", ["x"], ["y"], "myops")], imports=(("myops", 1),)), RELU),
    "function": (model([node("Wrapp", ["x"], ["y"], "blocks")], functions=[function([node("Relu", ["a"], ["b"])])], imports=(("blocks", 1),)), RELU),
    "attribute": (model([node("Leaky", ["x"], ["y"], DOMAIN, alhpa=0.5)]), np.where(X > 0, X, X / 2)),
    "input": (model([node("Relu", ["x"], ["hidden"]), node("Relu", ["hiden"], ["y"])]), RELU),
    "output": (model([node("Relu", ["x"], ["yy"])]), RELU),
    "standard operator": (model([node("Rellu", ["x"], ["y"])]), RELU),
    "attribute that is not there": (model([node("Relu", ["x"], ["y"], slope=1.0)]), RELU),
}


@pytest.mark.parametrize("name", CURED)
def test_the_commands_that_are_printed_work(name, run_graft, case_ops, tmp_path):
    made, computed = CURED[name]
    report = diagnose(run_graft, save(made, tmp_path / "model.onnx"), case_ops)[1]
    command = next(step[step.index("python3 -c") :] for step in report["causes"][0]["cure"] if "python3 -c" in step)
    environment = {**os.environ, "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])}
    subprocess.run(command, shell=True, cwd=tmp_path, check=True, env=environment)
    np.testing.assert_allclose(compute(tmp_path / "fixed.onnx", case_ops), computed)
    assert diagnose(run_graft, tmp_path / "fixed.onnx", case_ops)[1]["loads"]


def test_the_fix_command_that_is_printed_works(run_graft, graft, case_ops, tmp_path):
    file = save(model([node("Gate", ["x"], ["y"])], imports=()), tmp_path / "my model.onnx")
    lines = run_graft("doctor", file, "--library", case_ops, check=1).stdout.splitlines()
    command = next(line.split("cure", 1)[1].split("  (to ")[0] for line in lines if " --fix " in line)
    environment = {**os.environ, "PATH": f"{graft.parent}:{os.environ['PATH']}", "VIRTUAL_ENV": sys.prefix}
    subprocess.run(command, shell=True, cwd=tmp_path, check=True, env=environment, stdout=subprocess.DEVNULL)
    np.testing.assert_array_equal(compute(tmp_path / "fixed.onnx", case_ops), RELU)
