"""`graft doctor` on operator libraries that are wrong: each is tried in a child process, so none takes the doctor along."""

import shutil
import subprocess

import pytest
from onnx import helper

from doctor.models import DOMAIN, DOUBLE, model, node, save, value
from doctor.test_variants import causes, diagnose

RAW = "raw.ops"


@pytest.fixture
def twice(tmp_path):
    return save(model([node("Twice", ["x"], ["y"], RAW)], imports=((RAW, 1),)), tmp_path / "twice.onnx")


# what is defined in library.cc: the cause, and words of the evidence or the cure
WRONG = {
    "CRASHES": ("library_crashes", "signal 11, Segmentation fault, while ONNX Runtime registered"),
    "LEAVES": ("library_crashes", "it called exit(3)"),
    "NEWER": ("runtime_too_old", "version 99 of the ONNX Runtime API"),
    "REFUSES": ("library_refused", "the licence has run out"),
    "MANGLED": ("entry_point_missing", "_Z17RegisterCustomOpsP17OrtSessionOptionsPK10OrtApiBase"),
    "HIDDEN": ("entry_point_missing", "hidden"),
    "NO_ENTRY_POINT": ("entry_point_missing", "no symbol with a name like"),
    "LINKS_ORT": ("links_onnxruntime", "OrtGetApiBase"),
    "UNDEFINED": ("symbol_undefined", "_Z15absent_functioni"),
    "LACKS_DEPENDENCY": ("dependency_missing", "libgraft_absent.so.1"),
}


@pytest.mark.parametrize("define", WRONG)
def test_wrong_library(define, library, run_graft, twice):
    cause, words = WRONG[define]
    code, report = diagnose(run_graft, twice, library(define))
    assert code == 1 and causes(report) == [cause]
    assert words in " ".join(report["causes"][0]["evidence"]) and report["causes"][0]["cure"]


def test_a_library_that_is_wrong_does_not_hide_what_else_is(library, run_graft, tmp_path):
    file = save(model([node("Twice", ["nothing"], ["y"], RAW)], imports=((RAW, 1),), ir=99), tmp_path / "model.onnx")
    assert causes(diagnose(run_graft, file, library("CRASHES"))[1]) == ["dangling_input", "ir_version_too_new", "library_crashes"]


def test_library_that_is_not_there(run_graft, twice, tmp_path):
    assert causes(diagnose(run_graft, twice, tmp_path / "absent.so")[1]) == ["library_missing"]


def test_file_that_is_no_library(run_graft, twice, tmp_path):
    (tmp_path / "text.so").write_text("not a library\n" * 100)
    code, report = diagnose(run_graft, twice, tmp_path / "text.so")
    assert causes(report) == ["library_unfit"] and "is not a shared library" in report["causes"][0]["evidence"][0]


def test_library_made_without_graft(library, run_graft, twice, tmp_path):
    """What it registers is seen by watching it; so names and types are known."""
    raw = library()
    assert diagnose(run_graft, twice, raw) [1]["healthy"]
    file = save(model([node("Twise", ["x"], ["y"], RAW)], imports=((RAW, 1),)), tmp_path / "misspelled.onnx")
    code, report = diagnose(run_graft, file, raw)
    assert causes(report) == ["op_not_in_library"] and "did you mean raw.ops:Twice?" in report["causes"][0]["evidence"][0]
    file = save(model([node("Twice", ["x"], ["y"], RAW)], [value("x", DOUBLE)], [value("y", DOUBLE)], imports=((RAW, 1),)), tmp_path / "double.onnx")
    assert causes(diagnose(run_graft, file, raw)[1]) == ["dtype_not_supported"]
    file = save(model([node("Twice", ["x", "x"], ["y"], RAW)], imports=((RAW, 1),)), tmp_path / "count.onnx")
    assert causes(diagnose(run_graft, file, raw)[1]) == ["input_count"]


def test_attribute_that_a_library_without_graft_needs(library, run_graft, tmp_path):
    """Nothing says that it needs one until it asks; the nodes that lack it are named."""
    file = save(model([node("Twice", ["x"], ["h"], RAW, alpha=1.0), node("Twice", ["h"], ["y"], RAW)], imports=((RAW, 1),)), tmp_path / "model.onnx")
    code, report = diagnose(run_graft, file, library("NEEDS_ATTRIBUTE"))
    assert causes(report) == ["attribute_missing"]
    assert report["causes"][0]["evidence"][1:] == ["raw.ops:Twice, which makes y, has no such attribute"]
    assert report["causes"][0]["cure"] == ["give the node the attribute, with your value"]


