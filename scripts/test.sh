#!/usr/bin/env bash
# Sets up and builds, then runs all tests: the fuzz targets on a few thousand inputs, those of C++ (ctest), then those of the
# command and the operators (pytest).
#
#   scripts/test.sh [arguments for pytest]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh

status=0
scripts/fuzz.sh --runs 5000 || status=1
ctest --test-dir build/release --no-tests=error --output-on-failure --timeout 300 -j2 || status=1
GRAFT_BUILD=build/release .venv/bin/python -m pytest -n 2 --dist worksteal "$@" || status=1
exit "$status"
