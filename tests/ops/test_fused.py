"""The operators that run programs of fused regions (ops/fused): every operator of the language in every type, broadcasting,
threads, errors, and programs made at random, against numpy."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fused_program as fp  # noqa: E402
import ort  # noqa: E402

HERE = Path(__file__).resolve()
SEED = int(os.environ.get("GRAFT_FUSED_SEED", "1"))
PROGRAMS = int(os.environ.get("GRAFT_FUSED_PROGRAMS", "600"))
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

ELEMENT = {k: ort.ELEMENT[v] for k, v in fp.ORT_NAME.items()}


class Batch:
    """Many programs in one model, run together. bfloat16 goes in and out through Cast nodes: numpy has no such type."""

    def __init__(self):
        self.nodes, self.inputs, self.inner, self.outputs, self.feeds, self.count, self.results = [], [], [], [], {}, 0, []

    def add(self, text, kinds, values, number=0):
        names, out_kinds = [], self.kinds_of_outputs(text)
        for i, (kind, value) in enumerate(zip(kinds, values)):
            name = f"x{self.count}_{i}"
            value = np.asarray(value)
            fed = {"f16": np.float16, "bf16": np.float32}.get(kind, fp.HELD[kind])
            self.feeds[name] = value.astype(fed)
            self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT if kind == "bf16" else ELEMENT[kind], list(value.shape)))
            if kind == "bf16":
                self.nodes.append(helper.make_node("Cast", [name], [name + "b"], to=TensorProto.BFLOAT16))
                name += "b"
            names.append(name)
        outs = [f"y{self.count}_{i}" for i in range(len(out_kinds))]
        self.nodes.append(helper.make_node(f"Fused_{out_kinds[0]}_{number}", names, outs, domain="graft", name=f"node_{self.count}", program=text))
        for out, kind in zip(outs, out_kinds):
            if kind == "bf16":
                # Before 1.17 ORT does not find the type behind an operator of several inputs by itself.
                self.inner.append(helper.make_tensor_value_info(out, TensorProto.BFLOAT16, None))
                self.nodes.append(helper.make_node("Cast", [out], [out + "f"], to=TensorProto.FLOAT))
                out += "f"
            self.outputs.append(helper.make_tensor_value_info(out, TensorProto.FLOAT if kind == "bf16" else ELEMENT[kind], None))
        self.results.append(len(outs))
        self.count += 1

    @staticmethod
    def kinds_of_outputs(text):
        statements = [s.split() for s in text.split(";")]
        return [statements[int(v)][1] for v in statements[-1][1:]]

    def run(self, library, **options):
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, value_info=self.inner)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("graft", 1)], ir_version=8)
        found = iter(ort.session(model, library, **options).run(None, self.feeds))
        return [[next(found) for _ in range(count)] for count in self.results]


def run_one(library, text, kinds, values, **options):
    batch = Batch()
    batch.add(text, kinds, values)
    return batch.run(library, **options)[0]


def ulp(value, kind):
    bits, lowest = {"f32": (23, -126), "f64": (52, -1022), "f16": (10, -14), "bf16": (7, -126)}[kind]
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.abs(value))[1] - 1
    return np.ldexp(1.0, np.maximum(np.where(value == 0, -5000, exponent), lowest) - bits)


def edge_values(kind):
    random = np.random.default_rng(3)
    if kind == "bool":
        return np.array([False, True, True, False])
    if kind in fp.INTEGERS:
        limits = np.iinfo(fp.HELD[kind])
        return np.concatenate([[0, 1, -1, 2, -2, 7, -7, limits.min, limits.max, limits.min + 1], random.integers(-50, 50, 13)]).astype(fp.HELD[kind])
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-42, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 3.0, -3.0, 1e30, -1e30, 65504.0]
    x = np.concatenate([special, random.standard_normal(40) * 4, random.uniform(-30, 30, 40)])
    return fp.round_to(x.astype(np.float32) if kind != "f64" else x, kind)


def table(root):
    return fp.table_of((root / "ops/fused/program.h").read_text())


def types_of(name, operands):
    if name == "mod":
        return fp.INTEGERS
    return {"numbers": fp.NUMBERS, "floats": fp.FLOATS, "compared": fp.TYPES, "tested": fp.FLOATS, "logical": ["bool"], "any": fp.TYPES,
            "chosen": fp.TYPES}[operands]


def test_the_reference_knows_every_operator(root):
    names = {name for name, _, _ in table(root)}
    assert names == set(fp.EXACT) | set(fp.ROUNDED) | {"cast"}
    assert all(fp.ARITY.get(name, 1) == int(arity) for name, arity, _ in table(root))


def check_operator(got, exact, name, kind, places):
    """Exact operators give the same number, others one within a few units of the last place."""
    assert got.shape == exact.shape, name
    if kind not in fp.FLOATS or name in fp.EXACT or name == "cast":
        same = (got == exact) | ((got != got) & (exact != exact))
        assert same.all(), f"{name} {kind}: {[p[~same][:3] for p in places]}: got {got[~same][:3]}, expected {exact[~same][:3]}"
        return
    assert (np.isnan(got) == np.isnan(exact)).all(), f"{name} {kind}: NaN at {[p[np.isnan(got) != np.isnan(exact)][:5] for p in places]}"
    infinite = np.isinf(exact)
    assert (got[infinite] == exact[infinite]).all(), f"{name} {kind}"
    finite = np.isfinite(exact)
    error = np.abs(got[finite].astype(np.float64) - exact[finite])
    units = {"f32": 8, "f64": 16, "f16": 0.52, "bf16": 0.52}[kind]
    x = np.where(np.isfinite(places[0]), places[0], 0)[finite].astype(np.float64)
    limit = units * ulp(exact[finite], kind) + 2 * ulp(np.clip(x, -8, 8), "f64" if kind == "f64" else "f32")
    worst = np.argmax(error - limit) if error.size else 0
    assert (error <= limit).all(), f"{name} {kind} at {x[worst]!r}: got {got[finite][worst]!r}, exact {exact[finite][worst]!r}"


def cases_of(name, arity, operands):
    """Lists programs of one operator: (type, text, input types, inputs)."""
    for kind in types_of(name, operands):
        if name == "cast":
            for source in fp.TYPES:
                values = edge_values(source)
                if kind in fp.INTEGERS and source in fp.FLOATS:  # beyond the range anything goes
                    values = values[np.isfinite(values) & (np.abs(values) < 2e9)]
                if kind == "i32" and source == "i64":
                    values = values[np.abs(values.astype(np.float64)) < 2e9]
                yield kind, f"in {source}; cast {kind} 0; out 1", [source], [values]
            continue
        result = "bool" if operands in ("compared", "tested", "logical") else kind
        source = "bool" if operands == "logical" else kind
        x = edge_values(source)
        if arity == 1:
            yield result, f"in {source}; {name} {result} 0; out 1", [source], [x]
        elif arity == 2:
            a, b = (v.ravel() for v in np.meshgrid(x, x))
            yield result, f"in {source}; in {source}; {name} {result} 0 1; out 2", [source] * 2, [a, b]
            yield result, f"in {source}; in {source}; {name} {result} 1 0; out 2", [source] * 2, [x, x[3]]  # one value first
            yield result, f"in {source}; in {source}; {name} {result} 0 1; out 2", [source] * 2, [x, x[2]]
        else:
            a, b, c = (v.ravel() for v in np.meshgrid(x[:12], x[3:11], x[3:11]))
            if name == "where":
                yield result, f"in bool; in {kind}; in {kind}; where {kind} 0 1 2; out 3", ["bool", kind, kind], [np.arange(a.size) % 3 == 0, a, b]
                for chosen in ([True, False] * 6, [True]):
                    yield result, f"in bool; in {kind}; in {kind}; where {kind} 0 1 2; out 3", ["bool", kind, kind], [np.array(chosen)[: x[:12].size], x[:1], x[:12]]
            else:
                finite = np.ones(a.shape, bool) if kind in fp.INTEGERS else ~(np.isnan(b) | np.isnan(c))
                yield result, f"in {kind}; in {kind}; in {kind}; clamp {kind} 0 1 2; out 3", [kind] * 3, [a[finite], b[finite], c[finite]]
                yield result, f"in {kind}; k {kind} -2; k {kind} 3; clamp {kind} 0 1 2; out 3", [kind], [x]


def test_every_operator(root, ops_library):
    batch, expected = Batch(), []
    for name, arity, operands in table(root):
        for kind, text, kinds, values in cases_of(name, int(arity), operands):
            batch.add(text, kinds, values)
            exact = fp.evaluate(text, values)[0]
            if name in fp.ROUNDED:  # not rounded: the error is measured
                with np.errstate(all="ignore"):
                    wide = [np.asarray(v, np.float64) for v in values]
                    order = [int(v) for v in text.split(";")[-2].split()[2:]]
                    exact = np.asarray(fp.ROUNDED[name](*[wide[v] for v in order]))
                    rounded = fp.round_to(exact, kind)
                    overflow = np.isinf(rounded) & ~np.isinf(exact)
                    exact = np.where(overflow, rounded, exact)
            expected.append((name, kind, exact, np.broadcast_arrays(*values)))
    for (name, kind, exact, places), got in zip(expected, batch.run(ops_library)):
        check_operator(got[0], exact, name, kind, places)
    assert len(expected) > 300


def report(text, kinds, values, got, expected, seed):
    shapes = [v.shape for v in values]
    return f"seed {seed}: {text}\ninputs {list(zip(kinds, shapes))}\ngot {got.ravel()[:8]}, expected {expected.ravel()[:8]}"


@pytest.mark.parametrize("threads", [1, 2])
def test_random_programs(threads, ops_library):
    """Exact programs of all types, ranks 0 to 8, with broadcasting, constants, special values and several outputs."""
    share = {"f32": 0.5, "f16": 0.15}
    for first in range(0, PROGRAMS, 100):
        batch, made = Batch(), []
        for seed in range(SEED * 100000 + first, SEED * 100000 + min(first + 100, PROGRAMS)):
            random = np.random.default_rng([seed, threads])
            kind = str(random.choice(fp.TYPES, p=[share.get(k, 0.07) for k in fp.TYPES]))
            text, kinds, values = fp.random_program(random, kind)
            made.append((seed, text, kinds, values))
            batch.add(text, kinds, values)
        for (seed, text, kinds, values), got in zip(made, batch.run(ops_library, threads=threads)):
            shape = np.broadcast_shapes(*[v.shape for v in values])
            for one, expected in zip(got, fp.evaluate(text, values)):
                expected = np.broadcast_to(expected, shape)
                assert one.shape == shape, report(text, kinds, values, one, expected, seed)
                assert np.array_equal(one.astype(np.float64), expected.astype(np.float64), equal_nan=True), report(text, kinds, values, one, expected, seed)
    print(f"seeds from {SEED * 100000}, {PROGRAMS} programs")


# Regions that are joined into one step, with what models write for them.
JOINED = {
    "hard_swish": "k f32 3; k f32 0; k f32 6; add f32 0 1; clamp f32 4 2 3; mul f32 0 5; div f32 6 3; out 7",
    "hard_swish, times a sixth": "k f32 3; k f32 0; k f32 6; k f32 0.16666667; add f32 0 1; clamp f32 5 2 3; mul f32 0 6; mul f32 7 4; out 8",
    "hard_swish, gate divided": "k f32 3; k f32 0; k f32 6; add f32 0 1; clamp f32 4 2 3; div f32 5 3; mul f32 6 0; out 7",
    "hard_swish, gate times a sixth": "k f32 3; k f32 0; k f32 6; k f32 0.16666667; add f32 0 1; clamp f32 5 2 3; mul f32 6 4; mul f32 0 7; out 8",
    "hard_swish, alpha and beta": "k f32 0.16666667; k f32 0.5; k f32 0; k f32 1; mul f32 0 1; add f32 5 2; clamp f32 6 3 4; mul f32 0 7; out 8",
    "hard_sigmoid": "k f32 0.2; k f32 0.5; k f32 0; k f32 1; mul f32 0 1; add f32 5 2; clamp f32 6 3 4; out 7",
    "silu": "sigmoid f32 0; mul f32 0 1; out 2",
    "mish": "softplus f32 0; tanh f32 1; mul f32 0 2; out 3",
    "gelu": "k f32 1.4142135; k f32 1; k f32 0.5; div f32 0 1; erf f32 4; add f32 5 2; mul f32 0 6; mul f32 7 3; out 8",
    "gelu, half first": "k f32 0.70710677; k f32 1; k f32 0.5; mul f32 0 1; erf f32 4; add f32 2 5; mul f32 3 0; mul f32 7 6; out 8",
    "relu6": "k f32 0; k f32 6; max f32 0 1; min f32 3 2; out 4",
    "exp of a product": "k f32 0.5; mul f32 0 1; exp f32 2; out 3",
    "tanh of a sum, plus one": "k f32 0.5; k f32 1; add f32 0 1; tanh f32 3; add f32 4 2; out 5",
    "the sigmoid of twice x": "k f32 2; mul f32 1 0; sigmoid f32 2; out 3",
    "the root of a sum": "k f32 1; abs f32 0; add f32 2 1; sqrt f32 3; k f32 3; mul f32 4 5; out 6",
    "a magnitude times a number": "k f32 -3; abs f32 0; mul f32 1 2; abs f32 3; add f32 4 1; abs f32 5; out 6",
    "erf of a quotient, plus x": "k f32 8; div f32 0 1; erf f32 2; add f32 3 0; out 4",
    "1 - x": "k f32 1; sub f32 1 0; mul f32 2 0; out 3",
    "clamp, divided": "k f32 0; k f32 6; clamp f32 0 1 2; div f32 3 2; out 4",
}


@pytest.mark.parametrize("name", JOINED)
def test_joined_regions(name, ops_library):
    x = edge_values("f32")
    text = "in f32; " + JOINED[name]
    got = run_one(ops_library, text, ["f32"], [x])[0]
    exact = fp.evaluate(text, [x], wide=True)[0]
    check_operator(got, np.where(np.abs(exact) > 3.4e38, np.inf * np.sign(exact), exact), "region", "f32", [x])


JOINED_OF_MORE = [  # b, c are of other shapes
    "mul f32 0 1; add f32 3 2; k f32 3; k f32 0; k f32 6; add f32 4 5; clamp f32 8 6 7; mul f32 4 9; div f32 10 7; out 11",
    "mul f32 0 1; add f32 3 2; k f32 3; k f32 0; k f32 6; add f32 4 5; clamp f32 8 6 7; mul f32 4 9; out 10",
    "add f32 0 1; k f32 3; k f32 0; k f32 6; add f32 3 4; clamp f32 7 5 6; mul f32 3 8; k f32 0.5; mul f32 9 10; out 11",
    "add f32 0 1; k f32 0; k f32 2; clamp f32 3 4 5; mul f32 6 2; out 7",
    "mul f32 0 1; add f32 3 2; relu f32 4; out 5",
    "add f32 0 1; relu f32 3; add f32 4 2; out 5",
    "mul f32 0 1; k f32 0.5; add f32 3 4; k f32 0; k f32 1; clamp f32 5 6 7; mul f32 8 2; out 9",
    "sub f32 0 1; mul f32 3 2; out 4", "mul f32 0 1; sub f32 2 3; out 4", "mul f32 0 1; sub f32 3 2; out 4",
    "add f32 0 1; k f32 8; div f32 3 4; add f32 5 2; out 6", "add f32 0 1; add f32 3 2; out 4", "mul f32 1 2; mul f32 3 0; out 4",
    "add f32 1 2; add f32 3 0; relu f32 4; out 3 5", "add f32 0 1; mul f32 3 3; add f32 4 2; out 5 3 4",
]


@pytest.mark.parametrize("text", JOINED_OF_MORE)
def test_joined_regions_of_several_inputs(text, ops_library):
    """Numbers for which every step is exact, with operands that are whole, one value for each row, a row, or one value."""
    random = np.random.default_rng(7)
    batch, made = Batch(), []
    for full, shapes in [((2, 3, 400), [(2, 3, 400), (3, 1), (400,), (1,), (2, 1, 1), (2, 1, 400)]),
                         ((2, 5, 3, 7), [(2, 5, 3, 7), (5, 1, 1), (7,), (), (2, 5, 1, 1), (3, 1), (5, 3, 7)]),
                         ((1031,), [(1031,), (1,)])]:
        for a in shapes:
            for b in shapes:
                for order in range(3):
                    chosen = [full, a, b][order:] + [full, a, b][:order]
                    values = [random.integers(-4, 5, s).astype(np.float32) for s in chosen]
                    batch.add("in f32; in f32; in f32; " + text, ["f32"] * 3, values)
                    made.append(values)
    for values, got in zip(made, batch.run(ops_library)):
        expected = fp.evaluate("in f32; in f32; in f32; " + text, values)
        for one, exact in zip(got, expected):
            difference = np.abs(one - exact)
            assert one.shape == np.broadcast_shapes(*[v.shape for v in values])
            assert (difference <= 1e-6 * np.abs(exact)).all(), (text, [v.shape for v in values])


@pytest.mark.parametrize("kind", fp.TYPES)
@pytest.mark.parametrize("threads", [1, 2])
def test_sizes_and_threads(kind, threads, ops_library):
    op = "xor bool 0 1" if kind == "bool" else f"sub {kind} 0 1"
    text = f"in {kind}; in {kind}; {op}; {'not bool 2' if kind == 'bool' else f'abs {kind} 2'}; out 3 2"
    batch, made = Batch(), []
    for size in [0, 1, 7, 8, 15, 16, 17, 63, 64, 65, 1023, 1024, 1025, 4099, 65537, 200_003]:
        values = [fp.random_input(np.random.default_rng(size + i), kind, (size,)) for i in range(2)]
        made.append(values)
        batch.add(text, [kind] * 2, values)
    for values, got in zip(made, batch.run(ops_library, threads=threads)):
        for one, exact in zip(got, fp.evaluate(text, values)):
            assert np.array_equal(one.astype(np.float64), exact.astype(np.float64), equal_nan=True), values[0].size


def test_beyond_the_last_cache(ops_library):
    """The results are written past the caches; the second one is read again before."""
    x = np.random.default_rng(1).standard_normal(6_000_019).astype(np.float32)
    text = "in f32; k f32 2; mul f32 0 1; abs f32 2; out 3 2"
    got = run_one(ops_library, text, ["f32"], [x], threads=2)
    assert np.array_equal(got[0], np.abs(x * 2)) and np.array_equal(got[1], x * 2)


def test_many_inputs_and_values(ops_library):
    """64 inputs, and more values at once than buffers of the usual length."""
    random = np.random.default_rng(2)
    for count in (17, 64):
        kinds, values = ["f32"] * count, [random.integers(-3, 4, (3, 500)).astype(np.float32) for _ in range(count)]
        squares = "".join(f"mul f32 {i} {i}; " for i in range(count))
        sums, last = "", count
        for i in range(1, count):
            sums += f"max f32 {last} {count + i}; "
            last = 2 * count + i - 1
        text = "in f32; " * count + squares + sums + f"out {last}"
        assert np.array_equal(run_one(ops_library, text, kinds, values)[0], fp.evaluate(text, values)[0])
        values = [v[:, :1] if i % 2 else v[:1] for i, v in enumerate(values)]
        assert np.array_equal(run_one(ops_library, text, kinds, values)[0], fp.evaluate(text, values)[0])


def test_results_that_are_one_value(ops_library):
    """Outputs that are inputs, constants, or computed of one value for all elements."""
    x, one = np.arange(100, dtype=np.float32).reshape(4, 25), np.float32(3)
    got = run_one(ops_library, "in f32; in f32; k f32 5; add f32 1 2; add f32 0 3; out 4 3 2 1 0 4", ["f32", "f32"], [x, one])
    for value, expected in zip(got, [x + 8, 8, 5, 3, x, x + 8]):
        assert value.shape == (4, 25) and (value == expected).all()
    half = run_one(ops_library, "in f16; in f16; add f16 1 1; out 2 0", ["f16", "f16"], [x, one])
    assert (half[0] == 6).all() and (half[1] == x).all()


GOOD = "in f32; relu f32 0; out 1"
WRONG = [
    ({"program": "in f32; relo f32 0; out 1"}, ['"relo f32 0"', "no operator of this name"]),
    ({"program": "in f32; relu f32 3; out 1"}, ["value 1", "not there before"]),
    ({"program": "in f32; relu f32; out 1"}, ['"relu f32"', "takes 1 values"]),
    ({"program": "in f32; relu f32 x; out 1"}, ['"x" is no number']),
    ({"program": "in f32; relu f32 0"}, ["`out` is missing"]),
    ({"program": ""}, ["no input"]),
    ({}, ["attribute program", "required"]),
    ({"program": 3}, ["attribute program", "string"]),
    ({"program": "in f32; in f32; add f32 0 1; out 2"}, ["the program has 2 inputs, the node has 1"]),
    ({"program": "in f32; relu f32 0; out 1 0"}, ["the program has 2 outputs, the node has 1"]),
    ({"program": "in f64; cast f32 0; out 1"}, ["input 0", "takes f64", "tensor(float)"]),
    ({"program": "in f32; cast f64 0; out 1"}, ["output 0", "gives f64", "f32"]),
    ({"program": "in f32; " * 65 + "add f32 0 1; out 65"}, ["65 inputs"]),
]


@pytest.mark.parametrize("attributes, words", WRONG)
def test_errors_name_operator_node_and_cause(attributes, words, ops_library):
    model = ort.one_node("Fused_f32_7", "graft", [("float", ["n"])], **attributes)
    text = ort.error_of(ort.session, model, ops_library)
    for word in ["graft::Fused_f32_7", 'node "the_node"', *words]:
        assert word in text, text


def test_shapes_that_do_not_broadcast(ops_library):
    model = ort.one_node("Fused_f32_7", "graft", [("float", ["n"]), ("float", ["m"])], program="in f32; in f32; add f32 0 1; out 2")
    text = ort.error_of(ort.run, model, ops_library, np.zeros(3, np.float32), np.zeros(4, np.float32))
    assert "graft::Fused_f32_7" in text and "dimensions 3 and 4 do not broadcast" in text


def test_shapes_are_inferred(ops_library):
    """The optimised model says what shape the first output has."""
    model = ort.one_node("Fused_f32_7", "graft", [("float", [2, "n", 1]), ("float", [4])], program="in f32; in f32; add f32 0 1; out 2")
    output = ort.session(model, ops_library).get_outputs()[0]
    assert output.shape == [2, "n", 4]


@pytest.mark.parametrize("target", ["baseline", "avx2"])
def test_on_lesser_processors(target, build):
    if "GRAFT_TARGET" in os.environ:
        return
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(HERE), "-k",
               "every_operator or random_programs or joined or sizes or beyond"]
    done = subprocess.run(command, env={**os.environ, "GRAFT_TARGET": target, "GRAFT_BUILD": str(build), "GRAFT_FUSED_PROGRAMS": "200"},
                          capture_output=True, text=True, cwd=HERE.parents[2])
    assert done.returncode == 0, done.stdout
