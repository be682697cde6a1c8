"""Programs of fused regions (ops/fused/program.h) for tests: read, computed by numpy in float64, and made at random."""

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])

TYPES = ["f32", "f64", "f16", "bf16", "i32", "i64", "bool"]
FLOATS = TYPES[:4]
NUMBERS = TYPES[:6]
ONNX = {"f32": "float", "f64": "double", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "i64": "int64", "bool": "bool"}
INTEGERS = {"i32": np.int32, "i64": np.int64}
EPSILON = {"f32": 2.0**-23, "f64": 2.0**-52, "f16": 2.0**-10, "bf16": 2.0**-7}

UNARY = ["neg", "abs", "sign", "floor", "ceil", "round", "sqrt", "reciprocal", "exp", "expm1", "log", "log1p", "sin", "cos",
         "tanh", "sigmoid", "erf", "relu", "softplus", "silu", "gelu", "gelu_tanh", "mish"]
FOR_INTEGERS = {"neg", "abs", "sign", "relu", "add", "sub", "mul", "div", "min", "max", "mod", "fmod", "clamp"}
TESTED = ["isnan", "isinf"]
BINARY = ["add", "sub", "mul", "div", "min", "max", "pow", "mod", "fmod"]
COMPARED = ["eq", "lt", "le", "gt", "ge"]
LOGICAL = ["and", "or", "xor"]


def round_to(kind, x):
    """Rounds float64 values once to a type, and gives them as float64."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        if kind == "f64":
            return x
        if kind == "f32":
            return x.astype(np.float32).astype(np.float64)
        if kind == "f16":  # from float32, as every 16-bit float is computed
            return x.astype(np.float32).astype(np.float16).astype(np.float64)
        bits = x.astype(np.float32).view(np.uint32)
        rounded = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
        return np.where(np.isnan(x), np.nan, rounded.astype(np.float64))


def stored(kind, x):
    """Gives values as ORT takes them in: bfloat16 as bits."""
    if kind == "bool":
        return np.asarray(x, bool)
    if kind in INTEGERS:
        return np.asarray(x, INTEGERS[kind])
    with np.errstate(all="ignore"):
        if kind == "bf16":
            return (round_to(kind, x).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return round_to(kind, x).astype({"f32": np.float32, "f64": np.float64, "f16": np.float16}[kind])


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _wrap(kind, x):
    return np.asarray(x).astype(INTEGERS[kind])


def _divide(kind, a, b, want):
    """Divides integers towards zero (or `down`), by 0 to 0; Python's own integers know no overflow."""
    def one(x, y):
        x, y = int(x), int(y)
        if y == 0:
            return 0
        q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        bits = 32 if kind == "i32" else 64
        result = {"div": q, "fmod": x - q * y, "mod": x % y}[want]
        return (result + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))

    a, b = np.broadcast_arrays(a, b)
    return np.array([one(x, y) for x, y in zip(a.ravel(), b.ravel())], INTEGERS[kind]).reshape(a.shape)


def compute(op, kind, source, values):
    """Computes one operator on float64 (floats), integers of their type, or bool."""
    a, b, c = (values + [None, None])[:3]
    integer = source in INTEGERS
    with np.errstate(all="ignore"):
        if op == "cast":
            if kind == "bool":
                return a != 0 if source != "bool" else a
            if kind in INTEGERS:
                return a.astype(INTEGERS[kind]) if source in INTEGERS or source == "bool" else np.trunc(a).astype(INTEGERS[kind])
            return round_to(kind, a.astype(np.float64))
        if op == "where":
            return np.where(a, b, c)
        if op in ("div", "mod", "fmod") and integer:
            return _divide(source, a, b, op)
        if op in ("neg", "add", "sub", "mul") and integer:
            f = {"neg": lambda: np.zeros_like(a) - a, "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b}[op]
            return _wrap(kind, f())
        f = {
            "neg": lambda: -a, "abs": lambda: np.abs(a), "sign": lambda: np.sign(a), "floor": lambda: np.floor(a),
            "ceil": lambda: np.ceil(a), "round": lambda: np.round(a), "sqrt": lambda: np.sqrt(a),
            "reciprocal": lambda: 1 / a, "exp": lambda: np.exp(a), "expm1": lambda: np.expm1(a), "log": lambda: np.log(a),
            "log1p": lambda: np.log1p(a), "sin": lambda: np.sin(a), "cos": lambda: np.cos(a), "tanh": lambda: np.tanh(a),
            "sigmoid": lambda: _sigmoid(a), "erf": lambda: _erf(a), "relu": lambda: np.where(a < 0, np.zeros_like(a), a),
            "softplus": lambda: _softplus(a), "silu": lambda: a * _sigmoid(a),
            "gelu": lambda: a * (np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)), otypes=[np.float64])(a) * 0.5),
            "gelu_tanh": lambda: a * _sigmoid(1.5957691216057308 * (a + 0.044715 * a * a * a)),
            "mish": lambda: a * np.tanh(_softplus(a)), "isnan": lambda: np.isnan(a), "isinf": lambda: np.isinf(a),
            "not": lambda: ~a, "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "div": lambda: a / b,
            "min": lambda: np.minimum(a, b), "max": lambda: np.maximum(a, b), "pow": lambda: np.power(a, b),
            "fmod": lambda: np.fmod(a, b), "eq": lambda: a == b, "lt": lambda: a < b, "le": lambda: a <= b,
            "gt": lambda: a > b, "ge": lambda: a >= b, "and": lambda: a & b, "or": lambda: a | b, "xor": lambda: a ^ b,
            "clamp": lambda: np.minimum(np.maximum(a, b), c),
        }[op]
        return f()


