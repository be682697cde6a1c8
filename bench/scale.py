"""Measures `graft inject` on large models: 100,000 nodes of several kinds, and 4 GiB of weights in an external file.

    .venv/bin/python bench/scale.py [NODES]

For each model: wall time and peak memory of the command without verification, of the same with it (on parts, as it does by
itself for models of this size), and of reading and passing the model on, which is what the rest is to be compared with.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
GRAFT, LIBRARY = ROOT / "build/release/graft", ROOT / "build/release/libgraft_ops.so"
CONSTANTS = {"three": 3, "zero": 0, "six": 6}


def hard_swishes(count):
    """Chains of four nodes, each a place."""
    value = "x"
    for i in range(count // 4):
        a, c, m, y = (f"{i}{part}" for part in "acmy")
        yield "Add", [value, "three"], a
        yield "Clip", [a, "zero", "six"], c
        yield "Mul", [value, c], m
        yield "Div", [m, "six"], y
        value = y


def products(count):
    """One long product, which no definition's product is."""
    value = "x"
    for i in range(count):
        yield "Mul", [value, value if i % 2 else "three"], f"{i}y"
        value = f"{i}y"


def sums(count):
    value = "x"
    for i in range(count):
        yield "Add", [value, value if i % 2 else "three"], f"{i}y"
        value = f"{i}y"


def nearly(count):
    """What a HardSwish begins with, again and again."""
    value = "x"
    for i in range(count):
        inputs = [[value, "three"], [value, "zero", "six"], [value, value]][i % 3]
        yield ["Add", "Clip", "Mul"][i % 3], inputs, f"{i}y"
        value = f"{i}y"


def mixed(count):
    before = value = "x"
    for i in range(count):
        op = ["Add", "Mul", "Div", "Sigmoid", "Tanh", "Sub"][i % 6]
        yield op, [value] if op in ("Sigmoid", "Tanh") else [value, before], f"{i}y"
        before, value = value, f"{i}y"


def write(kind, count, file):
    nodes = [helper.make_node(op, inputs, [output]) for op, inputs, output in kind(count)]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", nodes[-1].output[0])]
    constants = [numpy_helper.from_array(np.array(v, np.float32), name) for name, v in CONSTANTS.items()]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)


def write_heavy(file):
    """Writes a model with a sparse external file of 4 GiB beside it."""
    rows, columns = 1 << 15, 1 << 15
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[rows, columns], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "weights.bin", "offset": "0", "length": str(4 * rows * columns)}.items():
        weight.external_data.add(key=key, value=value)
    with open(file.parent / "weights.bin", "wb") as data:
        data.truncate(4 * rows * columns)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"])]
    nodes += [helper.make_node(op, ["h" if i == "x" else i for i in inputs], [output]) for op, inputs, output in hard_swishes(4)]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, rows]), ("0y", [1, columns]))]
    constants = [numpy_helper.from_array(np.array(v, np.float32), name) for name, v in CONSTANTS.items()]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [weight, *constants])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)


def run(*arguments):
    """Runs the command and gives its wall time in seconds, its peak memory in MiB, and the number of places."""
    reading, writing = os.pipe()
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.environ.setdefault("VIRTUAL_ENV", str(ROOT / ".venv"))
        os.execv(GRAFT, [str(GRAFT), *map(str, arguments)])
    os.close(writing)
    with os.fdopen(reading) as stream:
        report = stream.read()
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"graft {' '.join(map(str, arguments))} failed")
    return time.perf_counter() - started, usage.ru_maxrss / 1024, json.loads(report)["places"]


def measure(name, model, output):
    passed_on = run("eject", model, "-o", output, "--allow-none", "--json")
    alone = run("inject", model, "-l", LIBRARY, "-o", output, "--no-verify", "--json")
    proven = run("inject", model, "-l", LIBRARY, "-o", output, "--json")
    print(f"{name:<12} {passed_on[0]:7.2f} s {alone[0]:7.2f} s {alone[1]:7.0f} MiB {proven[0]:7.2f} s {proven[1]:7.0f} MiB {alone[2]:7}")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"{count:,} nodes   passed on    inject       peak  verified       peak  places")
    with tempfile.TemporaryDirectory(dir=ROOT / ".cache") as name:
        folder = Path(name)
        for kind in (hard_swishes, products, sums, nearly, mixed):
            write(kind, count, folder / "model.onnx")
            measure(kind.__name__, folder / "model.onnx", folder / "out.onnx")
        write_heavy(folder / "model.onnx")
        (folder / "elsewhere").mkdir()
        measure("4 GiB", folder / "model.onnx", folder / "elsewhere" / "out.onnx")


if __name__ == "__main__":
    main()
