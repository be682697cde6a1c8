#!/usr/bin/env bash
# Sets up everything that Graft needs and builds it: packages, .venv, headers, models, build/release.
# Does only what is not done yet; with everything in place it needs no network and takes a few seconds.
#
#   scripts/setup.sh [--no-build]
#
# Environment:
#   GRAFT_JOBS=N               compilers at a time (default: the number of processors)
#   ONNXRUNTIME_ROOT=FOLDER    an unpacked ONNX Runtime whose headers to build with
#   GRAFT_PACKAGES=installed   for systems without apt: the packages are there
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. scripts/setup/common.sh
. scripts/setup/packages.sh
. scripts/setup/python.sh
. scripts/setup/headers.sh
. scripts/setup/models.sh
. scripts/setup/runtimes.sh
. scripts/setup/build.sh

build=yes
for argument in "$@"; do
  case $argument in
    --no-build) build=no ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p;}' "$0" && exit 0 ;;
    *) fail "unknown argument $argument" "scripts/setup.sh --help tells the arguments" ;;
  esac
done

mkdir -p .cache
find .cache -maxdepth 1 -name "scratch.*" -mmin +1440 -exec rm -rf {} +  # of runs that were killed
install_packages
make_python_environment
copy_onnx_schema
get_onnxruntime_headers
get_models
get_runtimes tests
if [ "$build" = yes ]; then build_release; fi
say "ready"
