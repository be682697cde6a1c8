"""`graft fuse` on every real model at hand, with both engines: regions, nodes, differences, times. Prints a table.

    .venv/bin/python bench/fuse_models.py [--engine portable|compiled] [--threads 1 2] [--seconds 4] [--output DIR] [PATTERN ...]

Each figure is a ratio within one run of the command, which times both models in turn; the interval is that of the median at
95 %. A model in which nothing pays is left as it is, and that is a result.
"""

import argparse
import fnmatch
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tabulate import tabulate

ROOT = Path(__file__).resolve().parent.parent
# Sizes that people run these models at; other inputs get what `graft fuse` finds.
SHAPES = {
    "pp-ocrv4-det": ["x=1,3,736,736"],
    "pp-ocrv4-rec": ["x=6,3,48,320"],
    "pp-ocr-cls": ["x=6,3,48,192"],
    "magika": ["bytes=32,2048"],
    "asr/*": ["waveforms=1,160000", "waveforms_lens=1"],
}


def shapes_of(name, model):
    import onnx

    inputs = {i.name for i in onnx.load(model, load_external_data=False).graph.input}
    found = [s for pattern, shapes in SHAPES.items() if fnmatch.fnmatch(name, pattern) for s in shapes]
    return [s for s in found if s.split("=")[0] in inputs]


def fuse(model, name, engine, threads, seconds, folder):
    output = folder / f"{name.replace('/', '_')}-{engine}-{threads}.onnx"
    command = [ROOT / "build/release/graft", "fuse", model, "-o", output, "--json", "--threads", str(threads), "--seconds", str(seconds),
               "--runtime", ROOT / ".venv"]
    for shape in shapes_of(name, model):
        command += ["--shape", shape]
    if engine == "compiled":
        command.append("--compile")
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return None, done.stderr.strip()
    return json.loads(done.stdout), done.stderr.strip()


def node_times(report):
    sites = [site for kind in report["kinds"] for site in kind["sites"] if site["fused"] and "before_ms" in site]
    return sum(s["before_ms"] for s in sites), sum(s["after_ms"] for s in sites)


def row(name, engine, threads, report, error):
    cells = [name, engine, str(threads)]
    if report is None:
        return [*cells, error[:100]]
    found = sum(len(kind["sites"]) for kind in report["kinds"])
    cells += [f"{report['regions']}/{found}", f"{report['nodes']['before']} -> {report['nodes']['after']}"]
    if not report["regions"]:
        return [*cells, "left as it is"]
    before, after = node_times(report)
    verification, time = report["verification"], report["time"]
    return [*cells, f"{verification['difference']['absolute']:.1e} ({verification['ort_itself']['absolute']:.1e})",
            f"{before:.2f} -> {after:.2f}", f"{time['original']['median_ms']:.2f} -> {time['fused']['median_ms']:.2f}",
            f"{time['speedup']:.2f} ({time['lower']:.2f} to {time['upper']:.2f})"]


HEADS = ["model", "engine", "threads", "regions", "nodes", "largest difference\n(ORT's own)", "regions, ms", "model, ms\nmedian", "speed-up\n(95 %)"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--engine", choices=["portable", "compiled"], nargs="+", default=["portable", "compiled"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--output", type=Path, help="keep the fused models in this folder")
    arguments = parser.parse_args()
    folder = ROOT / ".cache/models"
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        kept = arguments.output or Path(scratch)
        kept.mkdir(parents=True, exist_ok=True)
        for model in sorted(folder.rglob("*.onnx")):
            name = model.relative_to(folder).with_suffix("").as_posix()
            if not any(fnmatch.fnmatch(name, pattern) for pattern in arguments.patterns):
                continue
            for engine in arguments.engine:
                for threads in arguments.threads:
                    print(f"{name}, {engine}, {threads} thread{'s' * (threads > 1)}", file=sys.stderr, flush=True)
                    rows.append(row(name, engine, threads, *fuse(model, name, engine, threads, arguments.seconds, kept)))
    print(tabulate([r + [""] * (len(HEADS) - len(r)) for r in rows], headers=HEADS, disable_numparse=True))
    if any("error" in cell for r in rows for cell in r):
        sys.exit("a model failed")


if __name__ == "__main__":
    main()
