"""`graft check`: planted faults are found and named, sound operators are not accused, bad calls are refused."""

import json
import re

import pytest


@pytest.fixture(scope="session")
def libraries(build):
    """Gives the libraries with and without planted faults."""
    found = {name: build / f"libcheck_{name}.so" for name in ("faulty", "stuck", "sound")}
    for library in found.values():
        if not library.exists():
            pytest.fail(f"{library} is missing: build the target {library.stem[3:]}", pytrace=False)
    return found


def check(run_graft, library, *arguments, code):
    """Runs `graft check --json` and gives the report."""
    done = run_graft("check", library, "--json", *arguments, check=code)
    report = json.loads(done.stdout)
    assert report["schema"] == "graft.check/1" and report["passed"] is (code == 0)
    return report, done


@pytest.fixture(scope="session")
def faulty(run_graft, libraries):
    """Gives what is found in the faulty library, by operator and code, and the error line."""
    report, done = check(run_graft, libraries["faulty"], code=1)
    found = {one["operator"]: {f["code"]: f for f in one["findings"]} for one in report["checked"]}
    return found, done.stderr


@pytest.mark.parametrize("operator, code", [
    ("EverySecond", "shape_function"), ("Twice", "race"), ("TwiceInBlocks", "race"), ("ReluOfNan", "edge_value"),
    ("AbsoluteZero", "edge_value"), ("Flushed", "edge_value"), ("Off", "wrong_value"), ("Counting", "not_deterministic"),
    ("WritesItsInput", "in_place"), ("Shifted", "wrong_value"), ("DiesOfNothing", "crash"), ("Picky", "attribute"),
    ("AlignedOnly", "entry_differs"), ("LookUp", "not_deterministic"), ("UnsignedNibbles", "wrong_value"),
])
def test_a_planted_fault_is_found_and_no_other(faulty, operator, code):
    found, error = faulty
    assert set(found[f"faulty:{operator}"]) == {code}
    assert f"{operator} {code}" in error and error.count("\n") == 1


def test_a_finding_says_where_and_what(faulty):
    found, _ = faulty
    shape = found["faulty:EverySecond"]["shape_function"]
    assert (shape["shapes"], shape["expected"], shape["got"]) == ("x[1]", "[1]", "[0]")
    nan = found["faulty:ReluOfNan"]["edge_value"]
    assert nan["inputs"].startswith("x=nan, element 0 of") and (nan["expected"], nan["got"]) == ("nan", "0")
    zero = found["faulty:AbsoluteZero"]["edge_value"]
    assert zero["inputs"].startswith("x=-0,") and (zero["expected"], zero["got"]) == ("0", "-0")
    assert found["faulty:Shifted"]["wrong_value"]["attributes"] == "by=4"
    crash = found["faulty:DiesOfNothing"]["crash"]
    assert "run on x[0]" in crash["what"] and "SIGABRT" in crash["got"]


def test_an_operator_that_does_not_come_back_is_ended(run_graft, libraries):
    report, done = check(run_graft, libraries["stuck"], "--seconds", "2", code=1)
    (finding,) = report["checked"][0]["findings"]
    assert finding["code"] == "hang" and "run on x[8]" in finding["what"], finding
    assert done.stderr.endswith("Stuck hang (float)\n")


def test_every_code_has_a_planted_fault(faulty, root):
    codes = set(re.findall(r"^\| `(\w+)`(?:, `(\w+)`)? \|", (root / "docs/reference/check.md").read_text(), re.MULTILINE))
    codes = {code for pair in codes for code in pair if code}
    found = {code for findings in faulty[0].values() for code in findings}
    assert codes - found == {"hang", "refused"}  # a library of its own; what the SDK does not let one write


def test_the_table_and_the_findings_are_printed(run_graft, libraries):
    done = run_graft("check", libraries["faulty"], "--op", "ReluOfNan", check=1)
    assert "faulty:ReluOfNan  float" in done.stdout and "\nfaulty:ReluOfNan float: edge_value\n" in done.stdout
    assert "  at         x=nan" in done.stdout and "  expected   nan\n" in done.stdout
    quiet = run_graft("check", libraries["faulty"], "--op", "ReluOfNan", "--quiet", check=1)
    assert quiet.stdout == "" and quiet.stderr.endswith("1 finding: ReluOfNan edge_value (float)\n")


