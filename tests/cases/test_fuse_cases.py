"""`graft fuse` on every fuse case of cases.json, with both engines: how many regions, what it keeps, what the result computes."""

import collections
import json

import onnx
import pytest

from cases.test_cases import FOLDER, all_nodes, check_runs, properties, unpack, value_text

# ORT makes one LayerNormalization of this chain at every level but the lowest, and what ORT fuses itself is left to it: there
# is nothing to fuse. Run without ORT's optimisation the elementwise parts are there.
FUSED_BY_ORT = {"fuse_layernorm"}
CASES = [case for case in json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))["cases"] if case["kind"] == "fuse"]


def fuse(run_graft, model, output, *options):
    done = run_graft("fuse", model, "-o", output, "--json", *options)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def check_kept(case, before, after, domain):
    keep = case["keep"]
    assert [value_text(v) for v in after.graph.input] == [value_text(v) for v in before.graph.input]
    assert [value_text(v) for v in after.graph.output] == [value_text(v) for v in before.graph.output]
    assert after.ir_version == keep["ir_version"]
    assert {i.domain: i.version for i in after.opset_import} == {**keep["imports"], domain: 1}
    assert {f"{f.domain}:{f.name}" for f in after.functions} == {f"{domain}:{n.op_type}" for n in after.graph.node if n.domain == domain}
    assert (after.graph.name, after.graph.doc_string) == (before.graph.name, before.graph.doc_string)
    assert properties(after.metadata_props) == properties(before.metadata_props)
    tensors = {t.name: t.SerializeToString() for t in before.graph.initializer}
    assert all(tensors[t.name] == t.SerializeToString() for t in after.graph.initializer)
    counts = collections.Counter(n.op_type for n in all_nodes(after.graph.node))
    was = collections.Counter(n.op_type for n in all_nodes(before.graph.node))
    assert dict(was) == case["expect"]["op_counts_before"]
    for op in case["expect"]["must_stay_ops"]:
        assert counts[op] == was[op]


@pytest.mark.parametrize("engine", ["portable", "compiled"])
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_fuse_case(case, engine, ops_library, run_graft, tmp_path):
    expect = case["expect"]["regions"]
    model = unpack(case, tmp_path / "before")
    output = tmp_path / "fused.onnx"
    compiled = engine == "compiled"
    options = ["--compile", "--domain", "test.fused"] if compiled else []
    if case["id"] in FUSED_BY_ORT:
        code, report, error = fuse(run_graft, model, output, "--no-measure", *options)
        assert code == 1 and report["regions"] == 0 and "ORT itself fuses all its elementwise nodes" in error
        options += ["--optimisation", "none"]
    code, report, error = fuse(run_graft, model, output, "--no-measure", *options)
    assert expect["at_least"] <= report["regions"] <= expect["at_most"]
    if report["regions"] == 0:
        assert code == 1 and not output.exists() and error.count("\n") == 1
        return
    assert code == 0, error
    assert report["verification"]["passed"] and report["verification"]["runs_without_library"]
    library = output.with_suffix(".so") if compiled else ops_library
    result = onnx.load(output)
    onnx.checker.check_model(result, full_check=True)
    check_kept(case, onnx.load(model), result, "test.fused" if compiled else "graft")
    check_runs(case, output, library)
    check_runs(case, output, None)