def parse(text):
    """Reads a program: (values, outputs); a value is (op, type, operands, number)."""
    values, outputs = [], []
    for statement in filter(None, (s.strip() for s in text.split(";"))):
        words = statement.split()
        if words[0] == "out":
            outputs = [int(w) for w in words[1:]]
        elif words[0] == "k":
            values.append(("k", words[1], [], float(words[2])))
        else:
            values.append((words[0], words[1], [int(w) for w in words[2:]], None))
    return values, outputs


def evaluate(text, inputs):
    """Evaluates a program on inputs as float64, integers or bool; gives (type, value) for each output."""
    values, outputs = parse(text)
    results = []
    for op, kind, operands, number in values:
        if op == "in":
            results.append(inputs[len(results)])
        elif op == "k":
            results.append(np.array(number != 0 if kind == "bool" else int(number) if kind in INTEGERS else number,
                                    bool if kind == "bool" else INTEGERS.get(kind, np.float64)))
        else:
            results.append(compute(op, kind, values[operands[0] if op != "where" else operands[1]][1], [results[o] for o in operands]))
    shape = np.broadcast_shapes(*(np.shape(i) for i in inputs))
    return [(values[o][1], np.broadcast_to(results[o], shape)) for o in outputs]


def operator_programs():
    """Gives programs that hold every operator in every type that it takes, several in one, which compiles faster: a list of
    (program, [test name of each output])."""
    programs = []

    def add(inputs, statements):
        """Adds a program; a statement is (test name, operator, type, operands)."""
        lines = [f"in {kind}" for kind in inputs]
        outputs, names = [], []
        for name, *words in statements:
            outputs += [len(lines)] if name else []
            names += [name] if name else []
            lines.append(" ".join(map(str, words)))
        programs.append(("; ".join([*lines, "out " + " ".join(map(str, outputs))]), names))

    for kind in NUMBERS:
        unary = [op for op in UNARY if op in FOR_INTEGERS or kind in FLOATS]
        tested = TESTED if kind in FLOATS else []
        add([kind], [(f"{op}-{kind}", op, kind, 0) for op in unary] + [(f"{op}-{kind}", op, "bool", 0) for op in tested])
        binary = [op for op in BINARY if (op in FOR_INTEGERS or kind in FLOATS) and (op != "mod" or kind in INTEGERS)]
        add([kind, kind], [(f"{op}-{kind}", op, kind, 0, 1) for op in binary])
        add([kind, kind], [(f"{op}-{kind}", op, "bool", 0, 1) for op in COMPARED])
    for kind in TYPES:
        add([kind], [(f"cast-{kind}-{target}", "cast", target, 0) for target in TYPES])
        add(["bool", kind, kind], [(f"where-{kind}", "where", kind, 0, 1, 2)])
    add(["bool", "bool"], [(f"{op}-bool", op, "bool", 0, 1) for op in [*LOGICAL, "eq"]] + [("not-bool", "not", "bool", 0)])
    for kind in NUMBERS:
        add(["bool", kind], [("", "k", kind, -3), ("", "k", kind, 5), (f"clamp-{kind}", "clamp", kind, 1, 2, 3),
                             (f"literals-{kind}", "where", kind, 0, 2, 3), ("", "k", "bool", 1), (f"known-{kind}", "and", "bool", 0, 6),
                             (f"constant-{kind}", "k", kind, 7)])
    return programs


# What gives exact results for exact numbers, so that a random program can be compared bit by bit.
EXACT = {"unary": ["neg", "abs", "sign", "relu", "floor", "ceil", "round"], "binary": ["add", "sub", "mul", "min", "max"]}


