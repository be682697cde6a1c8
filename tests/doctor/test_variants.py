"""`graft doctor` on models that are wrong in one way each, or in several: every cause is named, and no other; what can be
repaired without loss computes afterwards what was meant."""

import json

import numpy as np
import onnxruntime
import pytest
from onnx import helper

from doctor.models import (
    BFLOAT16, DOMAIN, DOUBLE, FLOAT, HALF, INT64, body, constant, cut, function, in_function, in_if, model, node, save, typed, value,
)

X = np.array([[-1.5, -0.0, 0.5], [1.0, 2.0, -3.0]], np.float32)
RELU = np.maximum(X, 0)


def gate(inputs="x", output="y", **keywords):
    return node("Gate", [inputs], [output], DOMAIN, **keywords)


def relu(inputs="x", output="y", **keywords):
    return node("Relu", [inputs], [output], **keywords)


# name: model, with the library, causes, what it computes once repaired (nothing: it cannot be)
CASES = {
    # versions
    "ir_too_new": (model([gate()], ir=15), True, ["ir_version_too_new"], RELU),
    "ir_missing_without_library": (model([relu()], ir=None, imports=()), False, ["ir_version_missing"], RELU),
    "ir_missing_constants_as_inputs": (
        model([node("Add", ["x", "w"], ["y"])], [value("x"), value("w", shape=(3,))], constants=[constant("w", np.ones(3, np.float32))], ir=None, imports=()),
        False, ["ir_version_missing"], X + 1,
    ),
    "opset_too_new_old_spelling": (
        model([node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=1)], outputs=[value("y", shape=(2, 1))], opset=40, imports=()),
        False, ["opset_too_new"], X.max(1, keepdims=True),
    ),
    "opset_too_new_in_function": (in_function([relu("a", "b")], (("", 99),)), False, ["opset_too_new"], RELU),
    "opset_too_new_of_another_domain": (model([relu()], imports=(("ai.onnx.ml", 99),)), False, ["opset_too_new"], RELU),
    "opset_and_ir_too_new": (model([relu()], opset=77, ir=77, imports=()), False, ["ir_version_too_new", "opset_too_new"], RELU),
    "opset_zero": (model([relu()], opset=0, imports=()), False, ["import_version"], RELU),
    # imports
    "import_missing_in_if": (in_if([gate("x", "o")], imports=()), False, ["import_missing", "library_not_registered"], RELU),
    "import_missing_in_function": (in_function([gate("a", "b")], (("", 17),)), True, ["import_missing"], RELU),
    "import_missing_of_the_function": (in_function([relu("a", "b")], imports=()), False, ["import_missing"], RELU),
    "standard_import_missing_in_function": (in_function([relu("a", "b")], ()), False, ["import_missing"], RELU),
    "no_import_at_all": (model([relu()], opset=None, imports=()), False, ["import_missing"], None),
    "import_zero_in_function": (in_function([gate("a", "b")], (("", 17), (DOMAIN, 0))), True, ["import_version"], RELU),
    "import_zero_in_if": (in_if([gate("x", "o")], imports=((DOMAIN, 0),)), True, ["import_version"], RELU),
    # names of operators
    "library_not_given_in_if": (in_if([gate("x", "o")]), False, ["library_not_registered"], None),
    "library_not_given_in_function": (in_function([gate("a", "b")]), False, ["library_not_registered"], None),
    "another_library": (model([node("Foo", ["x"], ["y"], "quite.other")], imports=(("quite.other", 1),)), True, ["library_not_registered"], None),
    "misspelled_domain": (model([node("Gate", ["x"], ["y"], "myops")], imports=(("myops", 1),)), True, ["op_not_in_library"], None),
    "misspelled_op_in_if": (in_if([node("Gat", ["x"], ["o"], DOMAIN)]), True, ["op_not_in_library"], None),
    "misspelled_op_in_function": (in_function([node("GATE", ["a"], ["b"], DOMAIN)]), True, ["op_not_in_library"], None),
    "unknown_op_of_the_library": (model([node("Zyx", ["x"], ["y"], DOMAIN)]), True, ["op_not_in_library"], None),
    "misspelled_function": (
        model([node("Wrapp", ["x"], ["y"], "blocks")], functions=[function([relu("a", "b")])], imports=(("blocks", 1),)), False, ["op_not_in_library"], None,
    ),
    "default_domain_in_if": (in_if([node("Gate", ["x"], ["o"])], imports=()), True, ["op_in_default_domain"], RELU),
    "default_domain_in_function": (in_function([node("Gate", ["a"], ["b"])], (("", 17),)), True, ["op_in_default_domain"], RELU),
    "default_domain_without_library": (model([node("Gate", ["x"], ["y"])], imports=()), False, ["op_in_default_domain"], None),
    "default_domain_of_a_function": (
        model([node("Wrap", ["x"], ["y"])], functions=[function([relu("a", "b")])], imports=(("blocks", 1),)), False, ["op_in_default_domain"], RELU,
    ),
    "misspelled_standard_op": (model([node("Rellu", ["x"], ["y"])]), False, ["op_unknown"], None),
    "newer_op": (model([node("Mish", ["x"], ["y"])], imports=()), False, ["op_newer_than_import"], X * np.tanh(np.log1p(np.exp(X)))),
    "newer_op_in_if": (in_if([node("Mish", ["x"], ["o"])], imports=()), False, ["op_newer_than_import"], X * np.tanh(np.log1p(np.exp(X)))),
    "newer_op_in_function": (in_function([node("Mish", ["a"], ["b"])], (("", 17),)), False, ["op_newer_than_import"], X * np.tanh(np.log1p(np.exp(X)))),
    "newer_op_in_a_newer_function": (in_function([node("Mish", ["a"], ["b"])], (("", 18),)), False, ["op_newer_than_import"], X * np.tanh(np.log1p(np.exp(X)))),
    "newer_op_beside_a_changed_one": (
        model([node("Softmax", ["x"], ["s"]), node("Mish", ["s"], ["y"])], opset=12, imports=()), False, ["op_newer_than_import"], None,
    ),
    "removed_op": (
        model([node("Upsample", ["x", "s"], ["y"])], constants=[constant("s", np.ones(2, np.float32))], imports=()), False, ["op_removed"], None,
    ),
    # types
    "double_in_if": (in_if([gate("x", "o")], inputs=[value("x", DOUBLE)], outputs=[value("y", DOUBLE)], element=DOUBLE), True, ["dtype_not_supported"], None),
    "half_in_function": (in_function([gate("a", "b")], inputs=[value("x", HALF)], outputs=[value("y", HALF)]), True, ["dtype_not_supported"], None),
    "cast_before": (
        model([node("Cast", ["x"], ["h"], to=DOUBLE), gate("h", "g"), node("Cast", ["g"], ["y"], to=FLOAT)]), True, ["dtype_not_supported"], None,
    ),
    "shape_into_the_operator": (model([node("Shape", ["x"], ["s"]), gate("s")], outputs=[value("y", INT64, [2])]), True, ["dtype_not_supported"], None),
    "no_kernel_in_if": (
        in_if([node("Cast", ["x"], ["c"], to=BFLOAT16), node("Relu", ["c"], ["r"]), node("Cast", ["r"], ["o"], to=FLOAT)], imports=()),
        False, ["no_kernel_for_dtype"], None,
    ),
    "no_kernel_in_function": (
        in_function([node("Cast", ["a"], ["c"], to=BFLOAT16), node("Tanh", ["c"], ["r"]), node("Cast", ["r"], ["b"], to=FLOAT)]),
        False, ["no_kernel_for_dtype"], None,
    ),
    "standard_op_on_a_wrong_type": (model([node("Sin", ["x"], ["y"])], [value("x", INT64)], [value("y", INT64)], imports=()), False, ["no_kernel_for_dtype"], None),
    "types_disagree": (model([node("Add", ["x", "w"], ["y"])], constants=[constant("w", np.ones(3))], imports=()), False, ["types_disagree"], None),
    # attributes and counts
    "attribute_missing_in_if": (in_if([node("Leaky", ["x"], ["o"], DOMAIN)]), True, ["attribute_missing"], None),
    "both_attributes_missing": (model([node("Scale", ["x"], ["y"], DOMAIN)]), True, ["attribute_missing"], None),
    "attribute_misspelled": (model([node("Leaky", ["x"], ["y"], DOMAIN, alhpa=0.5)]), True, ["attribute_missing"], None),
    "attribute_int_for_float": (model([node("Leaky", ["x"], ["y"], DOMAIN, alpha=2)]), True, ["attribute_type"], np.where(X > 0, X, 2 * X)),
    "attribute_float_for_int": (in_if([node("Scale", ["x"], ["o"], DOMAIN, alpha=0.5, n=2.0)]), True, ["attribute_type"], X / 2 + 2),
    "attribute_text_for_float": (in_function([node("Leaky", ["a"], ["b"], DOMAIN, alpha="0.1")]), True, ["attribute_type"], None),
    "attribute_fraction_for_int": (model([node("Scale", ["x"], ["y"], DOMAIN, alpha=0.5, n=2.5)]), True, ["attribute_type"], None),
    "standard_attribute_missing": (model([node("Cast", ["x"], ["y"])]), False, ["attribute_missing"], None),
    "standard_attribute_int": (model([node("LeakyRelu", ["x"], ["y"], alpha=2)]), False, ["attribute_type"], np.where(X > 0, X, 2 * X)),
    "standard_attribute_unknown": (model([relu(alpha=1.0)]), False, ["attribute_unknown"], None),
    "too_many_inputs": (model([node("Gate", ["x", "x"], ["y"], DOMAIN)]), True, ["input_count"], None),
    "too_few_inputs_in_if": (in_if([node("LayerNorm", ["x", "x"], ["o"], DOMAIN, epsilon=1e-5)]), True, ["input_count"], None),
    "too_few_inputs_of_a_standard_op": (in_function([node("Add", ["a"], ["b"])]), False, ["input_count"], None),
    "too_many_outputs": (model([node("Gate", ["x"], ["y", "z"], DOMAIN)]), True, ["output_count"], None),
    # wiring
    "dangling_in_if": (in_if([relu("xx", "o")]), False, ["dangling_input"], None),
    "dangling_in_function": (in_function([relu("aa", "b")]), False, ["dangling_input"], None),
    "two_dangling": (model([node("Add", ["p", "q"], ["y"])]), False, ["dangling_input"], None),
    "value_made_twice": (model([relu(), node("Neg", ["x"], ["y"])]), False, ["duplicate_value"], None),
    "initializer_made_again": (model([relu("x", "w"), relu("w")], constants=[constant("w", np.ones(3, np.float32))]), False, ["duplicate_value"], None),
    "made_again_in_if": (in_if([relu("x", "h"), relu("h", "o")], before=[node("Neg", ["x"], ["h"])]), False, ["duplicate_value"], RELU),
    "node_names_in_if": (in_if([relu("x", "h", name="n"), relu("h", "o", name="n")]), False, ["duplicate_node_name"], RELU),
    "node_names_in_function": (in_function([relu("a", "h", name="n"), relu("h", "b", name="n")]), False, ["duplicate_node_name"], RELU),
    "three_node_names": (
        model([relu("x", "h", name="n"), relu("h", "i", name="n"), relu("i", "j", name="n_2"), relu("j", "y", name="n")]), False, ["duplicate_node_name"], RELU,
    ),
    "output_missing": (model([relu("x", "yy")]), False, ["output_not_produced"], None),
    "output_missing_in_if": (in_if([relu("x", "oo")]), False, ["output_not_produced"], None),
    "output_missing_in_function": (in_function([relu("a", "bb")]), False, ["output_not_produced"], None),
    "outer_value_as_output": (in_if([], before=[relu("x", "h")], output="h"), False, ["output_not_produced"], RELU),
    "circle": (model([node("Add", ["x", "b"], ["a"]), relu("a", "b"), relu("b")]), False, ["cycle"], None),
    "circle_of_one": (model([node("Add", ["x", "y"], ["y"])]), False, ["cycle"], None),
    "circle_in_function": (in_function([node("Add", ["a", "d"], ["c"]), relu("c", "d"), relu("d", "b")]), False, ["cycle"], None),
    "circle_through_if": (
        model(
            [node("If", ["flag"], ["a"], then_branch=body([relu("b", "o")]), else_branch=body([relu("b", "p")], "p")), relu("a", "b"), relu("b")],
            constants=[constant("flag", True)],
        ),
        False, ["cycle"], None,
    ),
    "order_in_function": (in_function([relu("c", "b"), relu("a", "c")]), False, ["node_order"], RELU),
    "recursion": (
        model([node("Wrap", ["x"], ["y"], "blocks")], functions=[function([node("Wrap", ["a"], ["b"], "blocks")], (("", 17), ("blocks", 1)))], imports=(("blocks", 1),)),
        False, ["function_recursion"], None,
    ),
    # declarations
    "stale_in_if": (in_if([relu("x", "h"), relu("h", "o")], infos=[value("h", DOUBLE)]), False, ["stale_value_info"], RELU),
    "stale_after_the_operator": (model([gate("x", "h"), relu("h")], infos=[value("h", DOUBLE)]), True, ["stale_value_info"], RELU),
    "stale_integer": (model([relu("x", "h"), relu("h")], infos=[value("h", INT64)]), False, ["stale_value_info"], RELU),
    "stale_output": (model([relu()], outputs=[value("y", DOUBLE)]), False, ["stale_value_info"], RELU),
    "two_stale": (model([relu("x", "h"), relu("h", "i"), relu("i")], infos=[value("h", HALF), value("i", HALF)]), False, ["stale_value_info"], RELU),
    # constants
    "bytes_missing": (model([node("Add", ["x", "w"], ["y"])], constants=[cut(constant("w", np.ones(3, np.float32)), 4)]), False, ["initializer_size"], None),
    "bytes_too_many": (model([node("Add", ["x", "w"], ["y"])], constants=[cut(constant("w", np.ones(3, np.float32)), 2)]), False, ["initializer_size"], None),
    "elements_missing": (model([node("Add", ["x", "w"], ["y"])], constants=[typed("w", 2, [3])]), False, ["initializer_size"], None),
    "elements_missing_in_if": (in_if([node("Add", ["x", "w"], ["o"])], constants=[typed("w", 2, [3])]), False, ["initializer_size"], None),
    "constant_node": (
        model([node("Constant", [], ["w"], value=cut(constant("w", np.ones(3, np.float32)), 4)), node("Add", ["x", "w"], ["y"])]), False, ["initializer_size"], None,
    ),
    # several
    "everything_that_can_be_repaired": (
        model([gate("x", "h", name="n"), node("Gate", ["h"], ["i"], name="n"), relu("i")], ir=99, imports=(), infos=[value("h", DOUBLE)]),
        True, ["duplicate_node_name", "import_missing", "ir_version_too_new", "op_in_default_domain", "stale_value_info"], RELU,
    ),
    "repairable_and_not": (
        model([node("Add", ["x", "nothing"], ["h"]), node("Leaky", ["h"], ["y"], DOMAIN)], ir=None), True,
        ["attribute_missing", "dangling_input", "ir_version_missing"], None,
    ),
    "no_kernel_behind_an_old_version": (
        model([node("Cast", ["x"], ["c"], to=BFLOAT16), relu("c", "r"), node("Cast", ["r"], ["y"], to=FLOAT)], ir=99, imports=()),
        False, ["ir_version_too_new", "no_kernel_for_dtype"], None,
    ),
    "opset_hides_the_operator": (
        model([node("Gate", ["x"], ["h"]), relu("h")], opset=99, imports=()), True, ["op_in_default_domain", "opset_too_new"], RELU,
    ),
    # healthy
    "healthy": (model([gate()]), True, [], RELU),
    "healthy_ir_3": (
        model([node("Add", ["x", "w"], ["y"])], [value("x"), value("w", shape=(3,))], constants=[constant("w", np.ones(3, np.float32))], ir=3, opset=9, imports=()),
        False, [], X + 1,
    ),
    "healthy_function_and_library": (
        model([gate()], functions=[helper.make_function(DOMAIN, "Gate", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)])]), True, [], RELU,
    ),
    "healthy_optional_input_left_out": (model([node("Clip", ["x", "", "w"], ["y"])], constants=[constant("w", np.float32(1))]), False, [], np.minimum(X, 1)),
}


