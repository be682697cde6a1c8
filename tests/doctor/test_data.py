"""`graft doctor` on models whose weights lie in files of their own, and on files that are no models."""

import os

import numpy as np
import onnx
import pytest

from doctor.models import constant, external, in_if, model, node, save
from doctor.test_variants import X, causes, compute, diagnose

WEIGHTS = np.arange(6, dtype=np.float32).reshape(2, 3)


def adding(tensor, inside_if=False):
    add = node("Add", ["x", "w"], ["o" if inside_if else "y"])
    return in_if([add], constants=[tensor]) if inside_if else model([add], constants=[tensor])


def put(file, data=WEIGHTS.tobytes()):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model").mkdir()
    return tmp_path / "model"


def check_fixed(run_graft, file, output):
    before = {f: f.read_bytes() for f in file.parent.rglob("*") if f.is_file()}
    code, report = diagnose(run_graft, file, None, "--fix", "-o", output)
    assert code == 0 and report["fix"]["loads"], report
    assert {f: f.read_bytes() for f in before} == before
    np.testing.assert_array_equal(compute(output, None), X + WEIGHTS)
    assert diagnose(run_graft, output, None)[1]["healthy"]


@pytest.mark.parametrize("inside_if", [False, True], ids=["main", "if"])
@pytest.mark.parametrize("place", ["moved/w.bin", "a/b/c/w.bin", "../w.bin"])
@pytest.mark.parametrize("beside", [False, True], ids=["elsewhere", "beside"])
def test_moved(place, inside_if, beside, run_graft, folder, tmp_path):
    file = save(adding(external("w", [2, 3], "w.bin"), inside_if), folder / "model.onnx")
    put(folder / place)
    code, report = diagnose(run_graft, file, None)
    assert code == 1 and causes(report) == ["external_data_missing"] and report["causes"][0]["fixable"]
    (tmp_path / "out").mkdir()
    check_fixed(run_graft, file, (folder if beside else tmp_path / "out") / "fixed.onnx")


def test_nowhere(run_graft, folder, tmp_path):
    file = save(adding(external("w", [2, 3], "w.bin")), folder / "model.onnx")
    put(folder / "moved/w.bin", b"too short")
    code, report = diagnose(run_graft, file, None, "--fix", "-o", tmp_path / "fixed.onnx")
    assert code == 1 and causes(report) == ["external_data_missing"] and not report["causes"][0]["fixable"]
    assert not (tmp_path / "fixed.onnx").exists()


def test_several_candidates(run_graft, folder):
    file = save(adding(external("w", [2, 3], "w.bin")), folder / "model.onnx")
    put(folder / "one/w.bin")
    put(folder / "two/w.bin")
    report = diagnose(run_graft, file, None)[1]
    assert causes(report) == ["external_data_missing"] and not report["causes"][0]["fixable"]
    assert len(report["causes"][0]["evidence"]) == 3


@pytest.mark.parametrize("inside_if", [False, True], ids=["main", "if"])
def test_short(inside_if, run_graft, folder):
    file = save(adding(external("w", [2, 3], "w.bin", 8, 24), inside_if), folder / "model.onnx")
    put(folder / "w.bin")
    report = diagnose(run_graft, file, None)[1]
    assert causes(report) == ["external_data_short"]
    assert "has 24 bytes, and the model reads 32 of it" in report["causes"][0]["evidence"][0]


def test_wrong_length(run_graft, folder):
    file = save(adding(external("w", [2, 3], "w.bin", 0, 20)), folder / "model.onnx")
    put(folder / "w.bin")
    assert causes(diagnose(run_graft, file, None)[1]) == ["initializer_size"]


