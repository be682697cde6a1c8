#!/usr/bin/env bash
# Cross builds the SDK and the ready-made operators for 64-bit ARM with Debian's compiler, and runs the SDK's C++ tests
# under qemu-user, then the tests of lifetime in ONNX Runtime for arm64: there the libraries are registered and computed
# with. Says that it works, not how fast: nothing about speed can be seen there.
#
#   scripts/arm64.sh [--clean] [arguments for ctest]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
# shellcheck source=/dev/null
. scripts/setup/common.sh
mkdir -p .cache

build=${GRAFT_ARM64_BUILD:-$root/build/arm64}
toolchain=$root/cmake/toolchains/aarch64-linux-gnu.cmake
if [ "${1:-}" = --clean ]; then
  rm -rf "$build"
  shift
fi

missing=()
command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
[ -e /usr/src/googletest/CMakeLists.txt ] || missing+=(googletest)
if [ "${#missing[@]}" -gt 0 ]; then
  say "installing ${missing[*]}"
  administrator=()
  [ "$(id -u)" = 0 ] || administrator=(sudo)
  logged "${administrator[@]}" apt-get update -q || say "apt-get update failed; trying with the lists that are there"
  logged "${administrator[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" ||
    fail "apt-get could not install ${missing[*]}" "install them, then run this again"
fi

jobs=${GRAFT_JOBS:-$(getconf _NPROCESSORS_ONLN)}

# GoogleTest is built from Debian's sources: its arm64 package would need a second architecture in this machine's apt.
if [ ! -e "$build/googletest/lib/libgtest_main.a" ]; then
  say "building GoogleTest for arm64"
  logged cmake -S /usr/src/googletest -B "$build/googletest-build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
    -DCMAKE_BUILD_TYPE=Release -DBUILD_GMOCK=OFF -DCMAKE_INSTALL_PREFIX="$build/googletest" -DCMAKE_INSTALL_LIBDIR=lib ||
    fail "GoogleTest could not be configured" "see the lines above"
  logged cmake --build "$build/googletest-build" --parallel "$jobs" --target install || fail "GoogleTest could not be built" "see the lines above"
fi

say "building the SDK's tests and the operators for arm64"
logged cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_BUILD_TYPE=Release \
  -DGRAFT_BUILD_COMMAND=OFF -DGRAFT_BUILD_BENCHMARKS=OFF -DGTest_DIR="$build/googletest/lib/cmake/GTest" ||
  fail "the project could not be configured" "see the lines above"
cmake --build "$build" --parallel "$jobs" -- --quiet || fail "the project could not be built for arm64" "see the lines above"

for library in graft_ops sdk_ops; do
  file=$build/lib$library.so
  aarch64-linux-gnu-readelf -h "$file" | grep -q AArch64 || fail "$file is not for arm64" "remove $build and run this again"
  exported=$(aarch64-linux-gnu-nm -D --defined-only "$file" | awk '{ print $3 }' | sort | tr '\n' ' ')
  [ "$exported" = "RegisterCustomOps graft_describe " ] || fail "$file exports: $exported" "look at cmake/exports.map"
done
say "libgraft_ops.so: $(stat -c %s "$build/libgraft_ops.so") bytes, exports the two entry points"

ctest --test-dir "$build" --no-tests=error --output-on-failure --timeout 1200 "$@"

# 1.20.1, since 1.32.0 dies in qemu 7.2 while it is loaded.
python=.venv/bin/python
version=1.20.1
runtime=.cache/onnxruntime-arm64/$version
[ -x "$python" ] || fail "there is no .venv" "run scripts/setup.sh"
if [ ! -e "$runtime/onnxruntime" ]; then
  say "getting ONNX Runtime $version for arm64"
  logged "$python" -m pip install --disable-pip-version-check --progress-bar off --no-deps --only-binary :all: \
    --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 \
    --require-hashes --no-compile --target "$runtime" -r "scripts/setup/runtimes/$version.txt" ||
    fail "pip could not get onnxruntime $version for arm64" "see the lines above"
fi
say "running libraries in ONNX Runtime $version for arm64"
GRAFT_BUILD=$build GRAFT_LIFETIME_ROUNDS=${GRAFT_LIFETIME_ROUNDS:-40} \
  GRAFT_LIFETIME_EMULATOR="qemu-aarch64 -L /usr/aarch64-linux-gnu" GRAFT_LIFETIME_RUNTIME=$runtime/onnxruntime/capi \
  exec "$python" -m pytest tests/lifetime -k test_no_crash