def random_program(random):
    """Makes a program of exact operators over values of several types, with constants and up to three outputs."""
    kinds = list(random.choice(TYPES, size=random.integers(1, 4), p=[0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]))
    lines = [f"in {random.choice(kinds)}" for _ in range(random.choice([1, 2, 3, 4, 6, 8]))]
    types = [line.split()[1] for line in lines]

    def add(kind, text):
        lines.append(text)
        types.append(kind)
        return len(lines) - 1

    def constant(kind):
        number = random.choice([0, 1, 2, 3, -1, -4, 6]) if kind != "bool" else random.integers(0, 2)
        if kind in FLOATS and random.random() < 0.3:
            number = random.choice([0.5, -2.25, -0.0, np.inf])
        return add(kind, f"k {kind} {number}")

    def value(kind):
        """Gives a value of a type: one that is there, a constant, or a cast."""
        there = [i for i, t in enumerate(types) if t == kind]
        if there and random.random() < 0.8:
            return there[-1] if random.random() < 0.5 else random.choice(there)
        if random.random() < 0.4:
            return constant(kind)
        source = random.choice([i for i, line in enumerate(lines) if not line.startswith("k")])
        return add(kind, f"cast {kind} {source}")

    for _ in range(random.integers(1, 16)):
        kind = random.choice(types) if random.random() < 0.9 else random.choice(TYPES)
        what = random.random()
        if kind == "bool":
            compared = random.choice(NUMBERS)
            text = [lambda: f"not bool {value(kind)}", lambda: f"{random.choice(LOGICAL)} bool {value(kind)} {value(kind)}",
                    lambda: f"{random.choice(COMPARED)} bool {value(compared)} {value(compared)}",
                    lambda: f"where bool {value(kind)} {value(kind)} {value(kind)}"][int(what * 4)]()
        elif what < 0.25:
            text = f"{random.choice(EXACT['unary'] if kind in FLOATS else EXACT['unary'][:4])} {kind} {value(kind)}"
        elif what < 0.75:
            text = f"{random.choice(EXACT['binary'])} {kind} {value(kind)} {value(kind)}"
        elif what < 0.85:
            text = f"clamp {kind} {value(kind)} {constant(kind)} {add(kind, f'k {kind} 7')}"
        elif kind in INTEGERS and what < 0.92:
            text = f"{random.choice(['div', 'mod', 'fmod'])} {kind} {value(kind)} {value(kind)}"
        elif kind in FLOATS and what < 0.92:
            text = f"div {kind} {value(kind)} {add(kind, f'k {kind} {random.choice([2, 4, 0.5])}')}"
        else:
            text = f"where {kind} {value('bool')} {value(kind)} {value(kind)}"
        add(kind, text)
    results = [len(lines) - 1, *random.integers(0, len(lines), random.integers(0, 3))]
    return "; ".join([*lines, "out " + " ".join(str(r) for r in dict.fromkeys(results))])


def random_inputs(random, text):
    """Makes small whole numbers, infinities and NaN among them, in shapes that broadcast."""
    kinds = [kind for op, kind, _, _ in parse(text)[0] if op == "in"]
    sizes = [int(random.choice([1, 2, 3, 7, 8, 49, 65, 200])) for _ in range(random.integers(0, 4))]
    while np.prod(sizes) > 60_000:
        sizes[int(np.argmax(sizes))] = 3
    inputs = []
    for k, kind in enumerate(kinds):
        shape = [s if random.random() < 0.6 else 1 for s in sizes[random.integers(0, len(sizes) + 1):]]
        shape = sizes if k == 0 and random.random() < 0.7 else shape
        x = random.integers(-9, 10, shape)
        if kind in FLOATS:
            x = np.where(random.random(shape) < 0.02, random.choice([np.inf, -np.inf, np.nan, -0.0], shape), x / 2)
        inputs.append(x > 0 if kind == "bool" else np.asarray(x, INTEGERS.get(kind, np.float64)))
    return inputs


def exact_elements(text, inputs):
    """Says for which elements every value of the program is one of its type: there any order of rounding gives the same."""
    values, _ = parse(text)
    shape = np.broadcast_shapes(*(np.shape(i) for i in inputs))
    everything = text[:text.index("out")] + "out " + " ".join(str(i) for i in range(len(values)))
    exact = np.ones(shape, bool)
    for (op, kind, operands, _), (_, y) in zip(values, evaluate(everything, inputs)):
        if kind in FLOATS:
            computed = "f64" if kind == "f64" else "f32"
            if op == "cast" and values[operands[0]][1] == "f64" and kind in ("f16", "bf16"):
                computed = kind  # rounded twice: to float, then to it
            with np.errstate(all="ignore"):
                exact &= (round_to(computed, y) == y) | np.isnan(y)
                exact &= ~(np.abs(y) > 2.0**20) | np.isinf(y)
        elif op == "cast" and values[operands[0]][1] in FLOATS:
            source = evaluate(text[:text.index("out")] + f"out {operands[0]}", inputs)[0][1]
            with np.errstate(all="ignore"):
                exact &= (np.abs(source) < 2.0**31)
    return exact
