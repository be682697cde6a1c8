#!/usr/bin/env bash
# Builds the fuzz targets with clang's libFuzzer and the sanitizers, and runs each for a time: the reader of models, the
# reader of definitions, and the matcher with everything behind it. Stops with an error at the first finding, which lies
# in build/fuzz/findings.
#
#   scripts/fuzz.sh [SECONDS]      for each target, 20 without
#   scripts/fuzz.sh --runs N       N inputs for each target: for the tests
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
if [ "${1:-}" = --runs ]; then
  bound=(-runs="$2" -seed=1)
else
  bound=(-max_total_time="${1:-20}")
fi
. scripts/setup/common.sh
. scripts/setup/packages.sh
mkdir -p .cache
if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null; then
  debian_packages=(clang libclang-rt-dev)
  install_packages
fi
mkdir -p build
[ -f build/fuzz/CMakeCache.txt ] || cmake --preset fuzz >build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }
cmake --build build/fuzz --target fuzz_model fuzz_definition fuzz_inject >build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }

# The seeds: every model of the cases, and every definition that the project has.
seeds=build/fuzz/seeds
mkdir -p "$seeds/model" "$seeds/definition" build/fuzz/findings
cp -n tests/cases/models/*.onnx "$seeds/model"
cp -n tests/foreign/*.def "$seeds/definition"
grep -ho 'y = [^"]*' tests/rewrite/*.cc tests/cases/*.cc | split -l 1 -d -a 4 - "$seeds/definition/text-"
for target in model inject definition; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  of=$([ "$target" = definition ] && echo definition || echo model)
  echo "fuzz_$target ${bound[*]}"
  build/fuzz/tests/fuzz/fuzz_$target "${bound[@]}" -max_len=20000 -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="build/fuzz/findings/$target-" -print_final_stats=1 "$corpus" "$seeds/$of" 2>&1 |
    grep -E 'SUMMARY|ERROR|stat::number_of|stat::new_units|Test unit|does not hold|DONE|#[0-9]+ 0x' || true
  [ -z "$(ls build/fuzz/findings)" ] || { echo "findings: $(ls build/fuzz/findings)"; exit 1; }
done
