"""Models made at random of elementwise operators and what stands between them.

    made = make(seed)          # a model of several independent graphs, and what to feed it
    made.model, made.feeds     # ModelProto; one dict of arrays, or two when sizes are dynamic

Everything follows from the seed, and graph `i` of a model from (seed, i).
"""

import functools
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from fuse import meaning
from fuse.meaning import ELEMENT, FLOATS, Value

NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32, "i64": np.int64, "bool": np.bool_,
         "u8": np.uint8, "i8": np.int8}
LOCAL = "local.functions"

UNARY = ["Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "Exp", "Log", "Sin", "Cos", "Tanh", "Sigmoid", "Erf", "Relu",
         "Softplus", "Mish", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Selu", "Celu", "ThresholdedRelu", "Softsign",
         "Swish", "Atan"]
BINARY = ["Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "Mean", "Pow", "Mod", "PRelu"]
COMPARED = list(meaning.COMPARISONS)
# What ORT's programs can be about: the operators that must not get lost when regions are replaced are all others.
ELEMENTWISE = set(UNARY + BINARY + COMPARED + ["And", "Or", "Xor", "Not", "Clip", "Where", "Cast", "IsNaN", "IsInf"]) - {"Atan", "Mean"}


def attributes_of(op, random):
    """Chooses the attributes of an operator; None for those left to their default."""
    def pick(*choices):
        return choices[random.integers(len(choices))]

    made = {
        "Gelu": lambda: {"approximate": pick(None, "none", "tanh")},
        "HardSigmoid": lambda: {"alpha": pick(None, 0.25, 1 / 6), "beta": pick(None, 0.5, 0.375)},
        "LeakyRelu": lambda: {"alpha": pick(None, 0.1, 0.25, -0.5)},
        "Elu": lambda: {"alpha": pick(None, 0.5, 1.0)},
        "Selu": lambda: {"alpha": pick(None, 1.5), "gamma": pick(None, 2.0)},
        "Celu": lambda: {"alpha": pick(None, 0.5, 2.0)},
        "ThresholdedRelu": lambda: {"alpha": pick(None, 0.0, 0.75)},
        "Swish": lambda: {"alpha": pick(None, 1.0, 0.5)},
    }.get(op, dict)()
    return {k: v for k, v in made.items() if v is not None}


@functools.lru_cache(maxsize=None)
def runs(op, kinds, opset, form=""):
    """Tells whether ORT's CPU has an operator for these types at this opset, and the standard too."""
    names = [f"x{i}" for i in range(len(kinds))]
    given = {"Mod": {"fmod": 1} if kinds[0] in FLOATS else {}, "Cast": {"to": ELEMENT.get(form, 1)}}.get(op, {})
    result = {"Cast": form or "f32", "Where": kinds[1] if len(kinds) > 1 else kinds[0]}.get(op, "bool" if op in COMPARED + ["IsNaN", "IsInf"] else kinds[0])
    node = helper.make_node(op, names, ["y"], **given)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, ELEMENT[k], []) for n, k in zip(names, kinds)],
                              [helper.make_tensor_value_info("y", ELEMENT[result], [])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnx.checker.check_model(model, full_check=True)
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return True
    except Exception:
        return False


@dataclass
class Name:
    """Is a value of the graph: its name, what it holds, and for each axis the size that it stands for (None: always 1)."""
    name: str
    value: Value
    axes: tuple

    @property
    def kind(self):
        return self.value.kind


@dataclass
class Made:
    seed: int
    model: onnx.ModelProto = None
    feeds: list = field(default_factory=list)
    graphs: int = 0
    prefix: dict = field(default_factory=dict)  # of each graph: what its names begin with


class Refused(Exception):
    pass


class Sizes:
    """Says what the sizes of a graph are in the run: symbols, each a number, or one of those or 1."""

    def __init__(self):
        self.of = {}      # symbol -> size
        self.tied = {}    # symbol -> the symbol that it is equal to or 1
        self.joined = set()  # those that follow from others: the larger of two

    def again(self, random):
        sizes = Sizes()
        sizes.tied = self.tied
        sizes.of = {s: int(random.choice([1, 2, 3, 5, 9])) for s in self.of if s not in self.tied}
        sizes.of.update({s: sizes.of[base] if random.random() < 0.5 else 1 for s, base in self.tied.items()})
        return sizes


class GraphMaker:
    """Makes one graph, a part of a model."""

    def __init__(self, prefix, random, opset, ir, more=False):
        self.more = more  # ranks that nobody knows, long graphs, branches whose values have the same names
        self.prefix, self.random, self.opset, self.ir = prefix, random, opset, ir
        self.nodes, self.inputs, self.initializers, self.outputs, self.functions = [], [], [], [], []
        self.feeds, self.input_specs, self.values, self.infos = {}, [], [], []
        self.sizes, self.count = Sizes(), 0
        self.special = random.random() < 0.4
        self.axes, self.static = [], {}
        self.readers = {}
        self.without = self.pick(["Relu", "Clip"])  # ORT 1.32 cannot load a Clip of a Relu of doubles or integers

    # ---- names, sizes, numbers --------------------------------------------------------------------------------------

    def fresh(self, what="v"):
        self.count += 1
        return f"{self.prefix}{what}{self.count}"

    def chance(self, p):
        return self.random.random() < p

    def pick(self, items):
        items = list(items)
        if not items:
            raise Refused("nothing to pick from")
        return items[self.random.integers(len(items))]

    def choose_axes(self):
        rank = int(self.random.choice(9, p=[.05, .12, .2, .22, .25, .08, .04, .02, .02]))
        self.dynamic = self.chance(0.4)
        most, self.axes = 600, []
        for axis in range(rank):
            size = int(self.random.choice([1, 2, 3, 4, 5, 7, 8, 16, 33], p=[.06, .22, .22, .16, .1, .08, .06, .06, .04]))
            size = min(size, max(most, 1))
            most //= max(size, 1)
            if self.chance(0.012):
                size = 0
            name = f"{self.prefix}N{axis}" if self.dynamic and self.chance(0.6) else f"#{self.prefix}{axis}"
            (self.static if name.startswith("#") else self.sizes.of)[name] = size
            self.axes.append(name)
        self.axes = tuple(self.axes)

    def size(self, axis, sizes=None):
        if axis is None:
            return 1
        return self.static[axis] if axis.startswith("#") else (sizes or self.sizes).of[axis]

    def shape(self, axes, sizes=None):
        return tuple(self.size(a, sizes) for a in axes)

    def numbers(self, kind, shape):
        r, count = self.random, int(np.prod(shape, dtype=np.int64))
        if kind == "bool":
            return (r.random(count) < 0.5).reshape(shape)
        if kind in ("i32", "i64", "u8", "i8"):
            return r.integers(0 if kind == "u8" else -9, 10, count).astype(NUMPY[kind]).reshape(shape)
        x = r.standard_normal(count) * r.choice([0.5, 2, 4])
        if self.chance(0.15):
            x = np.rint(x * 2) / 2
        if self.special:
            wild = r.random(count) < 0.3
            x = np.where(wild, x * np.exp(r.uniform(-12, 6 if kind == "f16" else 12, count)), x)
            digits, lowest, most = meaning.FORM["f32" if kind == "bf16" else kind]
            edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0 ** (lowest - digits), -(2.0 ** (lowest - 3)), 2.0**lowest,
                     most if kind != "f16" else 1000, -most if kind != "f16" else -900, 6, -3, 3, 88.5, -88.5, 0.5]
            at = r.random(count) < 0.15
            x = np.where(at, r.choice(edges, count), x)
        return x.astype(NUMPY[kind]).reshape(shape)

    # ---- values -----------------------------------------------------------------------------------------------------

    def add(self, name, kind, array, axes):
        self.values.append(Name(name, meaning.exact(kind, array), tuple(axes)))
        return self.values[-1]

    def drop_axes(self, axes):
        """Chooses a shape that broadcasts to that of the axes."""
        axes = list(axes)
        way = self.random.random()
        if way < 0.45:
            return tuple(axes)
        if way < 0.6:
            return (None,) * int(self.random.integers(0, max(len(axes), 1)))
        if way < 0.75 and len(axes) > 1:  # per channel
            return (axes[1],) + (None,) * (len(axes) - 2)
        axes = [None if self.chance(0.4) else a for a in axes]
        return tuple(axes[int(self.random.integers(len(axes) + 1)):] if self.chance(0.4) else axes)

    def add_input(self, kind, axes=None):
        axes = list(self.axes if axes is None else axes)
        for at, axis in enumerate(axes):
            if axis and not axis.startswith("#") and axis not in self.sizes.tied and self.chance(0.2):
                name = self.fresh("U")  # its size is another symbol's, or 1
                self.sizes.tied[name] = axis
                self.sizes.of[name] = self.sizes.of[axis] if self.chance(0.5) else 1
                axes[at] = name
        name = self.fresh("x")
        array = self.numbers(kind, self.shape(axes))
        dims = [1 if a is None else self.size(a) if a.startswith("#") else a for a in axes]
        self.inputs.append(helper.make_tensor_value_info(name, ELEMENT[kind], dims))
        self.feeds[name] = array
        self.input_specs.append((name, kind, tuple(axes)))
        return self.add(name, kind, array, axes)

    def add_constant(self, kind, axes=(), array=None):
        """Adds numbers as an initializer, as a Constant node, or as an initializer that a caller may replace."""
        axes = tuple(None if a is None or not a.startswith("#") else a for a in axes)
        shape = self.shape(axes)
        if array is None:
            array = self.numbers(kind, shape)
            if kind in FLOATS and not shape and self.chance(0.7):
                array = np.asarray(self.pick([0, 1, -1, 2, 3, 6, 0.5, 0.25, -2, 0.1, 1.702, 1 / 6, 1.4142135]), NUMPY[kind])
        name, way = self.fresh("k"), self.random.random()
        array = np.asarray(array, NUMPY[kind]).reshape(shape)
        if way < 0.3 and (self.opset >= 9 or kind in FLOATS):
            if not shape and way < 0.12 and self.opset >= 12 and kind in ("f32", "i64"):
                given = {"value_float": float(array)} if kind == "f32" else {"value_int": int(array)}
                self.nodes.append(helper.make_node("Constant", [], [name], **given))
            else:
                self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        else:
            self.initializers.append(numpy_helper.from_array(array, name))
            if self.ir < 4 or (self.opset >= 9 and way > 0.93):
                self.inputs.append(helper.make_tensor_value_info(name, ELEMENT[kind], shape))
                if self.ir >= 4 and self.chance(0.5):
                    array = self.numbers(kind, shape)
                    self.feeds[name] = array
        return self.add(name, kind, array, axes)

    def fits(self, a, b):
        """Tells whether shapes broadcast; gives the axes of the result."""
        length = max(len(a), len(b))
        a, b = (None,) * (length - len(a)) + tuple(a), (None,) * (length - len(b)) + tuple(b)
        result = []
        for one, other in zip(a, b):
            if one == other or other is None:
                result.append(one)
            elif one is None:
                result.append(other)
            elif self.sizes.tied.get(one, one) == self.sizes.tied.get(other, other):
                base = self.sizes.tied.get(one, one)
                if base in (one, other):
                    result.append(base)
                else:  # the same or 1, each of them: another such size
                    name = self.fresh("U")
                    self.sizes.tied[name] = base
                    self.sizes.joined.add(name)
                    self.sizes.of[name] = max(self.sizes.of[one], self.sizes.of[other])
                    result.append(name)
            else:
                return None
        return tuple(result)

    def operand(self, kind, beside=None, constants=0.3):
        """Picks a value of a type that broadcasts with another's axes, or makes one."""
        found = [v for v in self.values if v.kind == kind and (beside is None or self.fits(v.axes, beside) is not None)]
        if found and not self.chance(constants):
            return found[-1] if self.chance(0.5) else self.pick(found)
        if kind == "bf16":
            raise Refused("bfloat16 comes out of Cast only")
        axes = beside if beside is not None else self.axes
        if kind == "f16" and self.chance(0.5) or self.chance(0.75) or found and self.chance(0.5):
            return self.add_constant(kind, () if self.chance(0.6) else self.drop_axes(axes))
        return self.add_input(kind, self.drop_axes(axes))

    def node(self, op, operands, axes, /, **attributes):
        """Adds a node when its values are worth looking at."""
        name = self.fresh()
        node = helper.make_node(op, [o.name if o else "" for o in operands], [name], **attributes)
        return self.accept(node, [None if o is None else o.value for o in operands], [axes])[0]

    def accept(self, node, inputs, axes):
        functions = {(f.domain, f.name): f for f in self.functions}
        env = {v.name: v.value for v in self.values}
        found = meaning.run_node(node, inputs, env, self.opset, functions)
        for value in found:
            if value.value.size and np.isinf(value.error).mean() > 0.3:
                raise Refused("its values are not known")
            if value.kind in FLOATS and value.value.size and not np.isfinite(value.value).mean() >= 0.5:
                raise Refused("its values are mostly not finite")
        self.nodes.append(node)
        for name in node.input:
            self.readers[name] = self.readers.get(name, 0) + 1
        made = [Name(o, v, tuple(a)) for o, v, a in zip(node.output, found, axes)]
        for name in made:
            assert self.shape(name.axes) == name.value.shape, (node, name.axes, self.shape(name.axes), name.value.shape)
        self.values += made
        return made

    def has(self, op, *kinds, form=""):
        return runs(op, tuple(kinds), self.opset, form)

    # ---- operators --------------------------------------------------------------------------------------------------

    def elementwise(self, kind):
        way = self.random.random()
        if kind == "bool":
            return self.condition()
        if way < 0.1:
            return self.cast(kind)
        if way < 0.18:
            return self.where(kind)
        if way < 0.28:
            return self.clip(kind)
        if way < 0.62:
            return self.binary(kind)
        return self.unary(kind)

    def unary(self, kind, x=None, attributes=None, op=None):
        op = op or self.pick(o for o in UNARY if self.has(o, kind) and (kind in ("f32", "f16") or o != self.without))
        x = x or self.operand(kind, constants=0.03)
        given = attributes_of(op, self.random) if attributes is None else attributes
        return self.node(op, [x], x.axes, **given)

    def binary(self, kind):
        op = self.pick(o for o in BINARY if self.has(o, kind, kind) and (o not in ("Pow", "PRelu") or kind in FLOATS))
        x = self.operand(kind)
        given = {}
        if op in ("Div", "Mod") and kind not in FLOATS or op == "Mod":
            if op == "Mod" and (kind in FLOATS or self.chance(0.5)):
                given["fmod"] = 1
            axes = () if self.chance(0.6) else x.axes
            axes = tuple(None if a is None or not a.startswith("#") else a for a in axes)
            array = self.random.choice([1, 2, 3, 5, -2, -3, 7], self.shape(axes)).astype(NUMPY.get(kind, np.float32))
            if kind == "bf16":
                raise Refused("no constants of bfloat16")
            y = self.add_constant(kind, axes, array)
            if y.name in self.feeds:  # a caller's numbers may be 0
                self.feeds[y.name] = array
                y.value = meaning.exact(kind, array)
        elif op == "PRelu":
            y = self.operand(kind, x.axes)
            if self.fits(x.axes, y.axes) != x.axes or len(y.axes) > len(x.axes):
                raise Refused("PRelu broadcasts one way")
        elif op == "Pow":
            y = self.add_constant(kind, (), np.asarray(self.pick([2, 3, 0.5, -1, 1, 2.5, 4, 0]), NUMPY[kind])) if kind != "bf16" and self.chance(0.7) else \
                self.operand(kind, x.axes)
            if kind == "f32" and self.opset >= 12 and self.chance(0.2):
                y = self.add_constant("i64", (), np.asarray(self.pick([2, 3, 1, -1])))
        else:
            y = x if self.chance(0.12) else self.operand(kind, x.axes)
            if self.chance(0.5):
                x, y = y, x
        operands = [x, y]
        axes = self.fits(x.axes, y.axes)
        if op in ("Min", "Max", "Sum", "Mean") and self.chance(0.3):
            operands.append(self.operand(kind, axes))
            axes = self.fits(axes, operands[-1].axes)
        if self.opset < 8 and op in ("Min", "Max", "Sum", "Mean"):
            if any(o.axes != axes for o in operands):
                raise Refused("no broadcasting yet")
        return self.node(op, operands, axes, **given)

    def clip(self, kind):
        x = self.operand(kind, constants=0.05)
        if self.opset < 11:
            if not self.has("Clip", kind):
                raise Refused("no Clip")
            given = {k: v for k, v in (("min", self.pick([-3.0, 0.0, -0.5])), ("max", self.pick([6.0, 1.0, 3.5]))) if self.chance(0.8)}
            return self.node("Clip", [x], x.axes, **given)
        if not self.has("Clip", kind, kind, kind) or kind == "bf16":
            raise Refused("no Clip")
        if kind not in ("f32", "f16") and self.without == "Clip":
            raise Refused("no Clip")
        limits = [None, None]
        for at, choices in enumerate([[-3, 0, -1, 2], [6, 1, 3, 20]]):
            if self.chance(0.8):
                limits[at] = self.add_constant(kind, (), np.asarray(self.pick(choices), NUMPY[kind])) if self.chance(0.8) else self.add_input(kind, ())
        while limits and limits[-1] is None:
            limits.pop()
        return self.node("Clip", [x, *limits], x.axes)

    def where(self, kind):
        if not self.has("Where", "bool", kind, kind):
            raise Refused("no Where")
        x = self.operand(kind)
        y = self.operand(kind, x.axes)
        axes = self.fits(x.axes, y.axes)
        conditions = [v for v in self.values if v.kind == "bool" and self.fits(v.axes, axes) is not None]
        if not conditions or self.chance(0.3):
            try:
                self.condition()
            except Refused:
                pass
        c = self.operand("bool", axes, constants=0.1)
        return self.node("Where", [c, x, y], self.fits(c.axes, axes))

    def condition(self):
        kind = self.pick([v.kind for v in self.values])
        way = self.random.random()
        if way < 0.3 and any(v.kind == "bool" for v in self.values):
            op = self.pick(meaning.LOGICAL)
            x = self.operand("bool")
            if op == "Not":
                return self.node(op, [x], x.axes)
            y = self.operand("bool", x.axes)
            return self.node(op, [x, y], self.fits(x.axes, y.axes))
        if way < 0.45 and kind in FLOATS:
            op = self.pick(o for o in ("IsNaN", "IsInf") if self.has(o, kind))
            x = self.operand(kind)
            given = self.pick([{}, {}, {"detect_negative": 0}, {"detect_positive": 0}]) if op == "IsInf" else {}
            return self.node(op, [x], x.axes, **given)
        op = self.pick(o for o in COMPARED if self.has(o, kind, kind))
        x = self.operand(kind)
        y = self.operand(kind, x.axes)
        return self.node(op, [x, y], self.fits(x.axes, y.axes))

    def cast(self, kind):
        source = self.pick([v.kind for v in self.values])
        if not self.has("Cast", source, form=kind):
            raise Refused("no such Cast")
        x = self.operand(source, constants=0.05)
        return self.node("Cast", [x], x.axes, to=ELEMENT[kind])

    # ---- what is not elementwise ------------------------------------------------------------------------------------

    def between(self, kind):
        """Adds a node that ends a region, or a few of them."""
        ways = [self.transpose, self.softmax, self.mean, self.matmul, self.identity, self.to_int8, self.quantized, self.branches, self.loop, self.scan,
                self.function]
        if self.more:
            ways += [self.reshape, self.reshape]
        return self.pick(ways)(kind)

    def reshape(self, kind):
        """Adds a value whose rank nobody knows before the run."""
        x = self.operand(kind, constants=0)
        if self.sizes.joined & set(x.axes):
            raise Refused("its sizes follow from others")
        name = self.fresh("shape")
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, [self.fresh("R")]))
        self.feeds[name] = np.array(x.value.shape, np.int64)
        self.input_specs.append((name, "shape", x.axes))
        if 0 in x.value.shape or kind == "bf16":
            raise Refused("0 stands for the input's own size")
        return self.node("Reshape", [x, Name(name, meaning.exact("i64", self.feeds[name]), (None,))], x.axes)

    def transpose(self, kind):
        x = self.pick(v for v in self.values if len(v.axes) >= 2)
        perm = [int(p) for p in self.random.permutation(len(x.axes))]
        return self.node("Transpose", [x], tuple(x.axes[p] for p in perm), perm=perm)

    def softmax(self, kind):
        x = self.pick(v for v in self.values if v.kind in ("f32", "f64") and len(v.axes) >= 1 and v.value.value.size)
        return self.node("Softmax", [x], x.axes, axis=len(x.axes) - 1)

    def mean(self, kind):
        x = self.pick(v for v in self.values if v.kind in ("f32", "f64") and len(v.axes) >= 1 and v.value.value.size)
        axis = int(self.random.integers(len(x.axes)))
        axes = tuple(None if i == axis else a for i, a in enumerate(x.axes))
        if self.opset < 18:
            return self.node("ReduceMean", [x], axes, axes=[axis])
        k = self.fresh("axes")
        self.initializers.append(numpy_helper.from_array(np.array([axis]), k))
        return self.node("ReduceMean", [x, Name(k, meaning.exact("i64", [axis]), (None,))], axes)

    def matmul(self, kind):
        if self.ir < 4:
            raise Refused("constants are inputs")
        x = self.pick(v for v in self.values if v.kind in ("f32", "f64") and len(v.axes) >= 2 and v.axes[-1] and v.axes[-1].startswith("#")
                      and v.value.value.size)
        n = x.value.shape[-1]
        w = (self.random.standard_normal((n, n)) / 2).astype(NUMPY[x.kind])
        name = self.fresh("w")
        self.initializers.append(numpy_helper.from_array(w, name))
        return self.node("MatMul", [x, Name(name, meaning.exact(x.kind, w), ())], x.axes)

    def identity(self, kind):
        x = self.operand(kind, constants=0)
        return self.node("Identity", [x], x.axes)

    def to_int8(self, kind):
        """Casts to a type that programs have not, and back."""
        x = self.pick(v for v in self.values if v.kind in ("f32", "i32", "i64"))
        bounded = x
        if x.kind == "f32":
            bounded = self.node("Clip", [x], x.axes, min=-100.0, max=100.0) if self.opset < 11 else self.node(
                "Clip", [x, self.add_constant("f32", (), -100), self.add_constant("f32", (), 100)], x.axes)
        small = self.node("Cast", [bounded], x.axes, to=TensorProto.INT8)
        return self.node("Cast", [small], x.axes, to=ELEMENT[kind] if kind not in ("bool", "f16", "bf16") else TensorProto.FLOAT)

    def quantized(self, kind):
        if self.opset < 10 or self.ir < 4:
            raise Refused("no QuantizeLinear")
        x = self.pick(v for v in self.values if v.kind == "f32" and v.value.value.size)
        scale, zero = self.fresh("scale"), self.fresh("zero")
        self.initializers += [numpy_helper.from_array(np.float32(0.05).reshape(()), scale), numpy_helper.from_array(np.uint8(128).reshape(()), zero)]
        s, z = Name(scale, meaning.exact("f32", np.float32(0.05)), ()), Name(zero, meaning.exact("u8", 128), ())
        y = self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, s, z], x.axes), s, z], x.axes)
        for _ in range(int(self.random.integers(1, 3))):
            y = self.unary("f32", y, op=self.pick(["Relu", "Abs", "Neg"]))
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [y, s, z], x.axes), s, z], x.axes)

    def inner(self, x, length, extra=(), prefix=None):
        """Makes a few elementwise nodes on one value, for the body of a subgraph: maker, and the last value."""
        body = GraphMaker(prefix or self.fresh("b") + "_", self.random, self.opset, max(self.ir, 4))
        body.axes, body.static, body.sizes, body.special = x.axes, self.static, self.sizes, self.special
        body.dynamic, body.without = False, self.without
        y = x
        for _ in range(length):
            for _ in range(20):
                state = len(body.nodes), len(body.initializers), len(body.values)
                try:
                    body.values = list(extra) + [y]
                    if self.chance(0.5):
                        y = body.unary(x.kind, y)
                    else:
                        op = self.pick(["Add", "Mul", "Sub", "Max", "Min"] if self.opset >= 8 else ["Add", "Mul", "Sub"])
                        if not self.has(op, x.kind, x.kind):
                            raise Refused("")
                        other = self.pick([e for e in extra if e.kind == x.kind and self.fits(e.axes, y.axes) == y.axes and e.kind in FLOATS] or [y])
                        if self.chance(0.5):
                            name = body.fresh("k")
                            array = np.asarray(self.pick([1, 2, -1, 3, 0.5] if x.kind in FLOATS else [1, 2, -1, 3]), NUMPY[x.kind])
                            body.initializers.append(numpy_helper.from_array(array, name))
                            other = Name(name, meaning.exact(x.kind, array), ())
                        y = body.node(op, [y, other] if self.chance(0.6) else [other, y], y.axes)
                    break
                except Refused:
                    del body.nodes[state[0]:], body.initializers[state[1]:], body.values[state[2]:]
            else:
                raise Refused("no body")
        return body, y

    def subject(self):
        """Picks a value for a subgraph."""
        return self.pick(v for v in self.values if v.kind in ("f32", "f64", "i32", "i64") and v.value.value.size)

    def branches(self, kind):
        if self.ir < 4:
            raise Refused("constants are inputs")
        x = self.subject()
        condition = self.add_input("bool", ()) if self.chance(0.6) else self.add_constant("bool", ())
        outer = [v for v in self.values if v.name != x.name]
        graphs = []
        prefix = self.fresh("b") + "_" if self.more and self.chance(0.5) else None
        for which in ("then", "else"):
            body, y = self.inner(x, int(self.random.integers(1, 5)), outer, prefix)
            info = helper.make_tensor_value_info(y.name, ELEMENT[x.kind], [None] * len(x.axes))
            graphs.append(helper.make_graph(body.nodes, self.fresh(which), [], [info], body.initializers))
        node = helper.make_node("If", [condition.name], [self.fresh()], then_branch=graphs[0], else_branch=graphs[1])
        return self.accept(node, [condition.value], [x.axes])[0]

    def loop(self, kind):
        if self.ir < 4:
            raise Refused("constants are inputs")
        x = self.subject()
        body, y = self.inner(Name(self.fresh("s"), x.value, x.axes), int(self.random.integers(2, 4)), [v for v in self.values if v.name != x.name])
        carried = body.nodes[0]
        start = next(n for n in [*carried.input, *[i for b in body.nodes for i in b.input]] if n.startswith(self.prefix + "s"))
        names = [self.fresh("i"), self.fresh("c"), self.fresh("d")]
        nodes = [helper.make_node("Identity", [names[1]], [names[2]]), *body.nodes]
        ins = [helper.make_tensor_value_info(names[0], TensorProto.INT64, []), helper.make_tensor_value_info(names[1], TensorProto.BOOL, []),
               helper.make_tensor_value_info(start, ELEMENT[x.kind], [None] * len(x.axes))]
        outs = [helper.make_tensor_value_info(names[2], TensorProto.BOOL, []), helper.make_tensor_value_info(y.name, ELEMENT[x.kind], [None] * len(x.axes))]
        graph = helper.make_graph(nodes, self.fresh("loop"), ins, outs, body.initializers)
        times = self.fresh("times")
        self.initializers.append(numpy_helper.from_array(np.array(int(self.random.integers(1, 4))), times))
        count = meaning.from_tensor(self.initializers[-1])
        node = helper.make_node("Loop", [times, "", x.name], [self.fresh()], body=graph)
        return self.accept(node, [count, None, x.value], [x.axes])[0]

    def scan(self, kind):
        if self.opset < 9 or self.ir < 4:
            raise Refused("another Scan")
        x = self.pick(v for v in self.values if v.kind in ("f32", "i64") and len(v.axes) >= 1 and v.axes[0] and v.value.value.size)
        row, state, total = self.fresh("r"), self.fresh("t"), self.fresh("u")
        first = Name(row, meaning.moved(x.value, lambda v: v[0]), x.axes[1:])
        body, y = self.inner(first, int(self.random.integers(2, 5)))
        if not any(row in n.input for n in body.nodes):
            raise Refused("the row is not read")
        nodes = [*body.nodes, helper.make_node("Add", [state, y.name], [total])]
        shaped = [helper.make_tensor_value_info(n, ELEMENT[x.kind], [None] * (len(x.axes) - 1)) for n in (state, row, total, y.name)]
        graph = helper.make_graph(nodes, self.fresh("scan"), shaped[:2], shaped[2:], body.initializers)
        begin = self.node("Sub", [first_row := self.row_of(x), first_row], x.axes[1:])
        node = helper.make_node("Scan", [begin.name, x.name], [self.fresh(), self.fresh()], body=graph, num_scan_inputs=1)
        return self.accept(node, [begin.value, x.value], [x.axes[1:], x.axes])[1]

    def row_of(self, x):
        """Adds x[0]."""
        k = self.fresh("axis")
        self.initializers.append(numpy_helper.from_array(np.array(0), k))
        name = self.fresh()
        self.nodes.append(helper.make_node("Gather", [x.name, k], [name], axis=0))
        self.values.append(Name(name, meaning.moved(x.value, lambda v: v[0]), x.axes[1:]))
        return self.values[-1]

    def function(self, kind):
        if self.ir < 8 or self.opset < 15:
            raise Refused("no functions")
        x = self.subject()
        body, y = self.inner(Name("in", x.value, x.axes), int(self.random.integers(2, 5)))
        nodes = [helper.make_node("Constant", [], [t.name], value=t) for t in body.initializers] + body.nodes
        if not any("in" in n.input for n in nodes):
            raise Refused("it reads nothing")
        function = helper.make_function(LOCAL, self.fresh("F"), ["in"], [y.name], nodes, [helper.make_opsetid("", self.opset)])
        self.functions.append(function)
        node = helper.make_node(function.name, [x.name], [self.fresh()], domain=LOCAL)
        return self.accept(node, [x.value], [x.axes])[0]

    def copies(self, kind):
        """Adds the same chain on several values, with other numbers."""
        if kind not in ("f32", "f64", "i32"):
            raise Refused("no copies")
        steps = [self.pick(["Add", "Mul", "Sub", "Max" if self.opset >= 8 else "Add", "Div" if kind != "i32" else "Add"]) for _ in range(int(self.random.integers(2, 5)))]
        if not all(self.has(s, kind, kind) for s in steps):
            raise Refused("no copies")
        first = [self.chance(0.25) and s != "Div" for s in steps]
        same = [self.chance(0.4) for _ in steps]
        numbers = [self.pick([1, 2, 3, -2, 5] + ([0.5, 0.1, 1.5] if kind in FLOATS else [])) for _ in steps]
        for _ in range(int(self.random.integers(2, 4))):
            y = self.operand(kind, constants=0)
            for op, number, fixed, reversed_ in zip(steps, numbers, same, first):
                k = self.add_constant(kind, (), number if fixed else self.pick([1, 2, 3, 4, 7, 9, 0.25] if kind in FLOATS else [1, 2, 3, 4, 7]))
                y = self.node(op, [k, y] if reversed_ else [y, k], y.axes)
        return y

    # ---- the whole --------------------------------------------------------------------------------------------------

    def attempt(self, step):
        """Adds something, or nothing of it at all."""
        kept = [len(part) for part in (self.nodes, self.inputs, self.initializers, self.values, self.input_specs, self.functions)]
        feeds, readers = dict(self.feeds), dict(self.readers)
        try:
            step()
            return True
        except Refused:
            for part, length in zip((self.nodes, self.inputs, self.initializers, self.values, self.input_specs, self.functions), kept):
                del part[length:]
            self.feeds, self.readers = feeds, readers
            return False

    def make(self):
        self.choose_axes()
        main = str(self.random.choice(["f32", "f64", "f16", "i32", "i64", "bool", "bf16"], p=[.44, .13, .13, .1, .08, .06, .06]))
        start = "f32" if main == "bf16" else main
        self.add_input(start)
        for _ in range(int(self.random.integers(0, 3))):
            self.add_input(start, self.drop_axes(self.axes))
        if main == "bf16" and self.has("Cast", "f32", form="bf16"):
            self.attempt(lambda: self.node("Cast", [self.values[0]], self.values[0].axes, to=TensorProto.BFLOAT16))
        wanted, made = int(self.random.integers(2, 15)), 0
        if self.more and self.chance(0.05):
            wanted *= 8
        for _ in range(wanted * 8):
            if made >= wanted:
                break
            kind = main if self.chance(0.8) else self.pick([v.kind for v in self.values] + ["f32", "bool"])
            way = self.random.random()
            step = self.copies if way < 0.04 else self.between if way < 0.16 else self.elementwise
            made += self.attempt(lambda step=step, kind=kind: step(kind))
        self.choose_outputs()
        return self

    def choose_outputs(self):
        made = {o for n in self.nodes if n.op_type != "Constant" for o in n.output}
        ends = [v for v in self.values if v.name in made and not self.readers.get(v.name)]
        dead = [v for v in ends if self.chance(0.04)] if len(ends) > 1 else []
        inner = [v for v in self.values if v.name in made and self.readers.get(v.name)]
        chosen = [v for v in ends if v not in dead] + [v for v in inner if self.chance(0.12)]
        if not chosen:
            self.attempt(lambda: self.node("Identity", [self.values[0]], self.values[0].axes))
            chosen = self.values[-1:]
        order = self.random.permutation(len(chosen))
        chosen = [chosen[i] for i in order]
        for at, value in enumerate(chosen):
            if value.kind in ("bf16", "i8"):  # numpy has no bfloat16
                value = self.node("Cast", [value], value.axes, to=TensorProto.FLOAT)
            dims = [1 if a is None else self.size(a) if a.startswith("#") else a if a in self.known() else None for a in value.axes]
            self.outputs.append(helper.make_tensor_value_info(value.name, ELEMENT[value.kind], dims if self.chance(0.7) else [None] * len(dims)))
        if self.chance(0.1):
            for value in inner[:3]:
                dims = [1 if a is None else self.size(a) if a.startswith("#") else None for a in value.axes]
                if value.name not in {o.name for o in self.outputs}:
                    self.infos.append(helper.make_tensor_value_info(value.name, ELEMENT[value.kind], dims))

    def known(self):
        return {a for _, _, axes in self.input_specs for a in axes}

    def feed_again(self):
        """Gives other inputs, of other sizes where they are dynamic."""
        sizes = self.sizes.again(self.random)
        feeds = {}
        for name, array in self.feeds.items():
            spec = next((s for s in self.input_specs if s[0] == name), None)
            if spec is not None and spec[1] == "shape":
                feeds[name] = np.array(self.shape(spec[2], sizes), np.int64)
            else:
                feeds[name] = array if spec is None else self.numbers(spec[1], self.shape(spec[2], sizes))
        return feeds


