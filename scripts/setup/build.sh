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
    if ! logged cmake --fresh --preset release; then
      rm -f build/release/build.ninja
      fail "cmake could not configure build/release" "see the lines above"
    fi
  fi
  say "building build/release (minutes the first time, a second when nothing changed)"
  local jobs=${GRAFT_JOBS:-$(getconf _NPROCESSORS_ONLN)}
  local compile=(cmake --build build/release --parallel "$jobs" --)
  # On a terminal ninja shows one line that moves; elsewhere only what the compiler has to say.
  if [ -t 2 ]; then
    "${compile[@]}" >&2
  else
    "${compile[@]}" --quiet 2>&1 | { grep -v '^ninja: no work to do' || true; } >&2
  fi || fail "the build failed" "see the compiler's lines above"
}
