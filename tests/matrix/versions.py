"""The versions of ONNX Runtime that the tests run on."""

import json
import os
import subprocess
import sys
from importlib.metadata import version as version_of
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
ALL = os.environ.get("GRAFT_MATRIX") == "all"


def other_versions():
    """Gives those of scripts/setup/runtimes/versions.txt for this Python; all of them with GRAFT_MATRIX=all."""
    python = "%d.%d" % sys.version_info[:2]
    for line in (ROOT / "scripts/setup/runtimes/versions.txt").read_text().splitlines():
        if line.split()[:1] == [python]:
            always, _, more = line.split(maxsplit=1)[1].partition("|")
            return always.split() + (more.split() if ALL else [])
    raise LookupError(f"scripts/setup/runtimes/versions.txt has no line for Python {python}")


OWN = version_of("onnxruntime")
OTHERS = sorted(other_versions(), key=lambda version: [int(part) for part in version.split(".")])
VERSIONS = [*OTHERS, OWN]


def run_model(version, folder, model, inputs, outputs, library=None):
    """Runs a model (a file) on a version, in a process of its own, with inputs from a .npz file to one of outputs; gives them by
    name, and how many nodes of each operator ran."""
    environment = dict(os.environ)
    environment.pop("PYTHONPATH", None)
    if version != OWN:
        tree = ROOT / ".cache/onnxruntime" / version
        if not (tree / "onnxruntime").is_dir():
            pytest.fail(f"{tree} is missing: run scripts/setup.sh or scripts/matrix.sh", pytrace=False)
        environment["PYTHONPATH"] = str(tree)
    command = [sys.executable, Path(__file__).with_name("run_model.py"), model, inputs, outputs]
    done = subprocess.run(
        [*map(str, command), *([str(library)] if library else [])],
        env=environment, cwd=folder, text=True, capture_output=True, timeout=120,
    )
    if done.returncode != 0:
        pytest.fail(f"ONNX Runtime {version}, exit code {done.returncode}\n{done.stderr}", pytrace=False)
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["version"] == version
    with numpy.load(outputs) as found:
        return dict(found), said["ran"]