def make(seed, graphs=None, only=None):
    """Makes a model of some graphs; `only` keeps one of them."""
    random = np.random.default_rng([seed])
    opset = int(random.choice([7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]))
    ir = int(random.choice([3, 4, 5, 6, 7])) if opset < 11 else int(random.choice([7, 8, 9, 10])) if opset < 20 else 10
    if ir == 3 and opset > 8:
        ir = 4
    graphs = graphs or int(random.integers(1, 6))
    made = Made(seed)
    parts = []
    for i in range(graphs):
        if only is not None and i != only:
            continue
        made.prefix[i] = f"g{i}_"
        parts.append(GraphMaker(f"g{i}_", np.random.default_rng([seed, i, 1]), opset, ir, more=seed % 2 == 1).make())
    made.graphs = len(parts)
    graph = helper.make_graph(sum((p.nodes for p in parts), []), "random", sum((p.inputs for p in parts), []), sum((p.outputs for p in parts), []),
                              sum((p.initializers for p in parts), []), value_info=sum((p.infos for p in parts), []))
    functions = sum((p.functions for p in parts), [])
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(LOCAL, 1)] if functions else [])
    made.model = helper.make_model(graph, opset_imports=imports, ir_version=ir, functions=functions)
    feeds = {}
    for part in parts:
        feeds.update(part.feeds)
    made.feeds = [feeds]
    if any(p.sizes.of for p in parts):
        again = {}
        for part in parts:
            again.update(part.feed_again())
        made.feeds.append(again)
    return made
