# Gets the compilers and libraries that the build needs. Sourced by scripts/setup.sh.

debian_packages=(
  g++ cmake ninja-build
  protobuf-compiler libprotobuf-dev zlib1g-dev libfmt-dev libcli11-dev nlohmann-json3-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  ca-certificates
)

install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    if [ "${GRAFT_PACKAGES:-}" = installed ]; then return; fi
    name_packages_elsewhere
    exit 1
  fi

  local wanted=("${debian_packages[@]}") missing=() package
  # Any Python that can make virtual environments will do; Debian's own needs a package for that.
  python3 -c 'import ensurepip, venv' 2>/dev/null || wanted+=(python3 python3-venv)
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
  for package in "${wanted[@]}"; do
    grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "these packages are missing: ${missing[*]}" "install them as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  logged "${apt[@]}" update ||
    say "apt-get update failed (last lines above); trying with the lists that are there"
  logged "${apt[@]}" install -y --no-install-recommends "${missing[@]}" ||
    fail "apt-get could not install ${missing[*]}" \
      "see the lines above; Debian 12 or newer and Ubuntu 24.04 or newer have all of them (Ubuntu: in 'universe')"
}

name_packages_elsewhere() {
  cat >&2 <<'TEXT'
setup: this system has no apt. Install these packages first:

  Fedora   dnf install gcc-c++ cmake ninja-build protobuf-compiler protobuf-devel protobuf-static zlib-devel fmt-devel \
               cli11-devel json-devel gtest-devel gmock-devel google-benchmark-devel onnxruntime-devel python3
  macOS    brew install cmake ninja protobuf zlib fmt cli11 nlohmann-json googletest google-benchmark onnxruntime python
  vcpkg    vcpkg install protobuf zlib fmt cli11 nlohmann-json gtest benchmark onnxruntime
           (and cmake, ninja, python 3.9 or newer and a C++20 compiler)

Then run it again as: GRAFT_PACKAGES=installed scripts/setup.sh
Where the ONNX Runtime headers are in an unusual place, name it: ONNXRUNTIME_ROOT=/path/to/onnxruntime
TEXT
}
