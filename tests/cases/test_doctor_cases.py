"""`graft doctor` on every doctor case of cases.json: it names all causes and no other, and what it repairs gives the right outputs."""

import json
import shutil
from pathlib import Path

import onnxruntime
import pytest

from cases.test_cases import FOLDER, check_runs

CASES = [case for case in json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))["cases"] if case["kind"] == "doctor"]


def unpack(case, folder):
    """Copies the model and its data files, each to where it lies beside the others."""
    for name in [case["file"], *case.get("files", [])]:
        target = folder / Path(name).relative_to("models")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FOLDER / name, target)
    return folder / Path(case["file"]).relative_to("models")


def contents(folder):
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_doctor_case(case, case_ops, run_graft, tmp_path):
    expect = case["expect"]
    model = unpack(case, tmp_path / "model")
    before = contents(model.parent)
    library = ["--library", case_ops] if case["library"] == "given" else []
    done = run_graft("doctor", model, "--json", *library)
    report = json.loads(done.stdout)
    assert {cause["code"] for cause in report["causes"]} == set(expect["causes"])
    assert report["loads"] == case["ort"]["loads"] and report["healthy"] == (not expect["causes"])
    warning = expect.get("severity") == "warning" or not expect["causes"]
    assert done.returncode == (0 if warning else 1)
    assert {cause["severity"] for cause in report["causes"]} <= {expect.get("severity", "error")}
    fixable = {cause["code"] for cause in report["causes"] if cause["fixable"]}
    assert fixable == (set(expect["causes"]) - {"library_not_registered"} if expect["fixable"] else set())

    (tmp_path / "out").mkdir()
    output = tmp_path / "out" / "fixed.onnx"
    done = run_graft("doctor", model, "--fix", "-o", output, "--json", *library)
    assert contents(model.parent) == before
    if not fixable and expect["causes"]:
        assert done.returncode == 1 and not list(output.parent.iterdir())
        return
    needs_library = case["library"] == "given" or "library_not_registered" in expect["causes"]
    check_runs(case, output, case_ops if needs_library else None)
    assert done.returncode == (1 if "library_not_registered" in expect["causes"] else 0)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_what_is_printed(case, case_ops, run_graft, tmp_path):
    """Cause, evidence and cure come in this order; a healthy model gets one line."""
    model = unpack(case, tmp_path / "model")
    library = ["--library", case_ops] if case["library"] == "given" else []
    lines = run_graft("doctor", model, *library).stdout.splitlines()
    if not case["expect"]["causes"]:
        assert lines == [f"{model}: healthy: ONNX Runtime {onnxruntime.__version__} loads it, with the library"]
        return
    for code in case["expect"]["causes"]:
        at = next(i for i, line in enumerate(lines) if line.endswith(f"[{code}]"))
        rest = [line[3:11] for line in lines[at + 1 :] if line.startswith("   ") and line[3] != " "]
        assert rest[:2] == ["evidence", "cure    "]
