"""One library, one injected model, many versions of ONNX Runtime: the same answer everywhere, with and without the library.

The versions are those that scripts/setup/runtimes/versions.txt lists for this Python, and the one in .venv;
scripts/matrix.sh runs it on all of them. Each run has a process of its own.
"""

from collections import namedtuple

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

from matrix.versions import OWN, VERSIONS, run_model

# The output is a probability per pixel. Versions differ by up to 8e-7 on the original model (other convolution code),
# and the fused operator rounds once where the chain rounds four times; both grow little over the network's 24 places.
TOLERANCE = 1e-5

Answer = namedtuple("Answer", "value ran")


def page_of_text(height=320, width=320):
    """Draws black strokes, in words and lines, on white: the detector finds text in it, so that its answer means something."""
    random = numpy.random.default_rng(7)
    page = numpy.full((height, width), 1, numpy.float32)
    for top in range(20, height - 30, 30):
        for left in range(16, width - 20, 10):
            if random.random() < 0.2:
                continue  # between words
            for _ in range(3):
                if random.random() < 0.5:
                    row = top + random.integers(0, 12)
                    page[row : row + 2, left : left + 8] = -1
                else:
                    column = left + random.integers(0, 6)
                    page[top : top + 14, column : column + 2] = -1
    return numpy.stack([page] * 3)[None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("matrix")


@pytest.fixture(scope="module")
def original(models):
    return models / "pp-ocrv4-det.onnx"


@pytest.fixture(scope="module")
def injected(original, folder, run_graft, ops_library):
    """Gives the detector with the operators injected."""
    output = folder / "injected.onnx"
    run_graft("inject", original, "--library", ops_library, "-o", output, check=0)
    return output


@pytest.fixture(scope="module")
def places(injected):
    """Gives the number of nodes that are the library's."""
    count = sum(node.domain == "graft" for node in onnx.load(injected).graph.node)
    assert count == 24
    return count


@pytest.fixture(scope="module")
def answer(folder):
    """Gives a function that runs a model on a version of ONNX Runtime, once for each combination."""
    inputs = folder / "page.npz"
    numpy.savez(inputs, x=page_of_text())
    known = {}

    def run(version, model, library=None):
        key = (version, model, library)
        if key in known:
            return known[key]
        found, ran = run_model(version, folder, model, inputs, folder / f"{len(known)}.npz", library)
        (value,) = found.values()
        known[key] = Answer(value, ran)
        return known[key]

    return run


def largest_difference(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype
    return float(numpy.abs(a.astype(numpy.float64) - b).max())


def test_the_original_finds_text(answer, original):
    value = answer(OWN, original).value
    assert value.max() > 0.9 and 0.05 < (value > 0.3).mean() < 0.5


@pytest.mark.parametrize("version", VERSIONS)
def test_with_the_library(answer, original, injected, ops_library, places, version):
    found = answer(version, injected, ops_library)
    assert found.ran.get("HardSwish") == places
    assert largest_difference(found.value, answer(version, original).value) <= TOLERANCE


@pytest.mark.parametrize("version", VERSIONS)
def test_without_any_library(answer, original, injected, version):
    found = answer(version, injected)
    before = answer(version, original)
    # The embedded functions are the chains that were there: the same nodes run, and give the same bits.
    assert found.ran == before.ran
    assert numpy.array_equal(found.value, before.value)


@pytest.mark.parametrize("library", ["with the library", "without"])
def test_the_versions_agree(answer, original, injected, ops_library, library):
    before = answer(OWN, original).value
    differences = {
        version: largest_difference(
            answer(version, injected, ops_library if library != "without" else None).value, before
        )
        for version in VERSIONS
    }
    assert max(differences.values()) <= TOLERANCE, differences


def chains_of_two_types(path, opset):
    """Writes a model of a HardSwish chain and an erf GELU in float, and the same in double behind a Cast."""
    nodes, tensors, value = [], [], "x"
    for prefix, element in (("f", numpy.float32), ("d", numpy.float64)):
        def name(part, prefix=prefix):
            return f"{prefix}_{part}"
        nodes += [helper.make_node("Cast", [value], [name("x")], to=helper.np_dtype_to_tensor_dtype(numpy.dtype(element))),
                  helper.make_node("Add", [name("x"), name("3")], [name("a")]),
                  helper.make_node("Clip", [name("a"), name("0"), name("6")], [name("c")]),
                  helper.make_node("Mul", [name("x"), name("c")], [name("m")]),
                  helper.make_node("Div", [name("m"), name("6")], [name("h")])]
        if element == numpy.float32:  # ORT's CPU has no Erf of double
            nodes += [helper.make_node("Div", [name("h"), name("root")], [name("r")]), helper.make_node("Erf", [name("r")], [name("e")]),
                      helper.make_node("Add", [name("e"), name("1")], [name("p")]), helper.make_node("Mul", [name("h"), name("p")], [name("q")])]
        nodes.append(helper.make_node("Mul", [name("q" if element == numpy.float32 else "h"), name("half")], [name("g")]))
        tensors += [numpy_helper.from_array(numpy.array(v, element), name(n)) for n, v in
                    {"3": 3, "0": 0, "6": 6, "1": 1, "half": 0.5, "root": 2 ** 0.5}.items()]
        value = name("g")
    nodes.append(helper.make_node("Cast", [value], ["y"], to=onnx.TensorProto.FLOAT))
    values = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 3, 320, 320]) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


@pytest.fixture(scope="module", params=[13, 17])
def two_types(request, folder, run_graft, ops_library):
    """Gives a model with sites of two types and the same injected: below opset 15 the nodes bring the literals."""
    model, output = folder / f"types{request.param}.onnx", folder / f"types{request.param}_injected.onnx"
    run_graft("inject", chains_of_two_types(model, request.param), "--library", ops_library, "-o", output, "--no-verify", check=0)
    nodes = [n for n in onnx.load(output).graph.node if n.domain == "graft"]
    assert [n.op_type for n in nodes] == ["HardSwish", "Gelu", "HardSwish"]
    assert bool(nodes[0].attribute) == (request.param < 15)
    return model, output


@pytest.mark.parametrize("version", VERSIONS)
def test_fallbacks_of_two_types(answer, two_types, ops_library, version):
    model, output = two_types
    before = answer(version, model).value
    for library in (ops_library, None):
        # One rounding in place of several of numbers up to 1, and ORT's own Erf.
        assert largest_difference(answer(version, output, library).value, before) <= 1e-6
