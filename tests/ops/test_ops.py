"""Every ready-made operator against float64, in every type, size and processor variant that it has."""

import json
import os
import subprocess
import sys
from math import erf

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import ort  # noqa: E402

np_erf = np.vectorize(erf, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


# The definitions, in float64. `where` keeps numpy from warnings; NaN, infinities and signed zero go through as they are.
REFERENCES = {
    "HardSwish": (lambda x: x * np.clip(x + 3, 0, 6) / 6, {}),
    "HardSigmoid": (lambda x, alpha=np.float32(0.2), beta=0.5: np.clip(np.float64(alpha) * x + beta, 0, 1), {}),
    "Silu": (lambda x: x * sigmoid(x), {}),
    "Mish": (lambda x: x * np.tanh(softplus(x)), {}),
    "Softplus": (softplus, {}),
    "Gelu": (lambda x: 0.5 * x * (1 + np_erf(x / np.sqrt(2))), {}),
    "GeluTanh": (lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), {}),
    "LeakyRelu": (lambda x, alpha=np.float32(0.01): np.where(x > 0, x, np.float64(alpha) * x), {}),
}
WITH_ATTRIBUTES = [
    ("HardSigmoid", dict(alpha=0.25, beta=0.125)),
    ("LeakyRelu", dict(alpha=0.5)),
    ("LeakyRelu", dict(alpha=-2.0)),
]
# How far from float64 a result may be, in units of the last place of the result: 7 is the longest function's bound
# (gelu, docs/reference/math.md); a 16-bit result is computed in float and rounded once, so half a unit and a little. Where
# a definition subtracts nearly equal numbers (1 + erf, 1 + tanh, the border of a clip) float64 is exact and the type that
# is computed in is not: 2 units of its last place at x come on top.
UNITS = {"float": 7, "double": 16, "float16": 0.51, "bfloat16": 0.51}
FRACTION_BITS = {"float": 23, "double": 52, "float16": 10, "bfloat16": 7}
SMALLEST_EXPONENT = {"float": -126, "double": -1022, "float16": -14, "bfloat16": -126}
NUMPY = {"float": np.float32, "double": np.float64, "float16": np.float16}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-42, 6e-8, -6e-8, 3.0, -3.0, 2.9999998, -2.9999998]
SIZES = [0, 1, 7, 8, 1023, 4099]


def values(size, dtype):
    random = np.random.default_rng(size)
    x = np.concatenate([np.array(SPECIAL), random.standard_normal(size) * 4, random.uniform(-30, 30, size)])
    return x[:size].astype(dtype) if size < len(SPECIAL) else x.astype(dtype)


def unit_in_the_last_place(value, kind):
    exponent = np.frexp(np.abs(value))[1] - 1
    return np.ldexp(1.0, np.maximum(np.where(value == 0, -5000, exponent), SMALLEST_EXPONENT[kind]) - FRACTION_BITS[kind])


def check(got, x, reference, kind):
    exact = reference(x.astype(np.float64))
    assert got.shape == x.shape
    same_nan = np.isnan(exact) == np.isnan(got)
    assert same_nan.all(), f"NaN differs at x = {x[~same_nan][:5]}: got {got[~same_nan][:5]}"
    infinite = np.isinf(exact)
    assert (got[infinite] == exact[infinite]).all()
    finite = np.isfinite(exact)
    got, x, exact = got[finite], np.where(np.isfinite(x), x, 0)[finite].astype(np.float64), exact[finite]
    error = np.abs(got.astype(np.float64) - exact)
    computed_in = "double" if kind == "double" else "float"
    limit = UNITS[kind] * unit_in_the_last_place(exact, kind) + 2 * unit_in_the_last_place(np.clip(x, -8, 8), computed_in)
    worst = np.argmax(error / limit) if error.size else None
    assert (error <= limit).all(), (
        f"x = {x[worst]!r}: got {got[worst]!r}, exact {exact[worst]!r}, error {error[worst]:.3g}, allowed {limit[worst]:.3g}")
    zero = (exact == 0) & (np.abs(x) < 1)
    assert (np.signbit(got[zero]) == np.signbit(exact[zero])).all(), "the sign of a zero differs"


def test_every_operator_of_the_library_has_a_reference(ops_library):
    assert {op["name"] for op in description(ops_library) if "pool" not in op} == set(REFERENCES)


def description(library):
    code = (
        "import ctypes, sys\n"
        "class L(ctypes.Structure): _fields_ = [('size', ctypes.c_uint32), ('abi', ctypes.c_uint32), ('json', ctypes.c_char_p)]\n"
        "f = ctypes.CDLL(sys.argv[1]).graft_describe\n"
        "f.restype = ctypes.POINTER(L)\n"
        "sys.stdout.write(f(1).contents.json.decode())\n")
    text = subprocess.run([sys.executable, "-c", code, str(library)], capture_output=True, text=True, check=True).stdout
    return json.loads(text)["operators"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["float", "double", "float16"])
