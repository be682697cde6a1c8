"""Every misuse that the compiler can see is refused, and the first error says what to write instead.

Each .cc file here is one misuse; its second line holds words that the first error must hold, with g++ and with clang.
"""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CASES = sorted(HERE.glob("*.cc"))
COMPILERS = ["g++", "clang++"]


def ort_headers(root):
    folders = [root / ".cache/onnxruntime/include", Path(os.environ.get("ONNXRUNTIME_ROOT", "/nowhere")) / "include", Path("/usr/include/onnxruntime")]
    found = [f for f in folders if (f / "onnxruntime_c_api.h").exists()]
    if not found:
        pytest.fail("onnxruntime_c_api.h is missing: run scripts/setup.sh")
    return found[0]


def first_error(compiler, case, root):
    # A misuse must not send the compiler into a loop either: 4 GiB and two minutes are many times what one takes.
    command = ["prlimit", "--as=4294967296", compiler, "-std=c++20", "-fsyntax-only"]
    command += ["-I", root / "include", "-isystem", ort_headers(root), case]
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "nothing within 120 s"
    if done.returncode == 0:
        return ""
    if done.returncode != 1:
        return f"nothing of use: it ended with exit code {done.returncode}"
    return next(line for line in done.stderr.splitlines() if "error:" in line)


@pytest.fixture(scope="module")
def errors(root):
    """Compiles all cases at once, two at a time."""
    compilers = [c for c in COMPILERS if shutil.which(c)]
    assert "g++" in compilers
    jobs = [(compiler, case) for compiler in compilers for case in CASES]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(jobs, pool.map(lambda job: first_error(*job, root), jobs)))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.stem)
def test_misuse_is_refused(case, errors):
    wanted = case.read_text().splitlines()[1].removeprefix("// error: ")
    for (compiler, path), error in errors.items():
        if path == case:
            assert error, f"{compiler} compiles it"
            assert wanted in error, f"{compiler} says first: {error}"
