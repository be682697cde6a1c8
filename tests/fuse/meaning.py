"""What a model of ONNX operators means: float values in float64, each with a bound of how far a computation in its own type may
be from it. A bound of infinity says that nothing can be said: two computations that are both right may differ there, as on the
two sides of a rounded comparison.

    env = evaluate(model, {"x": x})         # name -> Value
    env["y"].value, env["y"].error
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, helper, numpy_helper

KIND = {
    TensorProto.FLOAT: "f32", TensorProto.DOUBLE: "f64", TensorProto.FLOAT16: "f16", TensorProto.BFLOAT16: "bf16",
    TensorProto.INT32: "i32", TensorProto.INT64: "i64", TensorProto.BOOL: "bool", TensorProto.UINT8: "u8", TensorProto.INT8: "i8",
}
ELEMENT = {kind: element for element, kind in KIND.items()}
FLOATS = ["f32", "f64", "f16", "bf16"]
HELD = {**dict.fromkeys(FLOATS, np.float64), "i32": np.int32, "i64": np.int64, "bool": np.bool_, "u8": np.uint8, "i8": np.int8}
# Digits of the last place, least exponent, largest number.
FORM = {"f32": (23, -126, (2 - 2.0**-23) * 2.0**127), "f64": (52, -1022, 1.7976931348623157e308), "f16": (10, -14, 65504.0),
        "bf16": (7, -126, (2 - 2.0**-7) * 2.0**127)}


@dataclass
class Value:
    kind: str
    value: np.ndarray
    error: np.ndarray  # of the same shape

    @property
    def shape(self):
        return self.value.shape


def ulp(value, kind):
    digits, lowest, _ = FORM[kind]
    value = np.abs(np.where(np.isfinite(value), value, 0))
    exponent = np.frexp(value)[1] - 1
    return np.ldexp(1.0, np.maximum(np.where(value == 0, lowest, exponent), lowest) - digits)


def exact(kind, array):
    """Holds given numbers as a value."""
    value = np.asarray(array).astype(HELD[kind])
    return Value(kind, value, np.zeros(value.shape))


def from_tensor(tensor):
    return exact(KIND[tensor.data_type], numpy_helper.to_array(tensor))


np_erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def softplus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


def gelu(x):
    tail = np.vectorize(math.erfc, otypes=[np.float64])(-x / np.sqrt(2))
    return 0.5 * x * tail


def gelu_tanh(x):
    # (1 + tanh(z)) / 2 is sigmoid(2 z), which does not cancel
    return x * sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x))


def clip(x, low, high):
    x = np.where(x < low, low, x)
    return np.where(x > high, high, x)


# What errs by how many units of the last place (docs/reference/math.md, and ORT's own kernels), and by how much at least:
# ORT's rational approximations end at some place.
UNITS = {"Exp": 3, "Log": 3, "Sin": 4, "Cos": 4, "Tanh": 4, "Sigmoid": 4, "Erf": 4, "Softplus": 6, "Mish": 8, "Gelu": 8, "Pow": 4,
         "Elu": 4, "Selu": 6, "Celu": 6, "Swish": 8, "HardSigmoid": 3, "HardSwish": 4, "Softsign": 3, "Softmax": 16, "Atan": 4,
         "Reciprocal": 1.5, "Div": 1, "LeakyRelu": 1, "PRelu": 1, "Sum": 4, "Mean": 4}
LEAST = {"Sigmoid": 6e-8, "Tanh": 6e-8, "Erf": 1.2e-7, "Gelu": 5e-7, "Softmax": 6e-8, "Swish": 2.5e-7, "Mish": 3e-7, "Elu": 1.2e-7,
         "Selu": 2.4e-7, "Celu": 1.2e-7, "Softplus": 1.2e-7}
# Between the ends of an interval these may go further than at its ends, but no faster than this.
SLOPE = {"Sin": 1, "Cos": 1, "Mish": 1.2, "Gelu": 1.2, "Swish": 1.2, "HardSwish": 1.6, "Mod": 1}


def attribute(node, name, otherwise=None):
    for a in node.attribute:
        if a.name == name:
            return helper.get_attribute_value(a)
    return otherwise


def float_function(node, opset):
    """Gives the function of an operator of floats, on float64; None for others."""
    op = node.op_type

    def a(name, otherwise):
        return attribute(node, name, float(np.float32(otherwise)))

    def low_and_high(x, *limits):
        if opset < 11:
            return clip(x, a("min", -FORM["f32"][2]), a("max", FORM["f32"][2]))
        low = limits[0] if limits and limits[0] is not None else -np.inf
        high = limits[1] if len(limits) > 1 and limits[1] is not None else np.inf
        return clip(x, low, high)

    simple = {
        "Neg": np.negative, "Abs": np.abs, "Sign": np.sign, "Floor": np.floor, "Ceil": np.ceil, "Round": np.rint, "Sqrt": np.sqrt,
        "Reciprocal": lambda x: 1 / x, "Exp": np.exp, "Log": np.log, "Sin": np.sin, "Cos": np.cos, "Tanh": np.tanh,
        "Sigmoid": sigmoid, "Erf": np_erf, "Relu": lambda x: np.where(x < 0, 0, x), "Softplus": softplus,
        "Mish": lambda x: x * np.tanh(softplus(x)), "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
        "Atan": np.arctan, "Pow": np.power, "Mod": np.fmod, "Clip": low_and_high,
        "PRelu": lambda x, s: np.where(x < 0, s * x, x), "Softsign": lambda x: x / (1 + np.abs(x)),
        "Gelu": gelu_tanh if attribute(node, "approximate", b"none") == b"tanh" else gelu,
        "HardSigmoid": lambda x: clip(a("alpha", 0.2) * x + a("beta", 0.5), 0, 1),
        "HardSwish": lambda x: x * clip(x / 6 + 0.5, 0, 1),
        "LeakyRelu": lambda x: np.where(x < 0, a("alpha", 0.01) * x, x),
        "Elu": lambda x: np.where(x < 0, a("alpha", 1) * np.expm1(x), x),
        "Selu": lambda x: a("gamma", 1.05070102214813232421875) * np.where(x < 0, a("alpha", 1.67326319217681884765625) * np.expm1(x), x),
        "Celu": lambda x: np.where(x < 0, a("alpha", 1) * np.expm1(x / a("alpha", 1)), x),
        "ThresholdedRelu": lambda x: np.where(x > a("alpha", 1), x, 0),
        "Swish": lambda x: x * sigmoid(a("alpha", 1) * x),
    }
    return simple.get(op)


def integer_function(node, opset, kind):
    """Gives the function of an operator of integers."""
    def divide(a, b):
        quotient = np.abs(a) // np.where(b == 0, 1, np.abs(b))
        return np.where((a < 0) != (b < 0), -quotient, quotient)

    def low_and_high(x, *limits):
        low = limits[0] if limits and limits[0] is not None else np.iinfo(x.dtype).min
        high = limits[1] if len(limits) > 1 and limits[1] is not None else np.iinfo(x.dtype).max
        return np.minimum(np.maximum(x, low), high)

    return {
        "Neg": np.negative, "Abs": np.abs, "Sign": np.sign, "Relu": lambda x: np.maximum(x, 0), "Add": np.add, "Sub": np.subtract,
        "Mul": np.multiply, "Div": divide, "Mod": np.fmod if attribute(node, "fmod", 0) else np.mod, "Clip": low_and_high,
    }.get(node.op_type)


COMPARISONS = {"Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater,
               "GreaterOrEqual": np.greater_equal}
LOGICAL = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor, "Not": np.logical_not}
COMBINED = {"Min": np.minimum, "Max": np.maximum, "Sum": np.add, "Mean": np.add}


def spread(function, operands):
    """Gives a function's values, and how far they go within the operands' errors."""
    values = [o.value.astype(np.float64) for o in operands]
    errors = [np.where(np.isfinite(o.error), o.error, 0) for o in operands]
    value = np.asarray(function(*values), np.float64)
    away = np.zeros(value.shape)
    if any(e.any() for e in errors):
        for signs in itertools.product((-1, 1), repeat=len(values)):
            there = function(*(v + s * e for v, s, e in zip(values, signs, errors)))
            same = (there == value) | (np.isnan(there) & np.isnan(value))
            difference = np.where(same, 0, np.abs(there - value))
            away = np.fmax(away, np.where(np.isnan(difference), np.inf, difference))
    return value, away


def doubtful_zero(kind, value, where=True):
    """Gives the bound of a zero whose sign is no matter of the standard's: what divides by it is not known."""
    return np.where((value == 0) & where, ulp(np.zeros(()), kind), 0)