def diagnose(run_graft, file, library, *options):
    done = run_graft("doctor", file, "--json", *(["--library", library] if library else []), *options)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def causes(report):
    return sorted({cause["code"] for cause in report["causes"]})


def compute(file, library):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if library:
        options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"]).run(None, {"x": X})[0]


@pytest.mark.parametrize("name", CASES)
def test_variant(name, case_ops, run_graft, tmp_path):
    made, with_library, expected, computed = CASES[name]
    library = case_ops if with_library else None
    file = save(made, tmp_path / "model.onnx")
    before = file.read_bytes()
    code, report = diagnose(run_graft, file, library)
    assert causes(report) == expected, json.dumps(report["causes"], indent=1)
    assert code == (1 if expected else 0) and report["healthy"] == (not expected)
    for cause in report["causes"]:
        assert cause["evidence"] and (cause["cure"] or cause["fixable"])

    (tmp_path / "out").mkdir()
    output = tmp_path / "out" / "fixed.onnx"
    code, report = diagnose(run_graft, file, library, "--fix", "-o", output)
    assert file.read_bytes() == before
    if computed is None:
        assert code == 1 and report["fix"]["loads"] is False
        assert report["fix"]["written"] == bool(report["fix"]["done"]) == output.exists()
        return
    np.testing.assert_allclose(compute(output, case_ops if "library_not_registered" in expected else library), computed, rtol=1e-5, atol=1e-6)
    if "library_not_registered" not in expected:
        assert code == 0 and diagnose(run_graft, output, library)[1]["healthy"]
