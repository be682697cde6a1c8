"""What the docs say is what the code does."""

import re
import subprocess

import pytest


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_operators_of_the_readme_compile(root, tmp_path):
    """The first block is ops/hard_swish.cc itself, with the domain that the build gives it."""
    code = blocks((root / "README.md").read_text(), "cpp")
    assert code[0] == (root / "ops/hard_swish.cc").read_text()
    for i, block in enumerate(code):
        source = tmp_path / f"block{i}.cc"
        source.write_text(block)
        headers = next(f for f in (root / ".cache/onnxruntime/include", root / "include") if f.exists())
        subprocess.run(["g++", "-std=c++20", "-fsyntax-only", '-DGRAFT_DOMAIN="graft"', "-I", root / "include", "-isystem", headers, source], check=True)


def test_every_reason_code_is_explained(root):
    codes = re.findall(r'Reason::\w+, "(\w+)"', (root / "src/rewrite/reason.cc").read_text())
    page = (root / "docs/reference/reasons.md").read_text()
    assert len(codes) > 10
    assert re.findall(r"^\| `(\w+)`", page, re.MULTILINE) == codes


def test_every_cause_of_the_doctor_is_explained(root):
    source = (root / "src/doctor/cause.cc").read_text()
    entries = re.findall(r'\{Cause::\w+, "(\w+)",\s*((?:"[^"]*"\s*)+)\}', source)
    causes = [(code, "".join(re.findall(r'"([^"]*)"', text))) for code, text in entries]
    assert len(causes) == len(set(causes)) == source.count("{Cause::") > 40
    page = (root / "docs/reference/doctor.md").read_text()
    assert re.findall(r"^\| `(\w+)` \| (.*?) \| .*\|$", page, re.MULTILINE) == causes


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/design.md", "docs/errors.md", "docs/reference/doctor.md", "docs/reference/verify.md", "docs/reference/check.md"])
def test_links_lead_somewhere(page, root):
    for target in re.findall(r"\]\((?!http)([^)#]+)", (root / page).read_text()):
        assert ((root / page).parent / target).exists(), f"{page} links to {target}"


def test_the_page_of_programs_lists_the_operators_and_names(root):
    """docs/reference/program.md against the table that parser, operators and command share."""
    header = (root / "ops/fused/program.h").read_text()
    rows = re.findall(r'OpInfo\{Op::\w+, "(\w+)", (\d), Operands::(\w+)\}', header)
    page = (root / "docs/reference/program.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \|.*?\| (.*?) \|", page, re.MULTILINE)
    takes = {
        ("1", "numbers"): "a number", ("1", "floats"): "a float", ("1", "tested"): "a float; gives bool", ("1", "logical"): "a bool",
        ("1", "any"): "anything; gives T", ("2", "numbers"): "two numbers", ("2", "floats"): "two floats",
        ("2", "compared"): "two of one type; gives bool", ("2", "logical"): "two bools", ("3", "numbers"): "x, low, high: numbers",
        ("3", "chosen"): "a bool, then two of T",
    }
    assert listed == [(name, "two integers" if name == "mod" else takes[arity, operands]) for name, arity, operands in rows]
    kinds = re.search(r"kTypeNames = \{(.*?)\}", header).group(1).replace('"', "").split(", ")
    sizes = re.search(r"kPoolSizes = \{(.*?)\}", (root / "ops/fused/pool.h").read_text()).group(1).split(", ")
    names = re.findall(r"^\| (\w+) \| `Fused_\w+_0` to `Fused_(\w+)_(\d+)` \|", page, re.MULTILINE)
    assert names == [(kind, kind, str(int(size) - 1)) for kind, size in zip(kinds, sizes)]
    assert f"The {sum(map(int, sizes))} names" in page