def test_library_that_hangs(library, run_graft, twice):
    code, report = diagnose(run_graft, twice, library("HANGS"))
    assert causes(report) == ["library_crashes"] and "it hung" in report["causes"][0]["evidence"][0]


def test_operator_for_another_processor(library, run_graft, twice):
    code, report = diagnose(run_graft, twice, library("FOR_CUDA"))
    assert causes(report) == ["provider_missing"] and "CUDAExecutionProvider only" in report["causes"][0]["evidence"][0]


def test_two_libraries_with_one_domain(library, run_graft, twice, tmp_path):
    twin = tmp_path / "twin.so"
    shutil.copyfile(library(), twin)
    code, report = diagnose(run_graft, twice, library(), "--library", twin)
    assert causes(report) == ["domain_twice"] and code == 1
    assert str(twin) in report["causes"][0]["evidence"][0] and str(library()) in report["causes"][0]["evidence"][0]


def test_a_library_takes_the_place_of_a_function(library, run_graft, tmp_path):
    def with_function(body):
        function = helper.make_function(RAW, "Twice", ["a"], ["b"], [body], [helper.make_opsetid("", 17)])
        return save(model([node("Twice", ["x"], ["y"], RAW)], imports=((RAW, 1),), functions=[function]), tmp_path / "model.onnx")

    code, report = diagnose(run_graft, with_function(node("Add", ["a", "a"], ["b"])), library())
    assert report["healthy"]
    code, report = diagnose(run_graft, with_function(node("Mul", ["a", "a"], ["b"])), library())
    assert causes(report) == ["function_shadowed"] and code == 1 and report["loads"]
    assert diagnose(run_graft, tmp_path / "model.onnx", None)[1]["healthy"]


def test_provider_that_is_not_there(run_graft, tmp_path):
    file = save(model([node("Relu", ["x"], ["y"])]), tmp_path / "model.onnx")
    for name in ("CUDA", "cuda", "CUDAExecutionProvider"):
        code, report = diagnose(run_graft, file, None, "--provider", name)
        assert code == 1 and causes(report) == ["provider_missing"] and "onnxruntime-gpu" in report["causes"][0]["cure"][0]
    assert diagnose(run_graft, file, None, "--provider", "cpu")[0] == 0
    assert "did you mean" in diagnose(run_graft, file, None, "--provider", "CPUExecutionProvidr")[1]["causes"][0]["evidence"][0]


def test_provider_that_cannot_start(run_graft, tmp_path, root):
    from importlib.util import find_spec
    from pathlib import Path

    real = next((Path(find_spec("onnxruntime").origin).parent / "capi").glob("libonnxruntime.so.1.*"))
    runtime = tmp_path / "libonnxruntime.so"
    subprocess.run(
        ["g++", "-std=c++20", "-shared", "-fPIC", f'-DREAL="{real}"', "-isystem", root / ".cache/onnxruntime/include",
         root / "tests/doctor/libraries/runtime_with_cuda.cc", "-o", runtime, "-ldl"], check=True)
    file = save(model([node("Relu", ["x"], ["y"])]), tmp_path / "model.onnx")
    code, report = diagnose(run_graft, file, None, "--runtime", runtime, "--provider", "cuda")
    assert code == 1 and causes(report) == ["provider_fails"], report
    assert report["causes"][0]["evidence"][0].startswith("a session on CUDAExecutionProvider fails: ")
    assert any("CPUExecutionProvider" in cure for cure in report["causes"][0]["cure"])
    assert diagnose(run_graft, file, None, "--runtime", runtime)[1]["healthy"]


def test_two_packages_in_one_place(run_graft, tmp_path):
    import onnxruntime
    from pathlib import Path

    package = Path(onnxruntime.__file__).parent
    packages = tmp_path / "site-packages"
    (packages / "onnxruntime").mkdir(parents=True)
    (packages / "onnxruntime" / "capi").symlink_to(package / "capi")
    for name in ("onnxruntime-1.32.0.dist-info", "onnxruntime_gpu-1.32.0.dist-info", "onnxruntime_extensions-0.13.dist-info"):
        (packages / name).mkdir()
    file = save(model([node("Relu", ["x"], ["y"])]), tmp_path / "model.onnx")
    code, report = diagnose(run_graft, file, None, "--runtime", packages)
    assert code == 0 and causes(report) == ["two_runtimes"] and report["causes"][0]["severity"] == "warning"
    assert "pip uninstall -y onnxruntime onnxruntime-gpu" in report["causes"][0]["cure"][0]
    (packages / "onnxruntime_gpu-1.32.0.dist-info").rmdir()
    assert diagnose(run_graft, file, None, "--runtime", packages)[1]["healthy"]
