"""Operator libraries in a long-lived process: threads, many sessions, unloading, exit, and memory that stays flat.

The program build/<preset>/lifetime does it with ORT's C API, so that nothing of Python's is measured; under sanitizers
(scripts/lifetime.sh) it also finds leaks, and in build/tsan (scripts/tsan.sh) races. GRAFT_LIFETIME_ROUNDS changes the number of rounds; with
GRAFT_LIFETIME_EMULATOR and GRAFT_LIFETIME_RUNTIME it is a program and a runtime of another processor (scripts/arm64.sh).
"""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

ROUNDS = int(os.environ.get("GRAFT_LIFETIME_ROUNDS", "500"))
# The heap's own unevenness. A leak of one kernel's state (4 kB, two a round) would be 2 MB over the second half of 500.
ALLOWED_KILOBYTES = 512


def model(n):
    """Makes a model that multiplies by six, through both libraries; n below 1 is refused by the second."""
    nodes = [
        helper.make_node("Scale", ["x"], ["a"], domain="lifetime.double"),
        helper.make_node("Window", ["a"], ["b"], domain="lifetime.double", name="window"),
        helper.make_node("Scale", ["b"], ["c"], domain="lifetime.triple"),
        helper.make_node("Window", ["c"], ["y"], domain="lifetime.triple", name="window" if n < 1 else "window_2", n=n),
        helper.make_node("Constant", [], ["text"], value_strings=["one", "two"]),
        helper.make_node("Words", ["text"], ["more"], domain="lifetime.double"),
        helper.make_node("Words", ["more"], ["most"], domain="lifetime.triple", end=""),
    ]
    if n < 1:
        nodes[1].name = "window_1"
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"]), helper.make_tensor_value_info("most", TensorProto.STRING, [2])])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("lifetime.double", 1), helper.make_opsetid("lifetime.triple", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


@pytest.fixture(scope="module")
def lifetime(build, tmp_path_factory):
    """Gives a function that plays a scenario and gives what it printed."""
    folder = tmp_path_factory.mktemp("lifetime")
    onnx.save(model(2), folder / "model.onnx")
    onnx.save(model(0), folder / "bad_model.onnx")
    emulator = os.environ.get("GRAFT_LIFETIME_EMULATOR", "").split()
    capi = os.environ.get("GRAFT_LIFETIME_RUNTIME") or Path(find_spec("onnxruntime").origin).parent / "capi"
    runtime = next(Path(capi).glob("libonnxruntime.so.1.*"))
    libraries = [build / "liblifetime_double.so", build / "liblifetime_triple.so"]
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # its own sanitizers are built in
    environment["ASAN_OPTIONS"] = "detect_leaks=1:quarantine_size_mb=1"  # freed memory is kept, but not for the whole run

    def play(scenario):
        command = [*emulator, build / "lifetime", scenario, runtime, folder / "model.onnx", folder / "bad_model.onnx", *libraries, ROUNDS]
        done = subprocess.run([*map(str, command)], env=environment, text=True, capture_output=True, timeout=300)
        assert done.returncode == 0, f"{scenario}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        return done.stdout

    return play


@pytest.mark.parametrize("scenario", ["many_rounds", "many_rounds_loaded"])
def test_resident_memory_is_flat(scenario, lifetime, build):
    said = [tuple(map(int, line.split())) for line in lifetime(scenario).splitlines()]
    assert len(said) >= 10
    program = (build / "lifetime").read_bytes()
    if b"__asan_init" in program or b"__tsan_init" in program:
        return  # its own records grow with every load of a library; it finds leaks one by one instead, at exit
    # The first half fills caches: ORT's, the allocator's, the processor variants'.
    half = said[len(said) // 2 - 1][1]
    assert said[-1][1] - half <= ALLOWED_KILOBYTES, said


@pytest.mark.parametrize("scenario", [
    "register_in_threads", "register_loaded_in_threads", "many_sessions", "one_session_in_threads", "session_outlives_options",
    "exit_in_use", "new_environment"])
def test_no_crash(scenario, lifetime):
    lifetime(scenario)
