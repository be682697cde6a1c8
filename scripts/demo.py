"""Injects build/release/libgraft_ops.so into PP-OCR models by `graft inject`, and prints one table of its reports."""

import json
import subprocess
import sys
from pathlib import Path

from tabulate import tabulate

# What a user of the models gives them: a page, six lines of text, six lines to turn.
MODELS = {
    "pp-ocrv4-det": "x=1,3,736,736",
    "pp-ocrv4-rec": "x=6,3,48,320",
    "pp-ocr-cls": "x=6,3,48,192",
}
GRAFT = Path("build/release/graft")
LIBRARY = Path("build/release/libgraft_ops.so")
OUTPUT = Path("build/demo")


def inject(model, shape):
    """Runs the command, which compares and times both models, and gives its report."""
    command = [
        GRAFT, "inject", f".cache/models/{model}.onnx", "--library", LIBRARY, "-o", OUTPUT / f"{model}.onnx",
        "--runtime", sys.prefix, "--threads", "1", "--shape", shape, "--json",
    ]  # fmt: skip
    command = list(map(str, command))
    print(f"demo: {' '.join(command[:7])}", file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"demo: error: exit code {done.returncode}: {' '.join(command)}")
    return json.loads(done.stdout)


def row(model, report):
    verification = report["verification"]
    time = verification["time"]
    return {
        "model": model,
        "input": "x".join(map(str, verification["inputs"]["x"])),
        "operator places": ", ".join(f"{o['name']} {o['places']}" for o in report["operators"] if o["places"]),
        "nodes": f"{report['nodes']['before']} -> {report['nodes']['after']}",
        "largest\ndifference": f"{verification['difference']['absolute']:.1e}",
        "original, ms\nbest / median": f"{time['original']['best_ms']:.2f} / {time['original']['median_ms']:.2f}",
        "injected, ms\nbest / median": f"{time['injected']['best_ms']:.2f} / {time['injected']['median_ms']:.2f}",
        "speed-up\nbest / median": f"{time['speedup_best']:.2f}x / {time['speedup']:.2f}x",
        "runs without\nthe library": "yes" if verification["runs_without_library"] else "no",
    }


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    reports = {model: inject(model, shape) for model, shape in MODELS.items()}
    runtime = next(iter(reports.values()))["verification"]["runtime"]
    print(f"\nONNX Runtime {runtime}, all optimisation on, one thread, both models in turn")
    print(tabulate([row(model, report) for model, report in reports.items()], headers="keys", tablefmt="simple"))
    print(f"\nThe injected models are in {OUTPUT}; to load one: register_custom_ops_library({str(LIBRARY)!r})")
    if not all(report["verification"]["runs_without_library"] for report in reports.values()):
        sys.exit("demo: error: a model does not run without the library")


main()
