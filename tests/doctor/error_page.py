"""Writes docs/errors.md: each error that people meet, what provokes it, and the doctor's answer, word for word.

    .venv/bin/python tests/doctor/error_page.py      # writes the page; test_errors.py fails when it is stale

Every answer is what the command printed; nothing is written by hand but the sentences in ROWS.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from onnx import helper

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from doctor.models import (  # noqa: E402
    BFLOAT16, DOMAIN, DOUBLE, FLOAT, HALF, constant, cut, external, function, model, node, save, value,
)

GATE = node("Gate", ["x"], ["y"], DOMAIN)
RELU = node("Relu", ["x"], ["y"])
RAW = model([node("Twice", ["x"], ["y"], "raw.ops")], imports=(("raw.ops", 1),))
SHADOWED = model(
    [node("Twice", ["x"], ["y"], "raw.ops")], imports=(("raw.ops", 1),),
    functions=[helper.make_function("raw.ops", "Twice", ["a"], ["b"], [node("Mul", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)])],
)
LIBRARY = ["--library", "libmy_ops.so"]

# chapter: rows of what provokes it, the model, the options, and the files beside it.
# A file is bytes, or the name under which library.cc is compiled.
ROWS = {
    "The IR version": [
        ("The model says a newer IR version than the runtime reads.", model([RELU], ir=99), [], {}),
        ("The model does not say its IR version.", model([RELU], ir=None), [], {}),
        ("An old ONNX Runtime says it in other words.", None, ["--error", "Unknown model file format version."], {}),
    ],
    "An operator is not registered": [
        ("A good model with a custom operator, and no library is given.", model([GATE]), [], {}),
        ("The library is given, and its domain is imported at version 0.", model([GATE], imports=((DOMAIN, 0),)), LIBRARY, {}),
        ("The operator is spelled otherwise in the library.", model([node("gate", ["x"], ["y"], DOMAIN)]), LIBRARY, {}),
        ("The domain is spelled otherwise in the library.", model([node("Gate", ["x"], ["y"], "myops")], imports=(("myops", 1),)), LIBRARY, {}),
        ("The domain of a custom operator is not imported, and no library is given.", model([GATE], imports=()), [], {}),
        ("The domain is not imported; with the library, ONNX Runtime adds the import by itself.", model([GATE], imports=()), LIBRARY, {}),
        ("A custom operator was left in the default domain.", model([node("Gate", ["x"], ["y"])], imports=()), LIBRARY, {}),
        ("A standard operator is used that came with a later opset.", model([node("Mish", ["x"], ["y"])], imports=()), [], {}),
        (
            "A function of the model uses the operator; the model imports the domain, the function does not.",
            model([node("Wrap", ["x"], ["y"], "blocks")], functions=[function([node("Gate", ["a"], ["b"], DOMAIN)], (("", 17),))], imports=((DOMAIN, 1), ("blocks", 1))),
            LIBRARY, {},
        ),
        ("The library has the operator for a GPU only.", RAW, ["--library", "libmy_ops.so"], {"libmy_ops.so": "FOR_CUDA"}),
        ("The model imports a newer opset than the runtime knows.", model([RELU], opset=99, imports=()), [], {}),
    ],
    "Element types": [
        (
            "A standard operator gets a type that the provider cannot run it on.",
            model([node("Cast", ["x"], ["c"], to=BFLOAT16), node("Relu", ["c"], ["r"]), node("Cast", ["r"], ["y"], to=FLOAT)], imports=()), [], {},
        ),
        ("An older ONNX Runtime says it in other words.", None, ["--error", "Failed to find kernel for Relu(14) (node 'r')"], {}),
        ("And in others still.", None, ["--error", "No registered implementation for Relu"], {}),
        ("A custom operator gets a type that its library does not have it for.", model([GATE], [value("x", DOUBLE)], [value("y", DOUBLE)]), LIBRARY, {}),
        ("The model declares another type for a value than its node makes.", model([node("Gate", ["x"], ["h"], DOMAIN), node("Relu", ["h"], ["y"])], infos=[value("h", HALF)]), LIBRARY, {}),
    ],
    "Attributes": [
        ("A required attribute is absent; ONNX Runtime names neither node nor operator.", model([node("Leaky", ["x"], ["y"], DOMAIN)]), LIBRARY, {}),
        ("A library that asks ONNX Runtime for the attribute gets these words.", None, ["--error", "No attribute with name:'alpha'is defined."], {}),
        ("Or these, when the attribute has another type.", None, ["--error", "Attribute name and type don't match"], {}),
        ("An attribute's name is misspelled.", model([node("Leaky", ["x"], ["y"], DOMAIN, alhpa=0.1)]), LIBRARY, {}),
        ("An attribute has another type, and the same value can be written in the right one.", model([node("Leaky", ["x"], ["y"], DOMAIN, alpha=2)]), LIBRARY, {}),
        ("An attribute has another type.", model([node("Leaky", ["x"], ["y"], DOMAIN, alpha="0.1")]), LIBRARY, {}),
        ("An attribute is given that the operator does not have; ONNX Runtime does not mind.", model([node("Gate", ["x"], ["y"], DOMAIN, slope=0.1)]), LIBRARY, {}),
    ],
    "The library": [
        ("The path of the library is wrong.", RAW, ["--library", "libmy_opps.so"], {}),
        (
            "The same, as ONNX Runtime says it.", None,
            ["--error", "Failed to load library libmy_opps.so with error: libmy_opps.so: cannot open shared object file: No such file or directory"], {},
        ),
        ("A library that it needs is missing.", RAW, LIBRARY, {"libmy_ops.so": "LACKS_DEPENDENCY"}),
        ("It calls a function that nothing defines.", RAW, LIBRARY, {"libmy_ops.so": "UNDEFINED"}),
        ("It links ONNX Runtime without need.", RAW, LIBRARY, {"libmy_ops.so": "LINKS_ORT"}),
        ("Its entry point was compiled as a C++ function, so its name is mangled.", RAW, LIBRARY, {"libmy_ops.so": "MANGLED"}),
        ("Its entry point is hidden.", RAW, LIBRARY, {"libmy_ops.so": "HIDDEN"}),
        ("It was built for a newer API, does not look at the answer, and kills the process.", RAW, LIBRARY, {"libmy_ops.so": "NEWER"}),
        ("It kills the process for another reason.", RAW, LIBRARY, {"libmy_ops.so": "CRASHES"}),
        ("It refuses to register its operators.", RAW, LIBRARY, {"libmy_ops.so": "REFUSES"}),
        ("Two libraries register one domain.", RAW, ["--library", "libmy_ops.so", "--library", "libtwin.so"], {"libmy_ops.so": "", "libtwin.so": ""}),
        ("The library has an operator of the same name as a function of the model, and it computes something else.", SHADOWED, LIBRARY, {"libmy_ops.so": ""}),
        ("A provider is asked for that the runtime does not have.", model([RELU]), ["--provider", "CUDA"], {}),
        (
            "The runtime has the provider, and it does not start; ONNX Runtime says so and goes on without it.", None,
            ["--error", "Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*. Please install all dependencies"], {},
        ),
    ],
    "Values and nodes": [
        ("A node reads a value that nothing makes.", model([node("Relu", ["x"], ["hidden"]), node("Neg", ["hiden"], ["y"])]), [], {}),
        ("The graph names an output that nothing makes.", model([node("Relu", ["x"], ["yy"])]), [], {}),
        ("Two nodes make a value of one name.", model([RELU, node("Neg", ["x"], ["y"])]), [], {}),
        ("Two nodes have the same name.", model([node("Relu", ["x"], ["h"], name="act"), node("Relu", ["h"], ["y"], name="act")]), [], {}),
        ("Nodes wait for each other.", model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])]), [], {}),
        ("A node stands before the one that it reads of; ONNX Runtime does not mind.", model([node("Neg", ["h"], ["y"]), node("Relu", ["x"], ["h"])]), [], {}),
        ("An operator is given too many inputs.", model([node("Relu", ["x", "x"], ["y"])]), [], {}),
    ],
    "Weights and files": [
        ("The file of the weights was moved.", model([node("Add", ["x", "w"], ["y"])], constants=[external("w", [2, 3], "w.bin")]), [], {"moved/w.bin": bytes(24)}),
        ("The file of the weights is cut short.", model([node("Add", ["x", "w"], ["y"])], constants=[external("w", [2, 3], "w.bin")]), [], {"w.bin": bytes(20)}),
        (
            "The file of the weights is a Git LFS pointer.", model([node("Add", ["x", "w"], ["y"])], constants=[external("w", [64, 3], "w.bin")]), [],
            {"w.bin": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 768\n"},
        ),
        ("A constant holds fewer bytes than its shape asks for.", model([node("Add", ["x", "w"], ["y"])], constants=[cut(constant("w", np.ones(2, np.float32)), 3)]), [], {}),
        ("The file is no model.", b"Not Found\n" * 20, [], {}),
    ],
    "Several at once": [
        ("ONNX Runtime reports the first only.", model([node("Gate", ["x"], ["h"]), node("Leaky", ["h"], ["y"], DOMAIN)], ir=99), LIBRARY, {}),
    ],
}

HEAD = """# Errors of ONNX Runtime, and what to do

