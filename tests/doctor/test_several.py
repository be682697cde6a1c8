"""`graft doctor` on one larger model that is wrong in two ways at once, for every two: both causes are named, and no other."""

import itertools

import numpy as np
import pytest
from onnx import helper

from doctor.models import DOMAIN, DOUBLE, HALF, body, constant, function, model, node, save, typed, value
from doctor.test_variants import X, causes, compute, diagnose


def healthy():
    """x, Gate, an If with a chain of two, a function around Gate, Leaky, and a constant added: each a place to break."""
    inner = body(
        [node("Relu", ["g"], ["h"], name="inner/relu"), node("Abs", ["h"], ["o"], name="inner/abs")], infos=[value("h")]
    )
    other = body([node("Identity", ["g"], ["p"])], "p")
    nodes = [
        node("Gate", ["x"], ["g"], DOMAIN, name="gate"),
        node("If", ["flag"], ["i"], then_branch=inner, else_branch=other, name="if"),
        node("Wrap", ["i"], ["f"], "blocks", name="wrap"),
        node("Leaky", ["f"], ["l"], DOMAIN, alpha=0.5, name="leaky"),
        node("Add", ["l", "w"], ["y"], name="add"),
    ]
    wrap = function([node("Gate", ["a"], ["c"], DOMAIN, name="n1"), node("Relu", ["c"], ["b"], name="n2")])
    return model(
        nodes, constants=[constant("flag", True), constant("w", np.ones(3, np.float32))], imports=((DOMAIN, 1), ("blocks", 1)),
        functions=[wrap], infos=[value("g"), value("i"), value("f"), value("l")],
    )


def named(made, name):
    return next(n for n in made.graph.node if n.name == name)


def branch(made):
    return next(a.g for a in named(made, "if").attribute if a.name == "then_branch")


def wrapped(made):
    return made.functions[0].node


def set_import(imports, domain, version):
    next(entry for entry in imports if entry.domain == domain).version = version


def drop(items, wanted):
    kept = [item for item in items if not wanted(item)]
    del items[:]
    items.extend(kept)


def stale(infos, name, element):
    drop(infos, lambda info: info.name == name)
    infos.append(value(name, element))


def replace(made, name, tensor):
    drop(made.graph.initializer, lambda t: t.name == name)
    made.graph.initializer.append(tensor)


# what is done to the model: the cause, and whether it can be repaired without loss
BREAKS = {
    "ir": (lambda m: setattr(m, "ir_version", 50), "ir_version_too_new", True),
    "no_ir": (lambda m: m.ClearField("ir_version"), "ir_version_missing", True),
    "opset": (lambda m: set_import(m.opset_import, "", 90), "opset_too_new", True),
    "no_import": (lambda m: drop(m.opset_import, lambda i: i.domain == DOMAIN), "import_missing", True),
    "no_function_import": (lambda m: drop(m.functions[0].opset_import, lambda i: i.domain == DOMAIN), "import_missing", True),
    "import_zero": (lambda m: set_import(m.opset_import, DOMAIN, 0), "import_version", True),
    "default_domain": (lambda m: named(m, "gate").ClearField("domain"), "op_in_default_domain", True),
    "default_domain_in_function": (lambda m: wrapped(m)[0].ClearField("domain"), "op_in_default_domain", True),
    "misspelled": (lambda m: setattr(named(m, "gate"), "op_type", "Gatte"), "op_not_in_library", False),
    "no_attribute": (lambda m: named(m, "leaky").ClearField("attribute"), "attribute_missing", False),
    "attribute_type": (lambda m: named(m, "leaky").attribute[0].CopyFrom(helper.make_attribute("alpha", "a")), "attribute_type", False),
    "dangling": (lambda m: branch(m).node[0].input.__setitem__(0, "zz"), "dangling_input", False),
    "node_names": (lambda m: setattr(named(m, "add"), "name", "gate"), "duplicate_node_name", True),
    "node_names_in_if": (lambda m: setattr(branch(m).node[1], "name", "inner/relu"), "duplicate_node_name", True),
    "node_names_in_function": (lambda m: setattr(wrapped(m)[1], "name", "n1"), "duplicate_node_name", True),
    "output": (lambda m: setattr(m.graph.output[0], "name", "yy"), "output_not_produced", False),
    "stale": (lambda m: stale(m.graph.value_info, "g", HALF), "stale_value_info", True),
    "stale_behind_the_function": (lambda m: stale(m.graph.value_info, "f", DOUBLE), "stale_value_info", True),
    "stale_in_if": (lambda m: stale(branch(m).value_info, "h", DOUBLE), "stale_value_info", True),
    "size": (lambda m: replace(m, "w", typed("w", 2, [3])), "initializer_size", False),
    "inputs": (lambda m: named(m, "gate").input.append("x"), "input_count", False),
}

# Two that touch the same thing, so that the second takes the first one back.
EXCLUDED = {
    frozenset(pair)
    for pair in [
        ("ir", "no_ir"), ("no_import", "import_zero"), ("no_attribute", "attribute_type"), ("default_domain", "misspelled"), ("default_domain", "inputs"),
        ("misspelled", "inputs"), ("no_function_import", "default_domain_in_function"), ("misspelled", "stale"),
        # What an unknown value would make is not known either.
        ("misspelled", "stale_in_if"), ("misspelled", "stale_behind_the_function"), ("dangling", "stale_in_if"), ("dangling", "stale_behind_the_function"),
    ]
}
PAIRS = [pair for pair in itertools.combinations(BREAKS, 2) if frozenset(pair) not in EXCLUDED]
COMPUTED = np.where((relu := np.maximum(X, 0)) > 0, relu, relu / 2) + 1


def test_healthy(case_ops, run_graft, tmp_path):
    assert diagnose(run_graft, save(healthy(), tmp_path / "model.onnx"), case_ops)[1]["healthy"]
    np.testing.assert_allclose(compute(tmp_path / "model.onnx", case_ops), COMPUTED)


@pytest.mark.parametrize("pair", PAIRS, ids=["+".join(pair) for pair in PAIRS])
def test_pair(pair, case_ops, run_graft, tmp_path):
    made = healthy()
    for name in pair:
        BREAKS[name][0](made)
    file = save(made, tmp_path / "model.onnx")
    fixable = all(BREAKS[name][2] for name in pair)
    code, report = diagnose(run_graft, file, case_ops, *(["--fix", "-o", tmp_path / "fixed.onnx"] if fixable else []))
    assert causes(report) == sorted({BREAKS[name][1] for name in pair})
    assert code == (0 if fixable else 1)
    if fixable:
        np.testing.assert_allclose(compute(tmp_path / "fixed.onnx", case_ops), COMPUTED)
