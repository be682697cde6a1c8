"""Programs of fused regions in numpy: what each operator means, and programs made at random."""

import re
from math import erf

import numpy as np

TYPES = ["f32", "f64", "f16", "bf16", "i32", "i64", "bool"]
FLOATS, INTEGERS = TYPES[:4], ["i32", "i64"]
NUMBERS = FLOATS + INTEGERS
# How values are held while a program runs.
HELD = {"f32": np.float32, "f64": np.float64, "f16": np.float32, "bf16": np.float32, "i32": np.int32, "i64": np.int64, "bool": np.bool_}
ORT_NAME = {"f32": "float", "f64": "double", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "i64": "int64", "bool": "bool"}

np_erf = np.vectorize(erf, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


def clamp(x, low, high):
    y = np.where(x < low, low, x)
    return np.where(y > high, high, y).astype(x.dtype)


def divide(a, b):
    if a.dtype.kind == "f":
        return a / b
    b = np.broadcast_to(b, np.broadcast_shapes(a.shape, b.shape))
    safe = np.where((b == 0) | (b == -1), 1, b)
    q = np.abs(a.astype(object)) // np.abs(safe.astype(object)) * np.sign(a.astype(object)) * np.sign(safe.astype(object))
    q = np.where(b == -1, -a.astype(object), q)
    return wrap(np.where(b == 0, 0, q), a.dtype)


def wrap(values, dtype):
    bits = np.iinfo(dtype).bits
    flat = [((int(v) + (1 << (bits - 1))) % (1 << bits)) - (1 << (bits - 1)) for v in np.asarray(values, object).ravel()]
    return np.array(flat, dtype).reshape(np.shape(values))


def remainder(a, b, function):
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    safe = np.where((b == 0) | (b == -1), 1, b)
    return np.where((b == 0) | (b == -1), 0, function(a, safe)).astype(a.dtype)


def sign(x):
    return np.where(x > 0, 1, np.where(x < 0, -1, np.where(x == 0, 0, x))).astype(x.dtype)


# The exact ones are computed in the type itself, where one operation rounds once as the processor does.
EXACT = {
    "neg": lambda x: -x, "abs": np.abs, "sign": sign, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "sqrt": np.sqrt,
    "reciprocal": lambda x: x.dtype.type(1) / x, "relu": lambda x: np.where(x < 0, 0, x).astype(x.dtype), "isnan": np.isnan,
    "isinf": np.isinf, "not": np.logical_not,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": divide, "min": np.minimum, "max": np.maximum,
    "mod": lambda a, b: remainder(a, b, np.mod), "fmod": lambda a, b: remainder(a, b, np.fmod),
    "eq": np.equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
    "clamp": clamp, "where": lambda c, a, b: np.where(c, a, b),
}
# These are computed in float64 (the double ones are the standard library's, as numpy's).
ROUNDED = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "sigmoid": sigmoid, "erf": np_erf, "softplus": softplus, "silu": lambda x: x * sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1 + np_erf(x / np.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "mish": lambda x: x * np.tanh(softplus(x)), "pow": np.power,
}
ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "min": 2, "max": 2, "pow": 2, "mod": 2, "fmod": 2, "eq": 2, "lt": 2, "le": 2, "gt": 2,
         "ge": 2, "and": 2, "or": 2, "xor": 2, "clamp": 3, "where": 3}
COMPARED = ["eq", "lt", "le", "gt", "ge"]
LOGICAL = ["not", "and", "or", "xor"]


def to_bfloat16(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), np.float32(np.nan), rounded)


def round_to(x, kind):
    """Rounds a held value to a type, and gives it as it is held again."""
    if kind == "f16":
        return np.asarray(x, np.float32).astype(np.float16).astype(np.float32)
    return to_bfloat16(np.asarray(x, np.float32)) if kind == "bf16" else np.asarray(x).astype(HELD[kind])


def evaluate(text, inputs, wide=False):
    """Runs a program in numpy. The results are held values; outputs of 16 bits are rounded. `wide`: floats in float64."""
    inputs, values, kinds = list(inputs), [], []
    with np.errstate(all="ignore"):
        for statement in filter(None, (s.strip() for s in text.split(";"))):
            word, *rest = statement.split()
            if word == "out":
                return [round_to(values[int(v)], kinds[int(v)]) if not wide else values[int(v)] for v in rest]
            kind = rest[0]
            held = np.float64 if wide and kind in FLOATS else HELD[kind]
            if word == "in":
                value = np.asarray(inputs.pop(0)).astype(held)
            elif word == "k":
                value = np.array(number(rest[1]), held)
            else:
                operands = [values[int(v)] for v in rest[1:]]
                if word == "cast":
                    value = cast(operands[0], kinds[int(rest[1])], kind, wide)
                elif word in EXACT:
                    value = np.asarray(EXACT[word](*operands)).astype(held)
                else:
                    value = np.asarray(ROUNDED[word](*[o.astype(np.float64) for o in operands])).astype(held)
            values.append(value)
            kinds.append(kind)
    raise ValueError("no out")


def cast(x, source, kind, wide):
    if kind in ("f16", "bf16"):
        return round_to(x, kind).astype(np.float64 if wide else np.float32)
    if kind == "bool":
        return x != 0
    return x.astype(np.float64 if wide and kind in FLOATS else HELD[kind])


def number(word):
    if word in ("inf", "-inf", "nan"):
        return float(word)
    return float.fromhex(word) if "0x" in word else float(word)


