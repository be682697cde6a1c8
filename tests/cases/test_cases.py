"""`graft inject` on every case of cases.json: what it finds and refuses, what it keeps, what the result computes."""

import collections
import json
import lzma
import shutil
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

FOLDER = Path(__file__).parent
CASES = [case for case in json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))["cases"] if case["kind"] == "inject"]
DOMAIN = "my.ops"
# rtol and atol where a case names none: what a definition's own rounding may do.
TOLERANCES = {"float32": (1e-5, 1e-6), "float16": (4e-3, 2e-3), "float64": (1e-12, 1e-13)}


def unpack(case, folder):
    """Puts the case's model and its data files into a folder of their own."""
    folder.mkdir()
    source = FOLDER / case["file"]
    target = folder / source.name.removesuffix(".xz")
    if source.suffix == ".xz":
        target.write_bytes(lzma.decompress(source.read_bytes()))
    else:
        shutil.copyfile(source, target)
    for name in case.get("files", []):
        shutil.copyfile(FOLDER / name, folder / Path(name).name)
    return target


def inject(run_graft, case, model, output, library, *options):
    started = time.monotonic()
    done = run_graft("inject", model, "--library", library, "-o", output, "--json", *options)
    seconds = time.monotonic() - started
    assert done.returncode in (0, 1), done.stderr
    assert seconds <= case["expect"].get("seconds_at_most", 20)
    return done.returncode, json.loads(done.stdout), done.stderr


def of_all(report, kind):
    return [dict(entry, op=operator["name"].split(":")[1]) for operator in report["operators"] for entry in operator[kind]]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case, case_ops, run_graft, tmp_path):
    expect, keep = case["expect"], case["keep"]
    model = unpack(case, tmp_path / "before")
    before = model.read_bytes()
    (tmp_path / "after").mkdir()
    output = tmp_path / "after" / "model.onnx"
    code, report, error = inject(run_graft, case, model, output, case_ops, "--no-verify")
    assert model.read_bytes() == before

    sites = {(s["scope"], s["op"], tuple(s["inputs"]), s["output"]) for s in of_all(report, "sites")}
    if not expect.get("sites_omitted"):
        assert sites == {(s["scope"], s["op"], tuple(s["inputs"]), s["output"]) for s in expect["sites"]}
    assert report["places"] == expect["replacements"]
    misses = {(m["scope"], m["op"], m["output"]): m["reason"] for m in of_all(report, "near_misses")}
    for refused in expect["refused"]:
        assert misses.get((refused["scope"], refused["op"], refused["output"])) == refused["reason"]
    others = {m: reason for m, reason in misses.items() if m not in {(r["scope"], r["op"], r["output"]) for r in expect["refused"]}}
    assert set(others.values()) <= {"one_node_already"}, others

    if expect["replacements"] == 0:
        if expect.get("reason") == "already_injected":
            assert code == 0 and output.read_bytes() == before and report["outcome"] == "already_injected"
        else:
            assert code == 1 and not output.exists() and error.count("\n") == 1
        assert sorted(p.name for p in output.parent.iterdir()) == ([output.name] if output.exists() else [])
        return
    assert code == 0
    result = onnx.load(output, load_external_data=False)
    check_kept(case, onnx.load_from_string(before), result)
    check_counts(expect, result)
    check_named(expect, result)
    check_runs(case, output, case_ops)
    if expect.get("fallback", True):
        assert any(f.domain == DOMAIN for f in result.functions)
        check_runs(case, output, None)
    if case["onnx_checker"] == "ok" or case["id"] == "hs_unsorted_nodes":
        for name in case.get("files", []):
            # The checker of onnx 1.19 and later refuses data files with several hard links; ONNX Runtime takes them.
            linked = output.parent / Path(name).name
            data = linked.read_bytes()
            linked.unlink()
            linked.write_bytes(data)
        onnx.checker.check_model(str(output), full_check=True)

    again = tmp_path / "after" / "again.onnx"
    code, report, _ = inject(run_graft, case, output, again, case_ops, "--no-verify")
    assert code == 0 and report["places"] == 0 and again.read_bytes() == output.read_bytes()


@pytest.mark.parametrize("case", [c for c in CASES if c["expect"]["replacements"]], ids=lambda case: case["id"])
def test_case_is_verified(case, case_ops, run_graft, tmp_path):
    model = unpack(case, tmp_path / "before")
    output = tmp_path / "injected.onnx"
    code, report, error = inject(run_graft, case, model, output, case_ops, "--seconds", "0")
    assert code == 0, error
    verification = report["verification"]
    assert verification["passed"] and verification["runs_without_library"] == case["expect"].get("fallback", True)