def any_unknown(operands, shape):
    unknown = np.zeros(shape, bool)
    for o in operands:
        unknown |= np.broadcast_to(np.isinf(o.error), shape)
    return unknown


def rounded(op, kind, value, error, operands=()):
    """Adds an operator's own error, and what lies beyond the type's largest number."""
    digits, lowest, most = FORM[kind]
    units = UNITS.get(op, 0.5)
    # ORT computes 16 bits in float32, or rounds each step: both are right.
    own = units * ulp(value, "f32") + ulp(value, kind) if kind in ("f16", "bf16") else units * (2 if kind == "f64" else 1) * ulp(value, kind)
    own = own + (LEAST.get(op, 0) * (1 if kind != "f64" else 2.0**-29))
    exact_ops = ("Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Relu", "Clip", "Min", "Max", "Where", "Transpose", "Identity", "ThresholdedRelu")
    if op in exact_ops:
        own = np.where(error > 0, own, 0) if kind in ("f16", "bf16") else np.zeros(np.shape(value))
    finite = np.isfinite(value)
    error = np.where(finite, error + own, error)
    size = np.where(finite, np.abs(value), 0)
    if kind == "f32":
        above = size - error > most * (1 + 2.0**-24)
        value = np.where(above, np.inf * np.sign(value), value)
        error = np.where(above, 0, np.where(size + error > most, np.inf, error))
    else:
        error = np.where(finite & (size + error > most * 0.9), np.inf, error)
    unknown = any_unknown(operands, np.shape(value))
    return Value(kind, value, np.where(unknown, np.inf, error))


