# Gets other versions of ONNX Runtime into .cache/onnxruntime/<version>, laid out as pip does. Sourced by scripts/setup.sh
# and scripts/matrix.sh.

# Gets the versions that runtimes/versions.txt lists for this Python: those for $1, "tests" or "matrix".
get_runtimes() {
  local own listed version
  own=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  listed=$(awk -v own="$own" '$1 == own { $1 = ""; print }' "$settings/runtimes/versions.txt")
  [ -n "$listed" ] || fail "no other versions of ONNX Runtime are known for Python $own" \
    "use Python 3.9 to 3.14, or add a line to scripts/setup/runtimes/versions.txt"
  case $1 in tests) listed=${listed%%|*} ;; matrix) listed=${listed/|/} ;; esac
  for version in $listed; do get_runtime "$version" "$own"; done
}

# Gets version $1 for Python $2. The file that says so is written last, and names the wheels that were asked for.
get_runtime() {
  local folder=.cache/onnxruntime/$1 wanted scratch
  wanted="Python $2, $(sha256_of "$settings/runtimes/$1.txt")"
  if [ -e "$folder/graft-made-for" ] && [ "$(<"$folder/graft-made-for")" = "$wanted" ]; then return; fi
  say "getting ONNX Runtime $1"
  scratch=$(new_scratch)
  logged "$python" -m pip install --disable-pip-version-check --progress-bar off --no-deps --only-binary :all: \
    --require-hashes --no-compile --target "$scratch/tree" -r "$settings/runtimes/$1.txt" ||
    fail "pip could not get onnxruntime $1 for Python $2" "see the lines above; run it again, it keeps what it has"
  echo "$wanted" >"$scratch/tree/graft-made-for"
  rm -rf "$folder"
  mkdir -p .cache/onnxruntime
  mv "$scratch/tree" "$folder"
  rm -rf "$scratch"
}