`graft doctor MODEL --library LIBRARY.so` says why a model does not load, or does not run as meant: the cause, the evidence for
it, and the cure. With nothing but the text of an error, ask `graft doctor --error "TEXT"`. [The reference](reference/doctor.md)
lists all causes.

Each row below was provoked on purpose, and what the doctor printed stands there word for word (ONNX Runtime {version}; a test
runs them all). ONNX Runtime's own words stand at the end of each answer, for those who search for them.
"""


def ort_environment():
    environment = {key: text for key, text in os.environ.items() if key not in ("ORT_LIBRARY", "PYTHONPATH", "PYTHONHOME")}
    return {**environment, "VIRTUAL_ENV": str(ROOT / ".venv"), "PATH": f"{ROOT / '.venv/bin'}:{environment['PATH']}"}


def put_files(folder, files, compile_library, case_ops):
    if "libmy_ops.so" not in files:
        shutil.copyfile(case_ops, folder / "libmy_ops.so")
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            shutil.copyfile(compile_library(content), folder / name)


def answer(graft, made, options, files, compile_library, case_ops, *more):
    """Runs the doctor in a folder with nothing but the row's files; gives what it printed, without the machine's paths."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        put_files(folder, files, compile_library, case_ops)
        if isinstance(made, bytes):
            (folder / "model.onnx").write_bytes(made)
        elif made is not None:
            save(made, folder / "model.onnx")
        command = ["doctor", *(["model.onnx"] if made is not None else []), *options, *more]
        done = subprocess.run([str(graft), *command], cwd=folder, env=ort_environment(), text=True, capture_output=True)
        assert done.returncode in (0, 1), done.stderr
        text = done.stdout.replace(str(folder.resolve()) + "/", "").replace(str(folder) + "/", "").replace(str(ROOT) + "/", "")
        return [f'"{word}"' if " " in word else word for word in command], text


