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


def pair(first, second, unit=""):
    return " / ".join(f"{value:.{1 if value >= 100 else 2}f}{unit}" for value in (first, second))


def row(model, report):
    places = [f"{o['name'].rpartition(':')[2]} {o['places']}" for o in report["operators"] if o["places"]]
    verification = report["verification"]
    time = verification["time"]
    return {
        "model": model,
        "places": "\n".join(places),
        "nodes": f"{report['nodes']['before']} -> {report['nodes']['after']}",
        "largest\ndifference": f"{verification['difference']['absolute']:.2g}",
        "original, ms\nbest / median": pair(time["original"]["best_ms"], time["original"]["median_ms"]),
        "injected, ms\nbest / median": pair(time["injected"]["best_ms"], time["injected"]["median_ms"]),
        "speed-up\nbest / median": pair(time["speedup_best"], time["speedup"], "x"),
        "without\nlibrary": "runs" if verification["runs_without_library"] else "FAILS",
    }


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    reports = {model: inject(model, shape) for model, shape in MODELS.items()}
    runtime = next(iter(reports.values()))["verification"]["runtime"]
    print(f"\nONNX Runtime {runtime}, all optimisation on, one thread, both models in turn")
    print(f"inputs: {', '.join(f'{model} {shape}' for model, shape in MODELS.items())}\n")
    rows = [row(model, report) for model, report in reports.items()]
    print(tabulate(rows, headers="keys", disable_numparse=True))
    print(f"\nThe injected models are in {OUTPUT}, the operators in {LIBRARY}.")
    if not all(report["verification"]["runs_without_library"] for report in reports.values()):
        sys.exit("demo: error: a model does not run without the library")


main()