def test_sound_operators_are_not_accused(run_graft, libraries):
    report, _ = check(run_graft, libraries["sound"], "--seconds", "270", code=0)
    by_name = {(one["operator"].split(":")[1], one["types"]): one for one in report["checked"]}
    assert not any(one["cut_short"] for one in report["checked"])
    for name in ("Lerp", "EverySecond", "Negate"):
        assert by_name[name, "float"]["compared"] > 15
    # Without a definition everything else is run, and it is said that nothing was compared.
    total = by_name["Total", "float"]
    assert total["compared"] == 0 and total["cases"] > 10 and any("no definition" in note for note in total["notes"])
    # Types that are only stored are run too; what is not run is said.
    for types in ("(float8e4m3fn -> float)", "(int4 -> float)"):
        one = by_name["Widen" if "float8" in types else "Unpack", types]
        assert one["compared"] >= one["cases"] > 15 and any("not run where its inputs come from nodes" in note for note in one["notes"])
    assert by_name["Increment", "int4"]["cases"] > 15
    assert by_name["Rotate", "int64"]["cases"] > 30  # also with attributes at their limits


def test_the_ready_made_operators_pass(run_graft, ops_library):
    report, done = check(run_graft, ops_library, code=0)
    assert done.stderr == ""
    pools = [one for one in report["checked"] if "Fused" in one["operator"]]  # compared in tests/ops/test_fused.py
    alone = [one for one in report["checked"] if one not in pools]
    assert {one["types"] for one in alone} == {"float", "double", "float16", "bfloat16"}
    for one in alone:
        assert one["compared"] >= one["cases"] >= 18 and one["refused"] == 0 and not one["notes"]
    assert [one["operator"] for one in pools] == [f"graft:Fused_{t}_0" for t in "f32 f64 f16 bf16 i32 i64 bool".split()]
    for one in pools:
        assert one["cases"] >= 18 and one["refused"] == 0 and one["notes"] == ["not compared with a definition: it has no definition"]
    assert report["opsets"][0] == 17 and report["opsets"][1] > 17


def test_an_older_runtime(run_graft, ops_library, root):
    report, _ = check(run_graft, ops_library, "--op", "Gelu", "--runtime", root / ".cache/onnxruntime/1.20.1", code=0)
    assert report["runtime"] == "1.20.1" and all(one["compared"] >= 18 for one in report["checked"])


def test_only_some_operators_and_shapes(run_graft, libraries):
    report, _ = check(run_graft, libraries["sound"], "--op", "sound:Lerp", "--op", "Negate", code=0)
    assert {one["operator"] for one in report["checked"]} == {"sound:Lerp", "sound:Negate"}
    report, _ = check(run_graft, libraries["sound"], "--op", "Weighted", "--shape", "x=3,4", "--shape", "bias=12", code=0)
    assert report["checked"][0]["refused"] == 0


def test_a_library_of_others_is_checked_with_definitions_from_a_file(run_graft, build, root):
    library = build / "libforeign_ops.so"
    if not library.exists():
        pytest.fail(f"{library} is missing: build the target foreign_ops", pytrace=False)
    report, _ = check(run_graft, library, code=0)
    assert report["recorded"] is True
    assert all(one["compared"] == 0 and one["notes"] for one in report["checked"])
    report, _ = check(run_graft, library, "--definition", root / "tests/foreign/foreign_ops.def", code=0)
    assert all(one["compared"] > 10 for one in report["checked"])


def test_an_attribute_that_is_required_and_not_asked_for_is_a_finding(run_graft, build, tmp_path):
    """The file says that the operator requires an attribute of which it knows nothing."""
    body = "y = Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)"
    file = tmp_path / "wrong.def"
    file.write_text(f'<domain: "foreign.ops", opset_import: ["": 11]>\nHardSwish <beta: float> (x) => (y) {{ {body} }}\n')
    report, _ = check(run_graft, build / "libforeign_ops.so", "--op", "HardSwish", "--definition", file, code=1)
    (finding,) = report["checked"][0]["findings"]
    assert finding["code"] == "attribute" and finding["what"] == "the attribute beta is required and missing"


def test_time_that_is_spent_is_said(run_graft, ops_library):
    report, _ = check(run_graft, ops_library, "--seconds", "0.1", code=0)
    assert any(one["cut_short"] for one in report["checked"])


@pytest.mark.parametrize("arguments, words", [
    (("no_such_file.so",), "does not exist"),
    (("{faulty}", "--op", "Twise"), "--op Twise: "),
    (("{faulty}", "--threads", "0"), "--threads"),
    (("{faulty}", "--shape", "x"), "NAME=1,3,32,32"),
    (("{faulty}", "--shape", "z=3"), "none of the operators has such an input"),
    ((), "library is required"),
])
def test_a_wrong_call_is_refused(run_graft, libraries, arguments, words):
    done = run_graft("check", *[str(a).format(**libraries) for a in arguments], check=2)
    assert done.stderr.count("\n") == 1 and words in done.stderr, done.stderr
