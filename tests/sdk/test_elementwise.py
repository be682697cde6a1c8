"""Elementwise operators with inputs of several types, other types out, and several outputs."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import ort  # noqa: E402

DOMAIN = "sdk.elementwise"
NUMPY = {"float": np.float32, "double": np.float64, "float16": np.float16, "int8": np.int8, "int32": np.int32, "int64": np.int64}


@pytest.fixture(scope="module")
def library(build):
    return build / "libsdk_ops.so"


@pytest.mark.parametrize("kind", ["float", "int64"])
@pytest.mark.parametrize("shapes", [[(4, 5), (4, 5), (4, 5)], [(4, 1), (5,), ()], [(100_000,), (100_000,), (1,)]], ids=str)
def test_bool_input(shapes, kind, library):
    random = np.random.default_rng(0)
    c, x, y = random.random(shapes[0]) < 0.5, *(random.integers(-9, 9, s).astype(NUMPY[kind]) for s in shapes[1:])
    model = ort.one_node("Select", DOMAIN, [(k, list(s)) for k, s in zip(["bool", kind, kind], shapes)], output_types=[kind])
    assert np.array_equal(ort.run(model, library, c, x, y, threads=2)[0], np.where(c, x, y))


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
def test_bool_output(kind, library):
    x = np.arange(1000).astype(NUMPY[kind]) / 100
    model = ort.one_node("IsClose", DOMAIN, [(kind, ["n"]), (kind, [])], output_types=["bool"], tolerance=0.25)
    got = ort.run(model, library, x, np.array(5, NUMPY[kind]))[0]
    assert got.dtype == bool and np.array_equal(got, np.abs(x.astype(np.float32) - 5) <= 0.25)


@pytest.mark.parametrize("kind", ["float", "float16"])
def test_cast(kind, library):
    x = np.linspace(-300, 300, 1001).astype(NUMPY[kind])
    got = ort.run(ort.one_node("Quantize", DOMAIN, [(kind, ["n"])], output_types=["int8"], scale=2.0), library, x)[0]
    assert np.array_equal(got, np.trunc(np.clip(x.astype(np.float32) / 2, -128, 127)).astype(np.int8))


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
@pytest.mark.parametrize("shapes", [[(7, 9), (7, 9)], [(7, 9), (9,)], [(70, 90), (70, 1)], [(0,), (1,)]], ids=str)
def test_several_outputs(shapes, kind, library):
    random = np.random.default_rng(3)
    x, y = (random.integers(-9, 9, s).astype(NUMPY[kind]) for s in shapes)
    total, difference = ort.run(ort.one_node("SumAndDifference", DOMAIN, [(kind, list(s)) for s in shapes], ["s", "d"]), library, x, y)
    assert np.array_equal(total, x + y) and np.array_equal(difference, x - y) and total.dtype == difference.dtype == x.dtype


@pytest.mark.parametrize("kind", ["float", "float16"])
def test_outputs_of_several_types(kind, library):
    x = np.linspace(-3, 3, 3001).astype(NUMPY[kind])
    magnitude, negative = ort.run(ort.one_node("Mixed", DOMAIN, [(kind, ["n"])], ["m", "n"], [kind, "bool"]), library, x)
    assert np.array_equal(magnitude, np.abs(x)) and np.array_equal(negative, x < 0)


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "float"])
def test_integers(kind, library):
    x = np.arange(-128, 128).astype(NUMPY[kind])
    got = ort.run(ort.one_node("Saturate", DOMAIN, [(kind, ["n"])], limit=50), library, x)[0]
    assert np.array_equal(got, np.clip(x, -50, 50)) and got.dtype == x.dtype


def test_definitions(library):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "ops"))
    from test_ops import description
    texts = {op["name"]: op["definitions"][0]["text"] for op in description(library) if op["domain"] == DOMAIN}
    assert texts == {
        "Select": "out = Where(condition, x, y)",  # the input took the name y
        "IsClose": "y = LessOrEqual(Abs(Sub(x, x1)), @tolerance)",
        "Quantize": "y = Cast<to=3>(Clip(Div(x, @scale), -128, 127))",
        "SumAndDifference": "sum = Add(x, x1); difference = Sub(x, x1)",
        "Mixed": "magnitude = Abs(x); negative = Less(x, 0)",
        "Saturate": "y = Clip(x, Neg(@limit), @limit)",
        "Affine": "y = Add(Mul(x, scale), bias)",
        "Blend": "out = Add(Add(Mul(x, a), Mul(y, b)), shift)",
        "Divide": "quotient = Div(x, y); modulo = Mod(x, y); rest = Mod<fmod=1>(x, y)",
        "Signs": "y = Sign(x); y1 = Relu(x); y2 = Reciprocal(x); y3 = IsNaN(x); y4 = IsInf(x)",
        "Step": "y = Where(Greater(x, 0), 1, -1)",
        "Several": "y = Mul(x, Cast<to=1>(n)); y1 = Less(n, 0); y2 = Xor(Cast<to=9>(x), Equal(n, 3))",
        "Given": "y = Mul(x, 2)",  # not traced: x + x
    }


def broadcasts(random, kind, shapes):
    return [random.integers(-4, 5, s).astype(NUMPY[kind]) for s in shapes]


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
@pytest.mark.parametrize("shapes", [
    [(3, 1000), (3, 1), (3, 1)], [(3, 1000), (1000,), (3, 1)], [(5, 64), (5, 1), ()], [(2, 700, 7), (700, 1), (700, 1)],
    [(900, 8), (8,), (8,)], [(900, 3, 8), (3, 1), (8,)], [(40, 30, 3), (30, 3), (1, 3)], [(1, 700), (5, 1), (5, 700)],
    [(7,), (7,), (7,)], [(), (), (3,)], [(300, 5), (300, 1), (300, 5)], [(2, 3, 0), (3, 1), ()], [(6, 63), (6, 1), (1, 63)],
    [(4, 2100), (1, 1), (4, 1)], [(2000, 2), (1, 1), (1, 2)],
], ids=str)
def test_rows_of_three(shapes, kind, library):
    """Each input moves along a row or is one value, in rows long and short, and with a thread's border inside one."""
    x, scale, bias = broadcasts(np.random.default_rng(4), kind, shapes)
    model = ort.one_node("Affine", DOMAIN, [(kind, list(s)) for s in shapes])
    for threads in (1, 3):
        assert np.array_equal(ort.run(model, library, x, scale, bias, threads=threads)[0], x * scale + bias)


