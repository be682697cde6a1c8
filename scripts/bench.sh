#!/usr/bin/env bash
# Sets up, builds the benchmarks and runs them: ratios against ONNX Runtime's own kernels, with their spread. Wants a quiet
# machine; a few minutes.
#
#   scripts/bench.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh
cmake --build build/release --target bench_hard_swish bench_kernels bench_fused bench_overhead >&2
build/release/bench_hard_swish build/release/libgraft_ops.so .venv
echo
build/release/bench_kernels build/release/libbench_ops.so .venv
echo
build/release/bench_fused build/release/libgraft_ops.so build/release/libbench_ops.so .venv
echo
build/release/bench_overhead build/release .venv
