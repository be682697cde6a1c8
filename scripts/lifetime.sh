#!/usr/bin/env bash
# Runs the tests of lifetime (threads, many sessions, unloading, exit) under the address, leak and undefined-behaviour
# sanitizers, in build/asan. The test run has them without sanitizers.
#
#   scripts/lifetime.sh [arguments for pytest]
#
# Environment: GRAFT_LIFETIME_ROUNDS=N   rounds of create, run and destroy (default 500)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh --no-build
cmake --preset asan >/dev/null
cmake --build build/asan --parallel "${GRAFT_JOBS:-$(getconf _NPROCESSORS_ONLN)}" \
  --target lifetime lifetime_double lifetime_triple -- --quiet
GRAFT_BUILD=build/asan exec .venv/bin/python -m pytest tests/lifetime "$@"
