# Makes .venv from requirements.txt, and takes the ONNX schema from it. Sourced by scripts/setup.sh.

python=.venv/bin/python

make_python_environment() {
  command -v python3 >/dev/null || fail "there is no python3 on PATH" "install Python 3.9 or newer"
  local wanted stamp=.venv/.graft-requirements
  # The interpreter counts too: another Python needs other wheels.
  wanted=$(sha256_of requirements.txt)
  if [ -e "$stamp" ] && [ "$(<"$stamp")" = "$wanted" ] && "$python" -c 'import sys' 2>/dev/null; then return; fi

  # An active .venv of this folder would be asked to replace itself.
  local base
  base=$(python3 -c 'import sys; print(getattr(sys, "_base_executable", None) or sys.executable)')
  case $base in "$root"/.venv/*) base=/usr/bin/python3 ;; esac
  "$base" -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
    fail "$base is $("$base" -V 2>&1)" "put Python 3.9 or newer first on PATH"

  say "making .venv with $("$base" -V 2>&1)"
  rm -f "$stamp"
  logged "$base" -m venv --clear .venv ||
    fail "python could not make .venv" "on Debian and Ubuntu: apt-get install python3-venv"
  logged "$python" -m pip install -q --disable-pip-version-check --progress-bar off -r requirements.txt ||
    fail "pip could not install requirements.txt into .venv" "see the lines above; a retry continues from pip's cache"
  write_whole "$stamp" <<<"$wanted"
}

copy_onnx_schema() {
  local source schema=.cache/onnx/onnx-ml.proto
  source=$(compgen -G '.venv/lib*/python3*/site-packages/onnx/onnx-ml.proto' | head -n 1) || true
  [ -n "$source" ] || fail "the onnx package in .venv has no onnx-ml.proto" "remove .venv and run scripts/setup.sh again"
  cmp -s "$source" "$schema" && return
  say "copying $schema from the onnx package"
  write_whole "$schema" <"$source"
}
