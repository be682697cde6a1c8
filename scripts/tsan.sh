#!/usr/bin/env bash
# Runs what uses threads under ThreadSanitizer, in build/tsan: the SDK's tests, the tests of lifetime (sessions that register,
# run and end in many threads, one session that runs in several), and the operators' tests with several threads. A library
# whose operators race is run last and must be found out, or the run above says nothing.
#
#   scripts/tsan.sh [arguments for pytest]
#
# Environment: GRAFT_LIFETIME_ROUNDS=N   rounds of create, run and destroy (default 60)
#
# ONNX Runtime, glibc and Python are not built with ThreadSanitizer, so it does not see how they order things:
# - ignore_noninstrumented_modules: what they do among themselves is not reported, nor what a library's destructors do when the
#   last thread that held it unloads it, since glibc's loader counts holders under a lock of its own;
# - how a caller's threads hand blocks of work over is told to it in include/graft/pool.h. Races within blocks are found.
# Nothing else is suppressed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh --no-build
cmake --preset tsan >/dev/null
cmake --build build/tsan --parallel "${GRAFT_JOBS:-$(getconf _NPROCESSORS_ONLN)}" \
  --target lifetime lifetime_double lifetime_triple sdk_tests sdk_ops graft_ops check_faulty -- --quiet
export TSAN_OPTIONS="history_size=4 ignore_noninstrumented_modules=1" GRAFT_BUILD=build/tsan
export GRAFT_LIFETIME_ROUNDS="${GRAFT_LIFETIME_ROUNDS:-60}"
# The older runtimes of ThreadSanitizer want to know where memory begins, so addresses are not drawn by chance.
fixed=(setarch "$(uname -m)" -R)

"${fixed[@]}" build/tsan/tests/sdk/sdk_tests --gtest_brief=1
"${fixed[@]}" .venv/bin/python -m pytest tests/lifetime "$@"
# Python is not built with ThreadSanitizer: hence the preload.
libtsan=$(g++ -print-file-name=libtsan.so)
threaded="thread or pool or concurrent or broadcast"
LD_PRELOAD=$libtsan "${fixed[@]}" .venv/bin/python -m pytest tests/sdk tests/ops -k "$threaded" "$@"

echo "a library that races:"
log=build/tsan/race.log
if LD_PRELOAD=$libtsan "${fixed[@]}" .venv/bin/python tests/lifetime/race.py build/tsan/libcheck_faulty.so >"$log" 2>&1; then
  echo "the race in libcheck_faulty.so was not found" && exit 1
fi
grep -q "data race.*faulty_ops" "$log" || { cat "$log" && exit 1; }
grep -m 1 "data race.*faulty_ops" "$log"
