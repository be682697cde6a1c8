"""Runs an operator whose blocks share a buffer, over two threads: ThreadSanitizer must say so (scripts/tsan.sh)."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import ort  # noqa: E402

model = ort.one_node("TwiceInBlocks", "faulty", [("float", ["n"])])
session = ort.session(model, sys.argv[1], threads=2)
for _ in range(20):
    session.run(None, {"x0": np.ones(100_000, np.float32)})
