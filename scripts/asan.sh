#!/usr/bin/env bash
# Builds everything under the address and undefined-behaviour sanitizers, in build/asan, and runs every test there: ctest, then
# pytest. The first build takes long, the operators' loops above all.
#
#   scripts/asan.sh [arguments for pytest]
#
# Environment: GRAFT_JOBS=N   compilers and tests at a time (default: the number of processors)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${GRAFT_JOBS:-$(getconf _NPROCESSORS_ONLN)}
scripts/setup.sh --no-build
cmake --preset asan >/dev/null
cmake --build build/asan --parallel "$jobs" -- --quiet

status=0
# Leaks are looked for by scripts/lifetime.sh: ONNX Runtime and Python leave memory to the end of the process.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
ctest --test-dir build/asan --no-tests=error --output-on-failure --timeout 900 -j "$jobs" || status=1
# Python is not built with the sanitizers, and loads libraries that are: hence the preload.
preload="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)"
LD_PRELOAD=$preload GRAFT_BUILD=build/asan .venv/bin/python -m pytest -n "$jobs" --dist worksteal "$@" || status=1
exit "$status"
