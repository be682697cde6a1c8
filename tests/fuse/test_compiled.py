"""Generated operators: from program to source to library, and run by ORT against numpy in float64."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import ort  # noqa: E402
import programs  # noqa: E402

HERE = Path(__file__).resolve().parent
DOMAIN = "test.fused"
COMPILERS = os.environ.get("FUSE_COMPILERS", "g++ clang++").split()


@pytest.fixture(scope="module")
def tool(build, tmp_path_factory):
    """Gives the function that calls emit_program, with a cache of its own."""
    cache = tmp_path_factory.mktemp("cache")

    def call(*arguments, lines=(), compiler="g++", check=0, **environment):
        env = {**os.environ, "COMPILER": compiler, "XDG_CACHE_HOME": str(cache), **environment}
        done = subprocess.run([build / "tests/fuse/emit_program", *map(str, arguments)], text=True, capture_output=True, env=env,
                              input="".join(line + "\n" for line in lines), timeout=1200)
        assert done.returncode == check, done.stdout + done.stderr
        return done

    return call


def make_library(tool, folder, texts, compiler):
    """Makes a library of programs; gives its path and the operators' names."""
    library = folder / f"lib{compiler}.so"
    done = tool("library", library, folder / f"{compiler}.cc", lines=texts, compiler=compiler)
    return library, done.stdout.split()


def run(library, name, text, inputs):
    """Runs one operator on inputs as `programs` has them; gives its outputs as numpy has them, bfloat16 as float64."""
    values, outputs = programs.parse(text)
    kinds = [kind for op, kind, _, _ in values if op == "in"]
    made = [values[o][1] for o in outputs]
    names = [f"y{i}" for i in range(len(outputs))]
    model = ort.one_node(name, DOMAIN, [(programs.ONNX[k], list(np.shape(x))) for k, x in zip(kinds, inputs)], names,
                         [programs.ONNX[k] for k in made])
    session = ort.session(model, library)
    binding = session.io_binding()
    for i, kind, x in zip(session.get_inputs(), kinds, inputs):
        array = np.ascontiguousarray(programs.stored(kind, x)).reshape(np.shape(x))
        if kind == "bf16":
            value = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, 16)
        else:
            value = onnxruntime.OrtValue.ortvalue_from_numpy(array)
        binding.bind_ortvalue_input(i.name, value)
    shape = np.broadcast_shapes(*(np.shape(x) for x in inputs))
    results = []
    for output, kind in zip(session.get_outputs(), made):
        if kind == "bf16":
            array = np.zeros(shape, np.uint16)
            results.append(onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, 16))
            binding.bind_ortvalue_output(output.name, results[-1])
        else:
            binding.bind_output(output.name)
            results.append(None)
    session.run_with_iobinding(binding)
    found = []
    for value, result, kind in zip(binding.get_outputs(), results, made):
        if kind == "bf16":
            bits = np.ctypeslib.as_array((__import__("ctypes").c_uint16 * int(np.prod(shape))).from_address(result.data_ptr()))
            found.append((bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64).reshape(shape))
        else:
            found.append(value.numpy())
    return found


def edges(kind):
    """Gives values of a type: its edges, then others."""
    random = np.random.default_rng(5)
    if kind == "bool":
        return random.random(300) < 0.5
    if kind in programs.INTEGERS:
        info = np.iinfo(programs.INTEGERS[kind])
        special = [0, 1, -1, 2, -2, 3, 7, -7, 100, info.min, info.max, info.min + 1, 46341, -46341]
        return np.array(special * 4 + list(random.integers(-50, 50, 200)), programs.INTEGERS[kind])
    least, most = {"f32": (2.0**-149, 3.4028234663852886e38), "f64": (5e-324, 1.7976931348623157e308),
                   "f16": (2.0**-24, 65504.0), "bf16": (2.0**-133, 3.3895313892515355e38)}[kind]
    special = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, np.inf, -np.inf, np.nan, least, -least, most, -most, 6, 88, -104,
               1e-3, 0.9999, 20, -20]
    normal = random.standard_normal(200) * np.exp(random.uniform(-3, 3, 200))
    return programs.round_to(kind, np.array(special * 4 + list(normal)))


def close(kind, source, found, wanted, ulps):
    """Says where a result is off by more than these units of the last place; NaN equals NaN."""
    if kind == "bool" or kind in programs.INTEGERS:
        return found == wanted
    found = found.astype(np.float64)
    narrow = kind if kind in ("f16", "bf16") or source == "f64" else "f32"
    with np.errstate(all="ignore"):
        rounded = programs.round_to(kind, wanted)
        unit = np.maximum(np.abs(np.where(np.isfinite(rounded), rounded, 0)) * programs.EPSILON[narrow],
                          {"f32": 2.0**-149, "f64": 5e-324, "f16": 2.0**-24, "bf16": 2.0**-133}[narrow])
        near = np.abs(found - wanted) <= unit * ulps
    return near | (found == rounded) | (np.isnan(found) & np.isnan(wanted))