def broadcast_shapes(random, count, rank, limit):
    """Makes the shapes of some inputs that broadcast."""
    while True:
        full = [int(random.choice([1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 100, 300], p=[.1, .2, .15, .1, .1, .1, .05, .05, .05, .04, .03, .03]))
                for _ in range(rank)]
        if rank and random.random() < 0.3:
            full[-1] = int(random.integers(250, 2100))
        if rank and random.random() < 0.03:
            full[random.integers(rank)] = 0
        if np.prod(np.maximum(full, 1), dtype=np.int64) <= limit:
            break
    shapes = []
    for i in range(count):
        shape = [d if random.random() < (0.9 if i == 0 else 0.6) else 1 for d in full]
        if i > 0 and random.random() < 0.3:
            shape = shape[random.integers(rank + 1):]
        if i > 0 and random.random() < 0.3:
            shape = list(full)
        shapes.append(tuple(shape))
    return shapes


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]


def random_input(random, kind, shape):
    size = int(np.prod(shape, dtype=np.int64))
    if kind == "bool":
        return random.random(shape) < 0.5
    x = random.integers(-8, 9, size).astype(HELD[kind])
    if kind in FLOATS:
        x = x / HELD[kind](random.choice([1, 2, 4]))
        at = random.random(size) < random.choice([0, 0.02])
        x[at] = random.choice(SPECIAL, at.sum())
    return x.reshape(shape).astype(HELD[kind])


def random_program(random, kind, length=None):
    """Makes a program with exact results, and its inputs: every value is a small multiple of a power of two, so that no
    order of rounding matters. Gives text, input types and inputs."""
    kinds_in = [random.choice(TYPES) if random.random() < 0.3 else kind for _ in range(random.integers(1, 6))]
    shapes = broadcast_shapes(random, len(kinds_in), int(random.integers(0, 9)), 6000)
    inputs = [random_input(random, k, s) for k, s in zip(kinds_in, shapes)]
    text = "".join(f"in {k}; " for k in kinds_in)
    kinds = list(kinds_in)

    def pick(wanted, recent=True):
        """Gives a value of a type: often one of the last ones, so that chains grow."""
        found = [v for v, k in enumerate(kinds) if k == wanted]
        if not found:
            return None
        return found[-1] if recent and random.random() < 0.5 else int(random.choice(found))

    def constant(wanted):
        nonlocal text
        value = bool(random.integers(2)) if wanted == "bool" else int(random.integers(-4, 7))
        if wanted in FLOATS and random.random() < 0.1:
            value = random.choice(["inf", "-inf", "nan", "0.5", "-0.25", "0x1p-1"])
        text += f"k {wanted} {value if isinstance(value, str) else int(value)}; "
        kinds.append(wanted)
        return len(kinds) - 1

    length = length or int(random.integers(1, 14))
    made = 0
    while made < length:
        k = kind if random.random() < 0.75 else str(random.choice(TYPES))
        before, count = text, len(kinds)

        def value(wanted):
            found = pick(wanted)
            return constant(wanted) if found is None or random.random() < 0.25 else found

        choice = random.random()
        if k == "bool":
            of = str(random.choice(TYPES))
            op = str(random.choice(COMPARED + LOGICAL + (["isnan", "isinf"] if of in FLOATS else [])))
            source = "bool" if op in LOGICAL else of
            operands = [value(source) for _ in range(ARITY.get(op, 1))]
        elif choice < 0.12:
            op, operands = "cast", [value(str(random.choice(TYPES)))]
        elif choice < 0.2:
            op, operands = "where", [value("bool"), value(k), value(k)]
        else:
            ops = ["add", "sub", "mul", "min", "max", "clamp", "add", "mul", "relu", "abs", "neg", "sign", "div"]
            ops += ["floor", "ceil", "round", "clamp"] if k in FLOATS else ["mod", "fmod"]
            op = str(random.choice(ops))
            operands = [value(k) for _ in range(ARITY.get(op, 1))]
            if op == "clamp" and random.random() < 0.8:
                operands[1:] = [constant(k), constant(k)]
            if op == "div" and k in FLOATS:
                text += f"k {k} {random.choice([2, 4, 0.5, -2])}; "
                kinds.append(k)
                operands[1] = len(kinds) - 1
        text += f"{op} {k} {' '.join(map(str, operands))}; "
        kinds.append(k)
        new = len(kinds) - 1
        narrow = evaluate(text + f"out {new}", inputs)[0]
        wide = evaluate(text + f"out {new}", inputs, wide=True)[0]
        small = np.abs(np.where(np.isfinite(wide), wide, 0).astype(np.float64)).max(initial=0) < 1000 if k != "bool" else True
        same = np.array_equal(narrow.astype(np.float64), wide.astype(np.float64), equal_nan=True)
        finite_cast = op != "cast" or k in FLOATS + ["bool"] or np.isfinite(evaluate(text + f"out {operands[0]}", inputs)[0].astype(np.float64)).all()
        if not (small and same and finite_cast):
            text, kinds = before, kinds[:count]
            made += 0.2
            continue
        made += 1
    candidates = [v for v, k in enumerate(kinds) if k == kind]
    if not candidates:
        text += f"cast {kind} 0; "
        if kind in INTEGERS and not np.isfinite(inputs[0].astype(np.float64)).all():
            return random_program(random, kind, length)
        candidates = [len(kinds)]
    outputs = [candidates[-1]] + [int(random.choice(candidates)) for _ in range(random.integers(0, 3) if random.random() < 0.3 else 0)]
    text += "out " + " ".join(map(str, outputs))
    return text, kinds_in, inputs


def table_of(header):
    """Reads the operators' names and operands from program.h."""
    return re.findall(r'OpInfo\{Op::\w+, "(\w+)", (\d), Operands::(\w+)\}', header)