def test_pointer(run_graft, folder):
    file = save(adding(external("w", [2, 3], "w.bin")), folder / "model.onnx")
    put(folder / "w.bin", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 24\n")
    report = diagnose(run_graft, file, None)[1]
    assert causes(report) == ["external_data_pointer"] and "git lfs pull" in report["causes"][0]["cure"][0]


def test_outside(run_graft, folder, tmp_path):
    (tmp_path / "out").mkdir()
    put(tmp_path / "w.bin")
    file = save(adding(external("w", [2, 3], "../w.bin")), folder / "model.onnx")
    assert causes(diagnose(run_graft, file, None)[1]) == ["external_data_outside"]
    check_fixed(run_graft, file, tmp_path / "out" / "fixed.onnx")
    file = save(adding(external("w", [2, 3], str(tmp_path / "w.bin"))), folder / "absolute.onnx")
    assert causes(diagnose(run_graft, file, None)[1]) == ["external_data_outside"]
    check_fixed(run_graft, file, folder / "fixed.onnx")


def test_link(run_graft, folder, tmp_path):
    put(tmp_path / "store/w")
    os.symlink(tmp_path / "store/w", folder / "w.bin")
    file = save(adding(external("w", [2, 3], "w.bin")), folder / "model.onnx")
    assert causes(diagnose(run_graft, file, None)[1]) == ["external_data_outside"]
    check_fixed(run_graft, file, folder / "fixed.onnx")


def test_moved_and_more(run_graft, folder, tmp_path):
    """What cannot be tried without the data is repaired too."""
    made = adding(external("w", [2, 3], "w.bin"))
    made.ir_version = 99
    put(folder / "moved/w.bin")
    file = save(made, folder / "model.onnx")
    assert causes(diagnose(run_graft, file, None)[1]) == ["external_data_missing", "ir_version_too_new"]
    (tmp_path / "out").mkdir()
    check_fixed(run_graft, file, tmp_path / "out" / "fixed.onnx")


def test_healthy_with_data(run_graft, folder, tmp_path):
    file = save(adding(external("w", [2, 3], "w.bin")), folder / "model.onnx")
    put(folder / "w.bin")
    assert diagnose(run_graft, file, None)[1]["healthy"]
    (tmp_path / "out").mkdir()
    check_fixed(run_graft, file, tmp_path / "out" / "fixed.onnx")
    assert (tmp_path / "out" / "fixed.onnx").read_bytes() == file.read_bytes()


NO_MODELS = {
    "text": b"hello world\n" * 20,
    "cut": model([node("Add", ["x", "w"], ["y"])], constants=[constant("w", WEIGHTS)]).SerializeToString()[:90],
    "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 24\n",
    "archive": b"PK\x03\x04" + bytes(100),
    "empty": b"",
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_no_model(name, run_graft, tmp_path):
    file = put(tmp_path / "model.onnx", NO_MODELS[name])
    code, report = diagnose(run_graft, file, None, "--fix", "-o", tmp_path / "fixed.onnx")
    assert code == 1 and causes(report) == ["not_a_model"] and not (tmp_path / "fixed.onnx").exists()


@pytest.mark.parametrize("name", ["pp-ocrv4-rec.onnx", "magika.onnx", "asr/whisper128.onnx", "asr/wespeaker.onnx"])
def test_no_false_alarm_on_real_models(name, models, run_graft, tmp_path):
    """A real model is healthy; broken in one place, every check looks at it, and only that place is found."""
    assert diagnose(run_graft, models / name, None)[1]["healthy"]
    for change, expected in BREAKS:
        made = onnx.load(models / name)
        change(made)
        assert causes(diagnose(run_graft, save(made, tmp_path / "broken.onnx"), None)[1]) == expected


def break_ir(made):
    made.ir_version = 99


def break_opset(made):
    next(entry for entry in made.opset_import if entry.domain in ("", "ai.onnx")).version = 99


def break_input(made):
    next(n for n in made.graph.node if n.input and n.input[0]).input[0] = "nothing makes this"


BREAKS = [(break_ir, ["ir_version_too_new"]), (break_opset, ["opset_too_new"]), (break_input, ["dangling_input"])]