def elementwise(node, opset, inputs):
    """Computes an elementwise operator; None when it is none."""
    op = node.op_type
    given = [i for i in inputs if i is not None]
    kind = given[0].kind
    shape = np.broadcast_shapes(*(i.shape for i in given))
    if op in COMPARISONS:
        value = COMPARISONS[op](given[0].value, given[1].value)
        near = np.zeros(shape, bool)
        if kind in FLOATS:
            reach = given[0].error + given[1].error
            with np.errstate(all="ignore"):
                near = (reach > 0) & ~(np.abs(given[0].value - given[1].value) > reach)
                near &= ~(np.isnan(given[0].value) | np.isnan(given[1].value))
        return Value("bool", value, np.where(near | any_unknown(given, shape), np.inf, 0))
    if op in LOGICAL:
        value = LOGICAL[op](*(i.value for i in given))
        return Value("bool", value, np.where(any_unknown(given, shape), np.inf, 0))
    if op in ("IsNaN", "IsInf"):
        x = given[0].value
        if op == "IsNaN":
            value = np.isnan(x)
        else:
            value = (np.isposinf(x) & bool(attribute(node, "detect_positive", 1))) | (np.isneginf(x) & bool(attribute(node, "detect_negative", 1)))
        return Value("bool", value, np.where(np.isinf(given[0].error), np.inf, 0))
    if op == "Where":
        condition, yes, no = given
        value = np.where(condition.value, yes.value, no.value)
        error = np.where(np.broadcast_to(condition.value, shape), np.broadcast_to(yes.error, shape), np.broadcast_to(no.error, shape))
        error = np.fmax(error, doubtful_zero(yes.kind, value)) if yes.kind in FLOATS else error  # ORT's turns -0 into 0
        return Value(yes.kind, value, np.where(np.broadcast_to(np.isinf(condition.error), shape), np.inf, error))
    if op == "Cast":
        return cast(given[0], KIND[attribute(node, "to")])
    if op in COMBINED:
        value, error = given[0].value, given[0].error
        for other in given[1:]:
            if kind in FLOATS:
                value, error = spread(COMBINED[op], [Value(kind, value, error), other])
            else:
                value = COMBINED[op](value, other.value)
        if op in ("Min", "Max") and kind in FLOATS:  # of 0 and -0
            error = np.fmax(error, doubtful_zero(kind, value))
        if op == "Mean":
            error = np.where(np.isfinite(value) & (np.abs(value) > FORM[kind][2] * 0.9), np.inf, error) if kind in FLOATS else error
            value, error = value / len(given), error / len(given)
        if kind in FLOATS:
            return rounded(op, kind, value, error, given)
        return Value(kind, value, np.where(any_unknown(given, shape), np.inf, 0))
    if kind in FLOATS:
        function = float_function(node, opset)
        if function is None:
            return None
        if len(inputs) != len(given):  # Clip without a limit
            value, error = function(*(None if i is None else i.value for i in inputs)), given[0].error
            return rounded(op, kind, np.asarray(value), error + 0 * np.asarray(value) if error.any() else np.zeros(shape), given)
        value, error = spread(function, given)
        if op in SLOPE:
            error = np.fmax(error, np.where(np.isfinite(given[0].error), SLOPE[op] * given[0].error, np.inf))
        if op in ("Selu", "Celu"):  # at -0: the formula gives 0, the branch for the positive side -0
            error = np.fmax(error, doubtful_zero(kind, value))
        pole = {"Div": 1, "Reciprocal": 0, "Log": 0, "Pow": 0, "Mod": 1, "Sqrt": 0}.get(op)
        if pole is not None:
            at = given[pole]
            error = np.where(np.broadcast_to((at.error > 0) & (np.abs(at.value) <= at.error), shape), np.inf, error)
        return rounded(op, kind, value, error, given)
    function = integer_function(node, opset, kind)
    if function is None:
        return None
    value = function(*(None if i is None else i.value for i in inputs)).astype(HELD[kind])
    return Value(kind, value, np.where(any_unknown(given, shape), np.inf, 0))


