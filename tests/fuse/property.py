"""What must hold for any model and what `graft fuse` makes of it: checks that name the first thing that does not.

    fault = structure_fault(before, after)                    # "" or what is wrong
    for difference in differences(before, after, feeds, library): ...
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime

from fuse import meaning
from fuse.random_graphs import ELEMENTWISE


def session(model, *libraries):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    for library in libraries:
        options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


# ---- structure -------------------------------------------------------------------------------------------------------


def nodes_of(graph):
    """Gives all nodes of a graph and its subgraphs."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)


def structure_fault(before, after):
    """Says what a fused model has lost that is none of a region's business; empty: nothing."""
    onnx.checker.check_model(after)
    a, b = before.graph, after.graph
    for what in ("input", "output"):
        if [v.SerializeToString() for v in getattr(a, what)] != [v.SerializeToString() for v in getattr(b, what)]:
            return f"its {what}s changed"
    kept = {t.name: t.SerializeToString() for g in graphs_of(b) for t in g.initializer}
    given = {t.name: t.SerializeToString() for g in graphs_of(a) for t in g.initializer}
    read = {name for n in nodes_of(b) for name in n.input} | {v.name for g in graphs_of(b) for v in g.output} | {v.name for v in b.input}
    for name, data in kept.items():
        if given.get(name) != data:
            return f"initializer {name} is another"
    for name in given:
        if name not in kept and name in read:
            return f"initializer {name} is gone"
    for name in {v.name for v in a.input} & set(given):
        if name not in kept:
            return f"the default of input {name} is gone"

    def others(graph):
        return Counter((n.domain, n.op_type, tuple(n.input), tuple(n.output)) for n in nodes_of(graph)
                       if n.op_type not in ELEMENTWISE and n.op_type not in ("Constant", "If", "Loop", "Scan"))

    lost = others(a) - others(b)
    if lost:
        return f"nodes are gone that are not elementwise: {list(lost)[:3]}"
    if Counter(n.op_type for n in nodes_of(a) if n.op_type in ("If", "Loop", "Scan")) != Counter(
            n.op_type for n in nodes_of(b) if n.op_type in ("If", "Loop", "Scan")):
        return "a node with subgraphs is gone"
    for function in before.functions:
        if function.SerializeToString() not in [f.SerializeToString() for f in after.functions]:
            return f"the model's own function {function.name} changed"
    made = Counter((f.domain, f.name) for f in after.functions)
    if any(count > 1 for count in made.values()):
        return f"two functions have one name: {made.most_common(1)}"
    names = Counter(n.name for n in nodes_of(b) if n.name)
    if any(count > 1 for count in names.values()):
        return f"two nodes have one name: {names.most_common(1)}"
    return ""


def fused_nodes(model, domain="graft"):
    return [n for n in nodes_of(model.graph) if n.domain == domain]


# ---- numbers ---------------------------------------------------------------------------------------------------------


@dataclass
class Figures:
    """Counts graphs, operators in them, models whose result could be fused once more, and elements: compared, the same bits, not
    comparable, and those further from float64 than the original by more than one unit of the last place, but within the bounds of
    the functions."""
    graphs: int = 0
    operators: int = 0
    again: int = 0
    elements: int = 0
    same: int = 0
    unknown: int = 0
    further: int = 0
    deviations: Counter = field(default_factory=Counter)

    def add(self, other):
        for name in ("graphs", "operators", "again", "elements", "same", "unknown", "further"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.deviations += other.deviations


def compare(expected, before, after, figures):
    """Compares an output of the fused model with the original's and with what it means; gives a text for the worst element that
    is wrong, or nothing."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return f"it is {after.dtype}{list(after.shape)}, was {before.dtype}{list(before.shape)}"
    if before.shape != expected.shape:
        return f"it is {list(after.shape)}, means {list(expected.shape)}"
    known = np.isfinite(expected.error)
    figures.elements += known.size
    figures.unknown += int((~known).sum())
    with np.errstate(all="ignore"):
        if expected.kind not in meaning.FLOATS:
            figures.same += int((before == after).sum())
            wrong = known & (before != after)
            return text_of(wrong, expected, before, after)
        x, y, wide = before.astype(np.float64), after.astype(np.float64), expected.value
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        figures.same += int((same & (np.signbit(x) == np.signbit(y)) | (np.isnan(x) & np.isnan(y))).sum())
        unit = meaning.ulp(wide, expected.kind)
        limit = np.where(known, expected.error, 0) * 1.01 + unit
        means = (y == wide) | (np.isnan(y) & np.isnan(wide)) | (np.abs(y - wide) <= limit)
        no_further = np.abs(y - wide) <= np.abs(x - wide) + unit
        figures.further += int((known & ~same & ~no_further & means & np.isfinite(wide)).sum())
        for at in np.argwhere(known & ~same & means & (np.isnan(x) != np.isnan(y)))[:1]:
            figures.deviations[f"ORT gives {before[tuple(at)]}, the standard means {wide[tuple(at)]}"] += 1
        return text_of(known & ~(means | same | no_further), expected, before, after)


def text_of(wrong, expected, before, after):
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (f"{int(wrong.sum())} of {wrong.size} elements, the first at {list(at)}: {after[at]!r}, was {before[at]!r}, "
            f"means {expected.value[at]!r} within {expected.error[at]:.3g}")


def differences(before, after, feeds, library, figures, without=True):
    """Runs a model and the fused one, with the library and without any, and gives (output, library or not, what differs)."""
    original = session(before)
    fused = [("with the library", session(after, library))]
    if without:
        fused.append(("without the library", session(after)))
    names = [o.name for o in original.get_outputs()]
    found = []
    for run, given in enumerate(feeds):
        expected = meaning.evaluate(before, given)
        was = original.run(None, given)
        for how, candidate in fused:
            if [(i.name, i.type, i.shape) for i in candidate.get_inputs()] != [(i.name, i.type, i.shape) for i in original.get_inputs()]:
                found.append(("", how, "its inputs are others"))
            for name, x, y in zip(names, was, candidate.run(None, given)):
                fault = compare(expected[name], np.asarray(x), np.asarray(y), figures)
                if fault:
                    found.append((name, f"{how}, feed {run}", fault))
    return found
