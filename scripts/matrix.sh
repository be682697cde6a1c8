#!/usr/bin/env bash
# Tests one library on every minor version of ONNX Runtime that this Python can have, from 1.15 on: every ready-made
# operator, every kind of operator of the SDK, and an injected model. Prints a line for each version at the end.
#
#   scripts/matrix.sh [arguments for pytest]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
scripts/setup.sh
. scripts/setup/common.sh
. scripts/setup/python.sh
. scripts/setup/runtimes.sh
get_runtimes matrix
GRAFT_MATRIX=all GRAFT_BUILD=build/release exec "$python" -m pytest tests/matrix "$@"
