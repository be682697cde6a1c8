"""One library, many versions of ONNX Runtime: every ready-made operator, and every kind of operator that the SDK knows.

The tests are those of tests/sdk and tests/ops, unchanged: with proxy/ in PYTHONPATH their sessions are of the other
version. differences.py lists what older versions lack.
"""

import os
import subprocess
import sys

import pytest

from matrix.versions import ALL, OTHERS, OWN, ROOT, VERSIONS

HERE = ROOT / "tests/matrix"


# The newest one is in .venv: the test run has it already, by running tests/sdk and tests/ops themselves.
@pytest.mark.parametrize("version", VERSIONS if ALL else OTHERS)
def test_operators(version, build, record_property):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "GRAFT_TEST_RUNTIME")}
    environment["GRAFT_BUILD"] = str(build)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "tests/sdk", "tests/ops"]
    if version != OWN:
        environment["GRAFT_TEST_RUNTIME"] = version
        environment["PYTHONPATH"] = os.pathsep.join([str(HERE / "proxy"), str(HERE)])
        command += ["-p", "differences"]
    done = subprocess.run(command, env=environment, cwd=ROOT, text=True, capture_output=True, timeout=300)
    record_property("operators", done.stdout.splitlines()[-1] if done.stdout else "none ran")
    if done.returncode != 0:
        pytest.fail(f"ONNX Runtime {version}, exit code {done.returncode}\n{done.stdout}{done.stderr}", pytrace=False)
