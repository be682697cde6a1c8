"""`graft fuse` on models made at random: the fused one has the shape of the original, and computes no worse, with the library and
without.

Everything follows from seeds, one a model; a failure prints its own. GRAFT_SEED=17 runs that one, GRAFT_SEED=100-500 those;
scripts/fuse_property.sh runs some thousand graphs and prints figures.
"""

import json
import os

import onnx
import pytest

from fuse import random_graphs
from fuse import property as holds

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

SEED = os.environ.get("GRAFT_SEED", "")


def seeds(usual):
    """Gives the seeds of the run: those of the suite, or those asked for."""
    if not SEED:
        return usual
    first, _, last = SEED.partition("-")
    return range(int(first), int(last or first) + 1)


def in_blocks(items, size):
    items = list(items)
    return [items[i : i + size] for i in range(0, len(items), size)]


def fuse(run_graft, folder, made, *options, env=None):
    """Fuses a model; gives the result, or nothing when it has nothing to fuse."""
    before, output = folder / "before.onnx", folder / "fused.onnx"
    output.unlink(missing_ok=True)
    onnx.save(made.model, before)
    done = run_graft("fuse", before, "-o", output, "--no-measure", "--no-verify", "--json", *options, env=env, timeout=600)
    assert done.returncode in (0, 1), f"exit code {done.returncode}: {done.stderr}"
    assert json.loads(done.stdout)["outcome"] == ("fused" if done.returncode == 0 else "nothing_pays")
    assert output.exists() == (done.returncode == 0)
    return onnx.load(output) if done.returncode == 0 else None


def check(made, after, library, figures, domain="graft"):
    """Checks all that must hold; gives what does not, a line each."""
    fault = holds.structure_fault(made.model, after)
    if fault:
        return [fault]
    assert holds.fused_nodes(after, domain)
    functions = made.model.ir_version >= 4
    return [f"{name}, {how}: {what}" for name, how, what in
            holds.differences(made.model, after, made.feeds, library, figures, without=functions)]


def report(faults, figures, engine):
    if os.environ.get("GRAFT_FIGURES"):
        with open(os.environ["GRAFT_FIGURES"], "a", encoding="utf-8") as file:
            file.write(json.dumps({"engine": engine, **vars(figures)}) + "\n")
    if faults:
        pytest.fail("\n".join(f"GRAFT_SEED={seed}: {fault}" for seed, fault in faults), pytrace=False)


@pytest.mark.parametrize("block", in_blocks(seeds(range(1, 51)), 5), ids=lambda block: f"{block[0]}-{block[-1]}")
def test_portable(block, run_graft, ops_library, tmp_path):
    figures, faults = holds.Figures(), []
    for seed in block:
        made = random_graphs.make(seed)
        figures.graphs += made.graphs
        try:
            after = fuse(run_graft, tmp_path, made)
            if after is None:
                continue
            figures.operators += len(holds.fused_nodes(after))
            faults += [(seed, fault) for fault in check(made, after, ops_library, figures)]
            if seed % 5 == 0:
                # ORT makes one node of two that are alike: with one in a region the other is left, and may begin a region of
                # its own. Else there is nothing more.
                twice = fuse(run_graft, tmp_path, random_graphs.Made(seed, after), "--library", ops_library)
                if twice is not None:
                    figures.again += 1
                    more = len(holds.fused_nodes(twice)) - len(holds.fused_nodes(after))
                    faults += [(seed, f"fused again: {fault}") for fault in check(made, twice, ops_library, figures)]
                    if more > 2:
                        faults.append((seed, f"{more} more regions in its own result"))
        except Exception as error:  # the seed belongs to it
            faults.append((seed, f"{type(error).__name__}: {error}"))
    report(faults, figures, "portable")


@pytest.mark.parametrize("seed", seeds([1001]))
def test_compiled(seed, run_graft, tmp_path):
    """Many graphs in one model: a compiler starts once for all of them."""
    figures = holds.Figures()
    made = random_graphs.make(seed, graphs=int(os.environ.get("GRAFT_GRAPHS", "10")))
    figures.graphs += made.graphs
    library = tmp_path / "fused.so"
    options = ["--compile", "--domain", "test.random", "--library-out", library]
    after = fuse(run_graft, tmp_path, made, *options, env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    faults = []
    if after is not None:
        figures.operators += len(holds.fused_nodes(after, "test.random"))
        faults = [(seed, fault) for fault in check(made, after, library, figures, "test.random")]
    report(faults, figures, "compiled")
