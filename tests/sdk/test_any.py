"""Variadic<Any>: any number of inputs, each of its own type, inside ORT."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import ort  # noqa: E402

DOMAIN = "sdk.params"
NUMBERS = ["float", "double", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
NUMPY = {"float": "float32", "double": "float64"}


@pytest.fixture(scope="module")
def library(build):
    return build / "libsdk_ops.so"


def of_type(name, shape=(3,)):
    return np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape).astype(NUMPY.get(name, name))


def test_every_input_has_its_own_type(library):
    words = np.array(["a", "", "zwölf", "nul\0inside"], object)
    arrays = [*(of_type(name) for name in NUMBERS), words]
    model = ort.one_node("Sums", DOMAIN, [*((name, ["n"]) for name in NUMBERS), ("string", ["m"])], output_types=["double"])
    expected = [float(a.astype(float).sum()) for a in arrays[:-1]] + [sum(len(w.encode()) for w in words)]
    assert ort.run(model, library, *arrays)[0].tolist() == expected


@pytest.mark.parametrize("types", [["float"], ["int64"], ["string"], ["float", "float"], ["bool", "float", "bool"]], ids=str)
def test_any_number_of_them(types, library):
    arrays = [np.array(["ab", "c", ""], object) if t == "string" else of_type(t) for t in types]
    model = ort.one_node("Sums", DOMAIN, [(t, ["n"]) for t in types], output_types=["double"])
    expected = [3.0 if t == "string" else float(a.sum()) for t, a in zip(types, arrays)]
    assert ort.run(model, library, *arrays)[0].tolist() == expected


def test_one_library_serves_nodes_of_different_types(library):
    """ORT merges what it knows of an operator; each node must still see its own types."""
    for types in (["float", "int64"], ["int64", "float"], ["int32"], ["float", "int64"]):
        model = ort.one_node("Sums", DOMAIN, [(t, ["n"]) for t in types], output_types=["double"])
        assert ort.run(model, library, *(of_type(t) for t in types))[0].tolist() == [6.0] * len(types)


def test_a_list_of_types(library):
    x = np.zeros(4, np.float32)
    model = ort.one_node("AddAll", DOMAIN, [("float", [4]), ("int64", [2]), ("float", [4])])
    assert ort.run(model, library, x, np.array([1, 2]), np.full(4, 0.5, np.float32))[0].tolist() == [1.5, 2.5, 1.5, 2.5]


def test_a_type_that_is_not_listed_is_named_when_the_session_is_made(library):
    model = ort.one_node("AddAll", DOMAIN, [("float", [4]), ("int64", [2]), ("double", [4])])
    assert ('sdk.params::AddAll (node "the_node"): input more[1]: expected one of tensor(float), tensor(int64), got tensor(double)'
            in ort.error_of(ort.session, model, library))


def test_the_shape_is_inferred_beside_them(library):
    model = ort.one_node("AddAll", DOMAIN, [("float", ["batch", 4]), ("int64", [2])])
    assert ort.session(model, library).get_outputs()[0].shape == ["batch", 4]


def test_types_and_outputs_are_known_before_the_first_call(library):
    arrays = [of_type("float", (2, 1)), of_type("int64", (3,)), np.array(True)]
    inputs = [("float", [2, 1]), ("int64", ["n"]), ("bool", [])]
    model = ort.one_node("Tally_0", DOMAIN, inputs, ["y", "z"], ["int64"] * 2, unit="types")
    y, z = ort.run(model, library, *arrays)
    assert y.shape == z.shape == (2, 3) and (y == 10709).all() and (z == 10710).all()
    model = ort.one_node("Tally_1", DOMAIN, inputs, ["y", "z"], ["int64"] * 2, unit="outputs")
    assert (ort.run(model, library, *arrays)[0] == 2).all()


def test_a_required_member_has_no_default(library):
    model = ort.one_node("Tally_0", DOMAIN, [("float", [4])], output_types=["int64"])
    assert "the attribute unit (string) is required, and missing" in ort.error_of(ort.session, model, library)


def test_variadic_inputs_broadcast(library):
    def shape_of(*shapes):
        model = ort.one_node("Tally_0", DOMAIN, [("float", list(s)) for s in shapes], output_types=["int64"], unit="types")
        return ort.run(model, library, *(np.zeros(s, np.float32) for s in shapes))[0].shape
    assert shape_of((), ()) == ()
    assert shape_of((), (4, 1, 3), (2, 1), (1,)) == (4, 2, 3)
    assert shape_of((1, 1), (5,), (3, 1, 1)) == (3, 1, 5)
    assert shape_of((2, 0), (1, 1)) == (2, 0)
    assert "dimensions 2 and 3 do not broadcast" in ort.error_of(shape_of, (4, 2), (3,))


def test_the_shape_of_the_first_variadic_output_is_inferred(library):
    model = ort.one_node("Tally_0", DOMAIN, [("float", [2, "n", 1]), ("int64", [4])], output_types=["int64"], unit="types")
    assert ort.session(model, library).get_outputs()[0].shape == [2, "n", 4]
