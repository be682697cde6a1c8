"""What every test may ask for: the command, the operator library, the models. Something missing is an error, never a skip."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def existing(path: Path) -> Path:
    if not path.exists():
        pytest.fail(f"{path} is missing: run scripts/setup.sh", pytrace=False)
    return path


@pytest.fixture(scope="session")
def root() -> Path:
    """Gives the project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def build(root) -> Path:
    """Gives the build folder; GRAFT_BUILD names another one than build/release."""
    return existing(root / os.environ.get("GRAFT_BUILD", "build/release"))


@pytest.fixture(scope="session")
def graft(build) -> Path:
    """Gives the command."""
    return existing(build / "graft")


@pytest.fixture(scope="session")
def ops_library(build) -> Path:
    """Gives the library of ready-made operators, domain `graft`."""
    return existing(build / "libgraft_ops.so")


@pytest.fixture(scope="session")
def case_ops(build):
    """Gives the library of the operators that tests/cases needs, domain `my.ops`."""
    return existing(build / "libgraft_case_ops.so")


@pytest.fixture(scope="session")
def models(root) -> Path:
    """Gives the folder of real models: pp-ocrv4-det.onnx, pp-ocrv4-rec.onnx, pp-ocr-cls.onnx, magika.onnx, asr/."""
    folder = root / ".cache" / "models"
    existing(folder / "pp-ocrv4-det.onnx")
    return folder


@pytest.fixture(scope="session")
def run_graft(graft):
    """Gives a function that runs the command, and fails with all that it printed when `check` is another exit code."""
    environment = dict(os.environ)
    # As in an active virtual environment: the Python that runs the tests is the one whose ORT is found.
    environment["VIRTUAL_ENV"] = sys.prefix
    environment["PATH"] = os.pathsep.join([str(Path(sys.prefix) / "bin"), environment["PATH"]])
    for name in ("ORT_LIBRARY", "PYTHONPATH", "PYTHONHOME"):
        environment.pop(name, None)

    def run(*arguments, check=None, cwd=None, env=None, timeout=300):
        command = [str(graft), *map(str, arguments)]
        done = subprocess.run(
            command, text=True, capture_output=True, stdin=subprocess.DEVNULL, cwd=cwd, timeout=timeout,
            env={**environment, **(env or {})},
        )
        if check is not None and done.returncode != check:
            pytest.fail(
                f"exit code {done.returncode}, expected {check}: {' '.join(command)}\n"
                f"--- stdout\n{done.stdout}--- stderr\n{done.stderr}",
                pytrace=False,
            )
        return done

    return run