def cast(x, kind):
    unknown = np.isinf(x.error)
    with np.errstate(all="ignore"):
        if kind in FLOATS:
            value = x.value.astype(np.float64)
            if x.kind not in FLOATS or FORM[kind][0] >= FORM[x.kind][0] and kind != "f16":
                exactly = x.kind in ("bool",) or x.kind in FLOATS
                result = Value(kind, value, x.error + (0 if exactly else 0.5 * ulp(value, kind)))
                if kind == "f16":
                    result.error = np.where(np.abs(value) > 60000, np.inf, result.error)
                result.error = np.where(unknown, np.inf, result.error)
                return result
            return rounded("Cast", kind, value, x.error, [x])
        if kind == "bool":
            near = (x.error > 0) & (np.abs(x.value) <= x.error)
            return Value("bool", x.value != 0, np.where(unknown | near, np.inf, 0))
        if x.kind in FLOATS:
            limit = np.iinfo(HELD[kind])
            inside = (x.value > limit.min / 2) & (x.value < limit.max / 2)
            value = np.trunc(np.where(inside, x.value, 0)).astype(HELD[kind])
            reach = np.where(unknown, 0, x.error)
            same = (np.trunc(x.value - reach) == value) & (np.trunc(x.value + reach) == value)
            return Value(kind, value, np.where(unknown | ~inside | ~same, np.inf, 0))
        return Value(kind, x.value.astype(HELD[kind]), np.where(unknown, np.inf, 0))


def moved(x, function):
    return Value(x.kind, function(x.value), function(x.error))


OTHER = ["Identity", "Transpose", "Softmax", "ReduceMean", "MatMul", "Gather", "Reshape", "QuantizeLinear", "DequantizeLinear", "Constant"]


def other_operators(node, opset, inputs):
    """Computes operators that are not elementwise."""
    op, x = node.op_type, inputs[0] if inputs else None
    if op == "Identity":
        return [x]
    if op == "Reshape":
        return [moved(x, lambda v: v.reshape(tuple(int(d) for d in inputs[1].value)))]
    if op == "Gather":
        return [moved(x, lambda v: np.take(v, inputs[1].value, attribute(node, "axis", 0)))]
    if op == "Transpose":
        perm = attribute(node, "perm")
        return [moved(x, lambda v: np.transpose(v, perm))]
    if op == "Softmax":
        axis = attribute(node, "axis", -1)
        with np.errstate(all="ignore"):
            e = np.exp(x.value - x.value.max(axis=axis, keepdims=True, initial=-np.inf))
            value = e / e.sum(axis=axis, keepdims=True)
            reach = x.error.max(axis=axis, keepdims=True, initial=0)
            error = np.where(np.isfinite(reach), value * np.expm1(np.minimum(2 * reach, 700)), np.inf)
        error = np.where(np.isfinite(x.value).all(axis=axis, keepdims=True), error, np.inf)
        return [rounded(op, x.kind, value, error)]
    if op == "ReduceMean":
        axes = tuple(attribute(node, "axes") if len(inputs) < 2 else inputs[1].value.tolist())
        with np.errstate(all="ignore"):
            count = np.prod([x.shape[a] for a in axes])
            value = x.value.sum(axis=axes, keepdims=True) / count
            size = np.abs(np.where(np.isfinite(x.value), x.value, 0)).sum(axis=axes, keepdims=True)
            error = x.error.sum(axis=axes, keepdims=True) / count + size * 2.0 ** -FORM[x.kind][0]
            error = np.where(np.isfinite(value), error, np.inf)
        return [rounded(op, x.kind, value, error)]
    if op == "MatMul":
        b = inputs[1]
        with np.errstate(all="ignore"):
            value = x.value @ b.value
            error = np.abs(x.value) @ b.error + x.error @ (np.abs(b.value) + b.error)
            error = error + (x.shape[-1] + 2) * (np.abs(x.value) @ np.abs(b.value)) * 2.0 ** -FORM[x.kind][0]
            error = np.where(np.isfinite(value) & np.isfinite(error), error, np.inf)
        return [rounded(op, x.kind, value, error)]
    if op == "QuantizeLinear":
        scale, zero = inputs[1].value, inputs[2].value.astype(np.float64)
        kind = inputs[2].kind
        info = np.iinfo(HELD[kind])
        with np.errstate(all="ignore"):
            reach = np.where(np.isfinite(x.error), x.error, 0) / scale + 1e-5
            value = np.clip(np.rint(x.value / scale) + zero, info.min, info.max)
            ends = [np.clip(np.rint(x.value / scale + s * reach) + zero, info.min, info.max) for s in (-1, 1)]
            sure = (ends[0] == value) & (ends[1] == value) & np.isfinite(x.value) & np.isfinite(x.error)
        return [Value(kind, np.where(np.isfinite(value), value, 0).astype(HELD[kind]), np.where(sure, 0, np.inf))]
    if op == "DequantizeLinear":
        value = (x.value.astype(np.float64) - inputs[2].value.astype(np.float64)) * inputs[1].value
        return [rounded(op, "f32", value, np.where(np.isinf(x.error), np.inf, 0))]
    if op == "Constant":
        a = node.attribute[0]
        if a.name == "value":
            return [from_tensor(a.t)]
        kind = {"value_float": "f32", "value_int": "i64", "value_floats": "f32", "value_ints": "i64"}[a.name]
        return [exact(kind, helper.get_attribute_value(a))]
    raise NotImplementedError(op)


