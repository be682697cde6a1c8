"""The versions of ONNX Runtime that the tests run on."""

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALL = os.environ.get("GRAFT_MATRIX") == "all"


def other_versions():
    """Gives those of scripts/setup/runtimes/versions.txt for this Python; all of them with GRAFT_MATRIX=all."""
    python = "%d.%d" % sys.version_info[:2]
    for line in (ROOT / "scripts/setup/runtimes/versions.txt").read_text().splitlines():
        if line.split()[:1] == [python]:
            always, _, more = line.split(maxsplit=1)[1].partition("|")
            return always.split() + (more.split() if ALL else [])
    raise LookupError(f"scripts/setup/runtimes/versions.txt has no line for Python {python}")


OWN = version_of("onnxruntime")
OTHERS = sorted(other_versions(), key=lambda version: [int(part) for part in version.split(".")])
VERSIONS = [*OTHERS, OWN]
