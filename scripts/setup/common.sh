# Words and small steps that the parts of setup share. Sourced with the project's folder, $root, as working folder.

settings=scripts/setup

say() { echo "setup: $*" >&2; }

# Says what failed ($1) and what to do ($2), and ends the script.
fail() {
  echo "setup: error: $1" >&2
  echo "setup: what to do: $2" >&2
  exit 1
}

sha256=(sha256sum)
command -v sha256sum >/dev/null || sha256=(shasum -a 256)
sha256_of() { "${sha256[@]}" "$1" | cut -d ' ' -f 1; }

# Runs a command that talks much: its last lines are shown only when it fails.
logged() {
  local log status=0
  log=$(mktemp "$root/.cache/scratch.$$.XXXXXX")
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ]; then tail -n 30 "$log" | cut -c 1-200 | sed 's/^/setup:   /' >&2; fi
  rm -f "$log"
  return "$status"
}

# Writes standard input to file $1, which appears whole or not at all.
write_whole() {
  mkdir -p "$(dirname "$1")"
  cat >"$1.part"
  mv -f "$1.part" "$1"
}

# Prints a new folder inside .cache; removed when the script ends.
new_scratch() { mktemp -d "$root/.cache/scratch.$$.XXXXXX"; }
trap 'rm -rf "$root/.cache/scratch.$$."*' EXIT