# Largest error of each function, in units of the last place; docs/reference/math.md has them for floats. For doubles numpy
# errs as much, and where a tail is steep the argument's rounding shows.
ULPS = {"exp": 2, "expm1": 2, "log": 1, "log1p": 2, "sin": 2, "cos": 2, "tanh": 2, "sigmoid": 3, "erf": 2, "softplus": 3,
        "silu": 3, "gelu": 5, "gelu_tanh": 4, "mish": 4, "pow": 2}


def inputs_for(kinds):
    """Gives edge values for each input, crossed where there are two of a number."""
    columns = [edges(k) for k in kinds]
    if len(kinds) == 1:
        return columns
    numbers = [i for i, k in enumerate(kinds) if k != "bool"][:2]
    if len(numbers) == 2 and len(kinds) == 2:
        return [columns[0][:80].reshape(-1, 1), columns[1][None, :]]
    size = min(len(c) for c in columns)
    random = np.random.default_rng(9)
    return [random.permutation(c)[:size] for c in columns]


LISTED = programs.operator_programs()


@pytest.fixture(scope="module")
def operators(tool, tmp_path_factory):
    """Gives, by compiler, the library that has every operator in every type, and its operators' names."""
    made = {}
    for compiler in filter(shutil.which, COMPILERS):
        made[compiler] = make_library(tool, tmp_path_factory.mktemp("operators"), [text for text, _ in LISTED], compiler)
    return made


@pytest.mark.parametrize("index", range(len(LISTED)), ids=[names[0] for _, names in LISTED])
def test_operators(index, operators):
    text, tests = LISTED[index]
    kinds = [kind for op, kind, _, _ in programs.parse(text)[0] if op == "in"]
    inputs = inputs_for(kinds)
    wanted = programs.evaluate(text, inputs)
    complaints = []
    for compiler, (library, names) in operators.items():
        for test, y, (kind, expected) in zip(tests, run(library, names[index], text, inputs), wanted, strict=True):
            op = test.split("-")[0]
            fits = close(kind, kinds[-1], y, expected, ULPS.get(op, 0.5000001) * (1000 if kind == "f64" and op in ULPS else 1) + (kind in ("f16", "bf16")) * 0.01)
            if op == "cast" and kind in programs.INTEGERS and kinds[0] in programs.FLOATS:
                fits |= ~(np.abs(inputs[0]) < 2.0**31)  # beyond it ONNX leaves the result open
            if not fits.all():
                at = tuple(np.argwhere(~fits)[0])
                arguments = ", ".join(repr(np.broadcast_to(x, fits.shape)[at].item()) for x in inputs)
                complaints.append(f"{compiler}: {test}({arguments}) is {y[at]!r}, expected {expected[at]!r}; "
                                  f"{np.count_nonzero(~fits)} of {fits.size} differ")
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("listed", sorted((HERE / "golden").glob("*.txt")), ids=lambda p: p.stem)
def test_source(listed, tool, tmp_path):
    """A source is as it was when somebody read it last; FUSE_GOLDEN=write keeps the new one, to be read again."""
    tool("source", tmp_path / "new.cc", f"golden.{listed.stem}", lines=listed.read_text().splitlines())
    written = (tmp_path / "new.cc").read_text()
    if os.environ.get("FUSE_GOLDEN") == "write":
        listed.with_suffix(".cc").write_text(written)
    assert written == listed.with_suffix(".cc").read_text()


SEEDS = range(int(os.environ.get("FUSE_SEED", 0)), int(os.environ.get("FUSE_SEED", 0)) + int(os.environ.get("FUSE_PROGRAMS", 40)))


@pytest.fixture(scope="module", params=[c for c in COMPILERS if shutil.which(c)])
def random_operators(request, tool, tmp_path_factory):
    """Gives a library of random programs, by each compiler: (library, names, programs)."""
    texts = [programs.random_program(np.random.default_rng(seed)) for seed in SEEDS]
    return (*make_library(tool, tmp_path_factory.mktemp("random"), texts, request.param), texts)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed, random_operators):
    library, names, texts = random_operators
    name, text = names[seed - SEEDS[0]], texts[seed - SEEDS[0]]
    random = np.random.default_rng([seed, 1])
    for _ in range(6):
        inputs = programs.random_inputs(random, text)
        exact = programs.exact_elements(text, inputs)
        for y, (kind, expected) in zip(run(library, name, text, inputs), programs.evaluate(text, inputs), strict=True):
            wanted = programs.round_to(kind, expected) if kind in programs.FLOATS else expected
            with np.errstate(all="ignore"):
                found = y.astype(np.float64) if kind in programs.FLOATS else y
            same = (found == wanted) | ((found != found) & (wanted != wanted)) | ~exact
            if not same.all():
                at = tuple(np.argwhere(~same)[0])
                arguments = [np.broadcast_to(x, same.shape)[at].item() for x in inputs]
                pytest.fail(f"seed {seed}: {text}\nshapes {[np.shape(x) for x in inputs]}, at {at}: {arguments} gives {found[at]!r}, "
                            f"expected {wanted[at]!r}; {np.count_nonzero(~same)} of {same.size} differ", pytrace=False)