@pytest.mark.parametrize("kind", ["float", "float16"])
@pytest.mark.parametrize("shapes", [
    [(6, 70, 80), (70, 1), (6, 70, 80), (6, 70, 1), ()], [(1, 700, 5), (700, 1), (5,), (1,), (700, 1)],
    [(2000, 8), (8,), (2000, 8), (8,), (2000, 1)], [(3, 5000), (3, 1), (5000,), (), (3, 1)], [(600, 100), (1, 1), (1, 1), (1, 1), (600, 1)],
], ids=str)
def test_rows_of_five(shapes, kind, library):
    x, a, y, b, shift = broadcasts(np.random.default_rng(5), kind, shapes)
    model = ort.one_node("Blend", DOMAIN, [(kind, list(s)) for s in shapes])
    assert np.array_equal(ort.run(model, library, x, a, y, b, shift, threads=2)[0], x * a + y * b + shift)


def test_more_than_the_caches_hold(library):
    """Stores pass the caches by there: the first ones of a row, whole lines, and the last ones."""
    shapes = [(5, 1_700_003), (5, 1), (5, 1_700_003)]
    x, scale, bias = broadcasts(np.random.default_rng(6), "float", shapes)
    model = ort.one_node("Affine", DOMAIN, [("float", list(s)) for s in shapes])
    assert np.array_equal(ort.run(model, library, x, scale, bias)[0], x * scale + bias)


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint32"])
def test_integers_divide(kind, library):
    """By zero gives 0, the least by -1 wraps, and the remainders have the sign of the divisor and of the dividend."""
    numbers = {**NUMPY, "uint32": np.uint32}[kind]
    info = np.iinfo(numbers)
    values = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1] + [-1, -2, -3, -7, -100] * (info.min < 0)
    x, y = np.array(values, numbers).reshape(-1, 1), np.array(values, numbers)
    names = ["quotient", "modulo", "rest"]
    found = ort.run(ort.one_node("Divide", DOMAIN, [(kind, list(x.shape)), (kind, list(y.shape))], names), library, x, y)
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            quotient = 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            wanted = [0, 0, 0] if b == 0 else [quotient, a % b, a - quotient * b]
            wanted = [int(np.array([w]).astype(numbers)[0]) for w in wanted]
            assert [int(f[i, j]) for f in found] == wanted, (a, b)


@pytest.mark.parametrize("kind", ["float", "double"])
def test_what_keeps_a_nan(kind, library):
    x = np.array([0.0, -0.0, 2, -2, np.inf, -np.inf, np.nan, 1e-40, -1e-40] * 3, NUMPY[kind])
    found = ort.run(ort.one_node("Signs", DOMAIN, [(kind, ["n"])], list("abcde"), [kind] * 3 + ["bool"] * 2), library, x)
    with np.errstate(all="ignore"):
        wanted = [np.sign(x), np.where(x < 0, 0, x).astype(x.dtype), 1 / x, np.isnan(x), np.isinf(x)]
    for f, w in zip(found, wanted):
        assert np.array_equal(f, w, equal_nan=f.dtype != bool)


def test_literals_on_both_sides(library):
    x = np.array([1, -1, np.nan, 0], np.float32)
    assert ort.run(ort.one_node("Step", DOMAIN, [("float", [4])]), library, x)[0].tolist() == [1, -1, -1, -1]


def test_outputs_of_an_overload(library):
    x, n = np.arange(700, dtype=np.float32).reshape(7, 100) - 3, np.arange(100, dtype=np.int32) - 2
    model = ort.one_node("Several", DOMAIN, [("float", [7, 100]), ("int32", [100])], list("abc"), ["float", "bool", "bool"])
    product, negative, differs = ort.run(model, library, x, n)
    assert np.array_equal(product, x * n) and np.array_equal(negative, np.broadcast_to(n < 0, x.shape))
    assert np.array_equal(differs, (x != 0) != (n == 3))