@pytest.mark.parametrize("case", [c for c in CASES if c["expect"]["replacements"]], ids=lambda case: case["id"])
def test_the_way_back(case, case_ops, run_graft, tmp_path):
    """Ejects what was injected: standard operators only, the same outputs, and what the user had untouched."""
    model = unpack(case, tmp_path / "before")
    injected, output = tmp_path / "before" / "injected.onnx", tmp_path / "before" / "ejected.onnx"
    inject(run_graft, case, model, injected, case_ops, "--no-verify")
    libraries = [] if case["expect"].get("fallback", True) else ["--library", case_ops]
    report = json.loads(run_graft("eject", injected, "-o", output, "--no-verify", "--json", *libraries, check=0).stdout)
    before, result = onnx.load(model, load_external_data=False), onnx.load(output, load_external_data=False)
    own = {f"{f.domain}:{f.name}" for f in before.functions}
    assert report["outcome"] == "ejected" and report["places"] >= case["expect"]["replacements"]
    nodes = [*all_nodes(result.graph.node), *(n for f in result.functions for n in all_nodes(f.node))]
    assert {f"{n.domain}:{n.op_type}" for n in nodes if n.domain == DOMAIN} <= own and report["left"] == {}
    assert {f"{f.domain}:{f.name}" for f in result.functions} <= own
    kept = {i.domain: i.version for i in before.opset_import}
    assert {i.domain: i.version for i in result.opset_import if i.domain != DOMAIN} == {d: v for d, v in kept.items() if d != DOMAIN}
    assert [value_text(v) for v in result.graph.output] == [value_text(v) for v in before.graph.output]
    check_runs(case, output, None)


def value_text(value):
    tensor = value.type.tensor_type
    shape = [d.dim_param if d.HasField("dim_param") else d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
    return value.name, tensor.elem_type, shape


def properties(entries):
    return {p.key: p.value for p in entries}


def check_kept(case, before, after):
    keep, expect = case["keep"], case["expect"]
    assert [value_text(v) for v in after.graph.input] == [value_text(v) for v in before.graph.input]
    assert [value_text(v) for v in after.graph.output] == [value_text(v) for v in before.graph.output]
    versions = keep["ir_version"] if isinstance(keep["ir_version"], list) else [keep["ir_version"]]
    assert after.ir_version in versions
    imports = {i.domain: i.version for i in after.opset_import}
    assert len(imports) == len(after.opset_import)
    assert {d: v for d, v in imports.items() if d != DOMAIN} == {d: v for d, v in keep["imports"].items() if d != DOMAIN}
    assert imports[DOMAIN] == expect.get("imports_after", {}).get(DOMAIN, 1)
    functions = [f"{f.domain}:{f.name}" for f in after.functions]
    assert set(keep.get("functions", [])) <= set(functions) and len(set(functions)) == len(functions)
    added = set(functions) - set(keep.get("functions", []))
    assert added <= {f"{DOMAIN}:{s['op']}" for s in expect["sites"]} | {f"{DOMAIN}:HardSwish"}
    assert not after.training_info
    for field in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        assert getattr(after, field) == getattr(before, field) and getattr(before, field) == keep.get(field, getattr(before, field))
    assert properties(after.metadata_props) == properties(before.metadata_props) == keep.get("metadata_props", {})
    assert (after.graph.name, after.graph.doc_string) == (before.graph.name, before.graph.doc_string)
    assert properties(after.graph.metadata_props) == properties(before.graph.metadata_props)
    assert [i.doc_string for i in after.graph.input] == [i.doc_string for i in before.graph.input]
    for note in keep.get("node_notes", []):
        node = next(n for n in after.graph.node if note["output"] in n.output)
        assert node.doc_string == note.get("doc_string", "") and properties(node.metadata_props) == note.get("metadata_props", {})
    # What is left of the initializers is byte by byte what it was.
    tensors = {t.name: t.SerializeToString() for t in before.graph.initializer}
    assert all(tensors[t.name] == t.SerializeToString() for t in after.graph.initializer)
    names = [n.name for n in after.graph.node if n.name]
    assert len(names) == len(set(names))
    required = [i.name for i in after.graph.input if i.name not in {t.name for t in after.graph.initializer}]
    assert required == expect.get("required_inputs_after", keep["required_inputs"])


def all_nodes(nodes):
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from all_nodes(graph.node)


def check_counts(expect, model):
    nodes = list(all_nodes(model.graph.node))
    for function in model.functions:
        if function.domain != DOMAIN:
            nodes += all_nodes(function.node)
    counts = collections.Counter(f"{n.domain}:{n.op_type}" if n.domain else n.op_type for n in nodes)
    counts.pop("Constant", None)
    assert dict(counts) == {op: n for op, n in expect["op_counts_after"].items() if op != "Constant"}


def check_named(expect, model):
    values = {o for n in all_nodes(model.graph.node) for o in n.output} | {v.name for v in model.graph.input}
    assert set(expect.get("must_stay_values", [])) <= values
    gone = set(expect.get("gone_values", []))
    assert not gone & values and not gone & {v.name for v in model.graph.value_info}
    for name, domains in expect.get("function_imports", {}).items():
        function = next(f for f in model.functions if f"{f.domain}:{f.name}" == name)
        assert set(domains) <= {i.domain for i in function.opset_import}


def check_runs(case, model, library):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if library:
        options.register_custom_ops_library(str(library))
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    assert case["runs"]
    for run in case["runs"]:
        with np.load(FOLDER / run["data"]) as data:
            feeds = {i["name"]: data[i["key"]] for i in run["inputs"]}
            wanted = [(o["name"], data[o["key"]]) for o in run["outputs"]]
        for (name, want), got in zip(wanted, session.run([name for name, _ in wanted], feeds), strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype, name
            if got.dtype.kind == "f":
                rtol, atol = TOLERANCES[str(got.dtype)]
                rtol, atol = case.get("tolerance", {}).get("rtol", rtol), case.get("tolerance", {}).get("atol", atol)
                np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol, atol, equal_nan=True, err_msg=name)
            else:
                assert np.abs(got.astype(np.int64) - want.astype(np.int64)).max(initial=0) <= case.get("integer_tolerance", 0), name
