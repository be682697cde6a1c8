# Configures and builds build/release. Sourced by scripts/setup.sh.

build_release() {
  local version major minor
  version=$(cmake --version | sed -n 's/^cmake version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  read -r major minor <<<"$version"
  if [ "$major" -lt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -lt 25 ]; }; then
    fail "cmake $major.$minor is too old" "Graft needs 3.25 or newer: Debian 12, Ubuntu 24.04, or put a newer cmake first on PATH"
  fi

  # ninja runs cmake again by itself when a CMake file changed, but not when the whole folder was moved.
  if [ ! -e build/release/build.ninja ] || ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" build/release/CMakeCache.txt; then
    say "configuring build/release"
    logged cmake --fresh --preset release || fail "cmake could not configure build/release" "see the lines above"
  fi
  # On a terminal ninja shows one line that moves; elsewhere only what the compiler has to say.
  local quiet=()
  [ -t 1 ] || quiet=(--quiet)
  if ! cmake --build build/release -- -n 2>/dev/null | grep -q 'no work to do'; then say "building build/release"; fi
  cmake --build build/release --parallel "${GRAFT_JOBS:-$(getconf _NPROCESSORS_ONLN)}" -- "${quiet[@]}" >&2 ||
    fail "the build failed" "see the compiler's lines above"
}
