#!/usr/bin/env bash
# Fuses models made at random, some 2,000 graphs with the portable engine and some with the compiled one, compares what they
# compute with the originals and with float64, and prints the figures. Stops at nothing: every failure is printed with its seed.
#
#   scripts/fuse_property.sh [MODELS [COMPILED [FIRST]]]
#
# MODELS (650) of about three graphs each; COMPILED (25) of twenty graphs each, a minute or so each; seeds from FIRST (10000) on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -x build/release/graft ] || scripts/setup.sh
models=${1:-650} compiled=${2:-25} first=${3:-10000}
figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
export GRAFT_BUILD=build/release GRAFT_FIGURES="$figures"
status=0
run() {
  .venv/bin/python -m pytest -n 2 --dist worksteal -q -p no:cacheprovider tests/fuse/test_property.py "$@" || status=1
}
[ "$models" = 0 ] || GRAFT_SEED=$first-$((first + models - 1)) run -k test_portable
[ "$compiled" = 0 ] || GRAFT_GRAPHS=20 GRAFT_SEED=$first-$((first + compiled - 1)) run -k test_compiled
.venv/bin/python - "$figures" <<'PYTHON'
import collections, json, sys
sums = {}
for line in open(sys.argv[1], encoding="utf-8"):
    figures = json.loads(line)
    for name, value in figures.items():
        if name not in ("engine", "deviations"):
            sums.setdefault(figures["engine"], collections.Counter())[name] += value
    sums[figures["engine"]].update({"deviation: " + k: v for k, v in figures["deviations"].items()})
for engine, counts in sums.items():
    print(engine + ": " + ", ".join(f"{name} {count:,}" for name, count in counts.items()))
PYTHON
exit "$status"