def own_words(text):
    """Gives what ONNX Runtime said, without the place in its source, cut where it gets long."""
    said = re.findall(r"own words: (.*)|--error \"(.*)\"|says nothing: (.*)", text)
    words = next(filter(None, said[-1])) if said else "(it loads the model)"
    words = re.sub(r"^(Load model from \S+ failed:|Exception during initialization: )", "", words)
    words = re.sub(r"^/onnxruntime_src\S+ .*?\)\s(?=[A-Z\[])", "", words).replace("|", "\\|")
    return words if len(words) < 120 else words[:117] + "..."


def anchor(title):
    return re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-")


def page(graft, compile_library, case_ops, version):
    table = ["| what is wrong | ONNX Runtime's words | the doctor's cause |", "|---|---|---|"]
    lines = []
    for chapter, rows in ROWS.items():
        lines.append(f"## {chapter}")
        for what, made, options, files in rows:
            command, text = answer(graft, made, options, files, compile_library, case_ops)
            block = f"$ graft {' '.join(command)}\n{text.rstrip()}"
            lines.append(f"### {what.rstrip('.')}\n\n```\n{block}\n```\n")
            codes = ", ".join(f"`{code}`" for code in re.findall(r"^\d+\. .*\[(\w+)\]$", text, re.MULTILINE))
            table.append(f"| [{what.rstrip('.')}](#{anchor(what.rstrip('.'))}) | {own_words(block)} | {codes} |")
    return "\n".join([HEAD.format(version=version), *table, "", *lines])


if __name__ == "__main__":
    import onnxruntime

    from doctor.conftest import LibraryMaker

    with tempfile.TemporaryDirectory() as libraries:
        build = ROOT / os.environ.get("GRAFT_BUILD", "build/release")
        text = page(build / "graft", LibraryMaker(ROOT, Path(libraries)), build / "libgraft_case_ops.so", onnxruntime.__version__)
    (ROOT / "docs/errors.md").write_text(text)