@pytest.mark.parametrize("op", REFERENCES)
def test_operator_is_right(op, kind, ops_library):
    reference, attributes = REFERENCES[op]
    session = ort.session(ort.one_node(op, "graft", [(kind, ["n"])], **attributes), ops_library)
    for size in SIZES:
        x = values(size, NUMPY[kind])
        check(session.run(None, {"x0": x})[0], x, reference, kind)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op, attributes", WITH_ATTRIBUTES)
def test_attributes_are_used(op, attributes, ops_library):
    reference = REFERENCES[op][0]
    x = values(1023, np.float32)
    got = ort.run(ort.one_node(op, "graft", [("float", ["n"])], **attributes), ops_library, x)[0]
    check(got, x, lambda v: reference(v, **{k: np.float32(a) for k, a in attributes.items()}), "float")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", REFERENCES)
def test_bfloat16_rounds_once(op, ops_library):
    """ORT's CPU has no bfloat16 tensors in numpy, so the values go in and out through Cast nodes."""
    from onnx import TensorProto, helper
    node = ort.one_node(op, "graft", [("bfloat16", ["n"])])
    graph = node.graph
    graph.node.insert(0, helper.make_node("Cast", ["f"], ["x0"], to=TensorProto.BFLOAT16))
    graph.node.append(helper.make_node("Cast", ["y"], ["g"], to=TensorProto.FLOAT))
    del graph.input[:], graph.output[:]
    graph.input.append(helper.make_tensor_value_info("f", TensorProto.FLOAT, ["n"]))
    graph.output.append(helper.make_tensor_value_info("g", TensorProto.FLOAT, ["n"]))
    x = values(1023, np.float32)
    x = (ort.bfloat16(np.where(np.isnan(x), 1, x)).astype(np.uint32) << 16).view(np.float32)
    check(ort.run(node, ops_library, x)[0], x, REFERENCES[op][0], "bfloat16")


@pytest.mark.parametrize("shape", [(), (1,), (2, 3, 5), (3, 0, 2), (1, 1, 1, 1, 1, 1, 1, 2)])
def test_shapes_are_kept(shape, ops_library):
    x = np.full(shape, 2.0, np.float32)
    got = ort.run(ort.one_node("HardSwish", "graft", [("float", list(shape))]), ops_library, x)[0]
    assert got.shape == shape and np.array_equal(got, x * np.float32(5) / np.float32(6))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [32 * 1024 - 1, 32 * 1024, 100_003, 10_000_019])
def test_large_tensors_over_threads(size, threads, ops_library):
    """10,000,019 floats in and out are beyond the last cache: the loop with streaming stores."""
    x = np.random.default_rng(1).standard_normal(size).astype(np.float32) * 4
    got = ort.run(ort.one_node("HardSwish", "graft", [("float", ["n"])]), ops_library, x, threads=threads)[0]
    assert np.array_equal(got, x * np.clip(x + np.float32(3), 0, 6) / np.float32(6))


VARIANT = """
import sys, numpy as np
sys.path.insert(0, sys.argv[3])
import ort
x = np.random.default_rng(5).uniform(-20, 20, 65537).astype(np.dtype(sys.argv[4]))
kind = {"float32": "float", "float64": "double", "float16": "float16"}[sys.argv[4]]
results = {op: ort.run(ort.one_node(op, "graft", [(kind, ["n"])]), sys.argv[1], x)[0] for op in sys.argv[5:]}
np.savez(sys.argv[2], **results)
"""


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_processor_variants_agree(dtype, ops_library, tmp_path):
    """AVX-512, AVX2 and the baseline; they may differ by the rounding of a*b+c (one instruction or two)."""
    results = []
    for target in ["baseline", "avx2", ""]:
        out = tmp_path / f"{target}.npz"
        subprocess.run(
            [sys.executable, "-c", VARIANT, str(ops_library), str(out), os.path.dirname(ort.__file__), dtype, *REFERENCES],
            env={**os.environ, "GRAFT_TARGET": target}, check=True)
        results.append(np.load(out))
    for op in REFERENCES:
        for other in results[1:]:
            a, b = results[0][op].astype(np.float64), other[op].astype(np.float64)
            limit = (7 * 2**-23 if dtype == "float32" else 2**-10) * np.abs(a) + (2**-21 if dtype == "float32" else 2**-24)
            assert (np.abs(a - b) <= limit).all(), f"{op}: variants differ by {np.abs(a - b).max():.3g}"


def test_only_the_two_entry_points_are_exported(ops_library):
    names = subprocess.run(["nm", "-D", "--defined-only", str(ops_library)], capture_output=True, text=True, check=True).stdout
    assert sorted(line.split()[-1] for line in names.splitlines()) == ["RegisterCustomOps", "graft_describe"]
    needed = subprocess.run(["readelf", "-d", str(ops_library)], capture_output=True, text=True, check=True).stdout
    assert "onnxruntime" not in needed and "protobuf" not in needed


def test_hard_swish_is_short(root):
    assert len((root / "ops" / "hard_swish.cc").read_text().splitlines()) <= 12
