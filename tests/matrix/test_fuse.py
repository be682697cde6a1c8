"""Fused models of both engines on many versions of ONNX Runtime: what was fused on this one runs on all, with the library and
without, and computes what the original computes there."""

import numpy
import onnx
import pytest

from fuse import meaning, random_graphs
from fuse import property as holds
from matrix.test_runtimes import TOLERANCE, largest_difference, page_of_text
from matrix.versions import OWN, VERSIONS, run_model

# Random models of tests/fuse that every version can run: opsets 16, 13, 15 with functions, loops, floats of three sizes.
SEEDS = [12, 24, 58]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fused")


@pytest.fixture(scope="module", params=["portable", "compiled"])
def engine(request):
    return request.param


@pytest.fixture(scope="module")
def fused(engine, folder, run_graft, ops_library):
    """Gives a function that fuses a model: the result, its library, and the domain of its operators."""

    def fuse(model):
        output, library = folder / f"{model.stem}.{engine}.onnx", folder / f"{model.stem}.so"
        domain = f"test.{model.stem}".replace("-", "_") if engine == "compiled" else "graft"
        options = ["--compile", "--domain", domain, "--library-out", library] if engine == "compiled" else []
        if not output.exists():
            run_graft("fuse", model, "-o", output, "--no-measure", "--no-verify", *options, check=0,
                      env={"XDG_CACHE_HOME": str(folder / "cache")}, timeout=900)
        return output, library if engine == "compiled" else ops_library, domain

    return fuse


def count(model, domain):
    return sum(node.domain == domain for node in onnx.load(model).graph.node)


@pytest.mark.parametrize("version", VERSIONS)
def test_detector(version, fused, folder, models):
    original = models / "pp-ocrv4-det.onnx"
    candidate, library, domain = fused(original)
    inputs = folder / "page.npz"
    numpy.savez(inputs, x=page_of_text())
    (before,) = run_model(version, folder, original, inputs, folder / "before.npz")[0].values()
    found, ran = run_model(version, folder, candidate, inputs, folder / "with.npz", library)
    assert sum(ran.get(op, 0) for op in {n.op_type for n in onnx.load(candidate).graph.node if n.domain == domain}) == count(candidate, domain) > 20
    assert largest_difference(next(iter(found.values())), before) <= TOLERANCE
    alone, _ = run_model(version, folder, candidate, inputs, folder / "without.npz")
    assert largest_difference(next(iter(alone.values())), before) <= TOLERANCE


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_model(seed, version, fused, folder):
    made = random_graphs.make(seed)
    original = folder / f"random-{seed}.onnx"
    if not original.exists():
        onnx.save(made.model, original)
    candidate, library, domain = fused(original)
    assert holds.fused_nodes(onnx.load(candidate), domain)
    inputs = folder / "inputs.npz"
    numpy.savez(inputs, **made.feeds[0])
    expected = meaning.evaluate(made.model, made.feeds[0])
    before, _ = run_model(version, folder, original, inputs, folder / "before.npz")
    for used in (library, None):
        found, _ = run_model(version, folder, candidate, inputs, folder / "found.npz", used)
        for name, value in found.items():
            fault = holds.compare(expected[name], before[name], value, holds.Figures())
            assert not fault, f"{name} {'with' if used else 'without'} the library: {fault}"


def test_what_they_give_on_all_versions_is_the_same(fused, folder, models):
    candidate, library, _ = fused(models / "pp-ocrv4-det.onnx")
    inputs = folder / "page.npz"
    numpy.savez(inputs, x=page_of_text())
    found = {v: next(iter(run_model(v, folder, candidate, inputs, folder / "any.npz", library)[0].values())) for v in VERSIONS}
    differences = {v: largest_difference(value, found[OWN]) for v, value in found.items()}
    assert max(differences.values()) <= TOLERANCE, differences
