"""A line for each version of ONNX Runtime at the end of the run."""

from collections import Counter

import pytest


@pytest.fixture(autouse=True)
def version_is_recorded(request, record_property):
    version = getattr(request.node, "callspec", None) and request.node.callspec.params.get("version")
    if version:
        record_property("onnxruntime", version)


def pytest_terminal_summary(terminalreporter):
    outcomes, operators = {}, {}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            properties = dict(getattr(report, "user_properties", []))
            version = properties.get("onnxruntime")
            if version:
                outcomes.setdefault(version, Counter())[outcome] += 1
                operators.setdefault(version, properties.get("operators"))
                operators[version] = properties.get("operators", operators[version])
    if not outcomes:
        return
    terminalreporter.section("ONNX Runtime")
    for version in sorted(outcomes, key=lambda v: [int(part) for part in v.split(".")]):
        counts = outcomes[version]
        good = set(counts) == {"passed"}
        line = f"{version:8} {'pass' if good else 'FAIL'}   " + ", ".join(f"{n} {what}" for what, n in counts.items())
        terminalreporter.write_line(line + (f"; tests of operators: {operators[version]}" if operators[version] else ""),
                                    green=good, red=not good)