def run_graph(graph, outer, opset, functions):
    """Computes the nodes of a graph or function into an environment that begins with `outer`."""
    env = dict(outer)
    for tensor in getattr(graph, "initializer", []):
        env[tensor.name] = from_tensor(tensor)
    for node in graph.node:
        inputs = [env[name] if name else None for name in node.input]
        for name, value in zip(node.output, run_node(node, inputs, env, opset, functions)):
            env[name] = value
    return env


def run_node(node, inputs, env, opset, functions):
    op = node.op_type
    if (node.domain, op) in functions:
        function = functions[node.domain, op]
        inner = run_graph(function, dict(zip(function.input, inputs)), opset, functions)
        return [inner[name] for name in function.output]
    if op == "If":
        chosen = attribute(node, "then_branch" if bool(inputs[0].value) else "else_branch")
        inner = run_graph(chosen, env, opset, functions)
        return [inner[o.name] for o in chosen.output]
    if op == "Loop":
        body = attribute(node, "body")
        carried = list(inputs[2:])
        for step in range(int(inputs[0].value)):
            names = [i.name for i in body.input]
            inner = run_graph(body, {**env, names[0]: exact("i64", step), names[1]: exact("bool", True), **dict(zip(names[2:], carried))}, opset, functions)
            carried = [inner[o.name] for o in body.output[1:]]
        return carried
    if op == "Scan":
        body = attribute(node, "body")
        state, rows, made = inputs[0], inputs[1], []
        names = [i.name for i in body.input]
        for row in range(rows.shape[0]):
            inner = run_graph(body, {**env, names[0]: state, names[1]: moved(rows, lambda v, row=row: v[row])}, opset, functions)
            state = inner[body.output[0].name]
            made.append(inner[body.output[1].name])
        stacked = Value(made[0].kind, np.stack([m.value for m in made]), np.stack([m.error for m in made]))
        return [state, stacked]
    with np.errstate(all="ignore"):
        found = elementwise(node, opset, inputs) if op not in OTHER else None
        return [found] if found is not None else other_operators(node, opset, inputs)


def evaluate(model, feeds):
    """Computes all values of a model's main graph."""
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    functions = {(f.domain, f.name): f for f in model.functions}
    kinds = {i.name: KIND[i.type.tensor_type.elem_type] for i in model.graph.input}
    given = {name: exact(kinds[name], array) for name, array in feeds.items()}
    env = {t.name: from_tensor(t) for t in model.graph.initializer}
    env.update(given)
    for node in model.graph.node:
        inputs = [env[name] if name else None for name in node.input]
        for name, value in zip(node.output, run_node(node, inputs, env, opset, functions)):
            env[name] = value
    return env
