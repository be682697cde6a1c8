# Gets the headers of ONNX Runtime's C API into .cache/onnxruntime/include. Sourced by scripts/setup.sh.
#
# No Python wheel carries them. In this order: ONNXRUNTIME_ROOT, what is in the cache already, a package of the system,
# the package that the machine's own apt offers, the same from a newer release of the same distribution.

ort_include=.cache/onnxruntime/include
ort_header=onnxruntime_c_api.h
ort_api_at_least=21
# Debian 13's libonnxruntime-dev 1.21.0+dfsg-1; headers are the same for every architecture, packages are not.
ort_header_sha256=7783e9664bdb0b1b36145b5c8587dd1bc9a399aa000edf2e3dd03003cafc6882

get_onnxruntime_headers() {
  local folder
  if [ -n "${ONNXRUNTIME_ROOT:-}" ]; then
    for folder in "$ONNXRUNTIME_ROOT"{,/include,/include/onnxruntime,/include/onnxruntime/core/session}; do
      if [ -e "$folder/$ort_header" ]; then
        take_headers "$folder"
        return
      fi
    done
    fail "ONNXRUNTIME_ROOT=$ONNXRUNTIME_ROOT has no $ort_header (nor has its include folder)" \
      "let it name an unpacked release of ONNX Runtime, or unset it"
  fi
  if [ -e "$ort_include/$ort_header" ]; then return; fi
  for folder in /usr/include/onnxruntime /usr/include/onnxruntime/core/session /usr/local/include/onnxruntime \
    /opt/homebrew/include/onnxruntime "${VCPKG_ROOT:-/nowhere}"/installed/*/include/onnxruntime; do
    if [ -e "$folder/$ort_header" ] && [ "$(api_of "$folder")" -ge "$ort_api_at_least" ]; then
      take_headers "$folder"
      return
    fi
  done
  command -v apt-get >/dev/null ||
    fail "there are no ONNX Runtime headers here" \
      "unpack a release of ONNX Runtime (1.$ort_api_at_least or newer) and name it in ONNXRUNTIME_ROOT"
  get_headers_by_apt
}

# Prints the number of the C API that the headers in folder $1 declare.
api_of() { sed -n 's/^#define ORT_API_VERSION \([0-9]*\).*/\1/p' "$1/$ort_header"; }

# Copies the headers of folder $1; onnxruntime_c_api.h last, for its presence says that they are all there.
take_headers() {
  local file api
  api=$(api_of "$1")
  [ "${api:-0}" -ge "$ort_api_at_least" ] ||
    fail "$1/$ort_header is of API ${api:-?}; Graft needs $ort_api_at_least or newer" \
      "give a newer ONNX Runtime in ONNXRUNTIME_ROOT (libraries built with it still run on ONNX Runtime 1.15)"
  cmp -s "$1/$ort_header" "$ort_include/$ort_header" && return
  say "copying the ONNX Runtime headers (API $api)"
  rm -f "$ort_include/$ort_header"
  for file in "$1"/*.h "$1/$ort_header"; do write_whole "$ort_include/${file##*/}" <"$file"; done
}

get_headers_by_apt() {
  local scratch pinned=
  scratch=$(new_scratch)
  mkdir -p "$scratch/package" "$scratch/sources" "$scratch/lists/partial" "$scratch/cache/archives/partial"
  say "getting the ONNX Runtime headers (package libonnxruntime-dev)"
  if ! download_headers_package -q >/dev/null 2>&1; then
    pinned=yes
    make_newer_sources
    local -a private=(
      -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$scratch/sources"
      -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
      -o Dir::State::Lists="$scratch/lists" -o Dir::Cache="$scratch/cache" -o Acquire::Languages=none
    )
    logged apt-get "${private[@]}" update || true  # the download below says whether it was enough
    logged download_headers_package "${private[@]}" ||
      fail "apt could not get libonnxruntime-dev (of $newer_release)" "$headers_by_hand"
  fi
  dpkg-deb -x "$scratch"/package/libonnxruntime-dev_*.deb "$scratch/unpacked" ||
    fail "the package libonnxruntime-dev could not be unpacked" "run scripts/setup.sh again"
  local folder=$scratch/unpacked/usr/include/onnxruntime package
  package=$(cd "$scratch/package" && echo libonnxruntime-dev_*.deb)
  if [ "$pinned" = yes ] && [ "$distribution" = debian ] &&
    [ "$(sha256_of "$folder/$ort_header")" != "$ort_header_sha256" ]; then
    fail "$ort_header of $package is not the pinned one (sha256 $ort_header_sha256)" \
      "the package is newer than this project: put its sha256 into scripts/setup/headers.sh and run the tests, or $headers_by_hand"
  fi
  take_headers "$folder"
}

headers_by_hand="unpack a release of ONNX Runtime and name it: ONNXRUNTIME_ROOT=/path/to/onnxruntime scripts/setup.sh"

# Downloads the package into $scratch/package with the apt options given; needs no root and installs nothing.
download_headers_package() {
  local sandbox=()
  if [ "$(id -u)" -eq 0 ]; then sandbox=(-o APT::Sandbox::User=root); fi
  (cd "$scratch/package" && apt-get "${sandbox[@]}" "$@" download libonnxruntime-dev)
}

# Writes the machine's own package sources, with the suite changed to the newer release, into $scratch/sources.
# Only the main archive is taken: entries for security, updates, backports and other publishers have no such suite.
make_newer_sources() {
  local codename
  distribution=$(os_release ID)
  codename=$(os_release VERSION_CODENAME)
  case $distribution in
    debian) newer_release=trixie ;;
    ubuntu) newer_release=resolute ;;
    *) fail "there is no libonnxruntime-dev for ${distribution:-this system}" "$headers_by_hand" ;;
  esac
  local suites="$codename|stable|oldstable" file found=
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -r "$file" ] || continue
    one_line_sources "$suites" <"$file" >"$scratch/part"
    if [ -s "$scratch/part" ]; then found=yes && cat "$scratch/part" >>"$scratch/sources/graft.list"; fi
  done
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -r "$file" ] || continue
    stanza_sources "$suites" <"$file" >"$scratch/part"
    if [ -s "$scratch/part" ]; then found=yes && cat "$scratch/part" >>"$scratch/sources/graft.sources"; fi
  done
  [ -n "$found" ] ||
    fail "found no entry for $distribution $codename in /etc/apt/sources.list and sources.list.d" "$headers_by_hand"
}

os_release() { sed -n "s/^$1=\"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" /etc/os-release; }

# Filters lines such as "deb [signed-by=/a/key] scheme://host/debian bookworm main": $1 is a pattern of suites.
one_line_sources() {
  awk -v suites="^($1)\$" -v release="$newer_release" '
    $1 == "deb" {
      line = $0
      sub(/#.*/, "", line)
      options = ""
      if (match(line, /\[[^]]*\]/)) { options = substr(line, RSTART, RLENGTH) " "; sub(/\[[^]]*\]/, "", line) }
      count = split(line, word, " ")
      main = 0
      for (i = 4; i <= count; i++) if (word[i] == "main") main = 1
      if (!main || word[3] !~ suites) next
      printf "deb %s%s %s", options, word[2], release
      for (i = 4; i <= count; i++) printf " %s", word[i]
      print ""
    }'
}

# Filters stanzas of "Field: value" lines, the format of .sources files: $1 is a pattern of suites.
stanza_sources() {
  sed '/^#/d' | awk -v suites="^($1)\$" -v release="$newer_release" '
    BEGIN { RS = ""; FS = "\n" }
    {
      wanted = 0; main = 0; off = 0; text = ""
      for (i = 1; i <= NF; i++) {
        line = $i
        field = tolower(line)
        count = split(line, word, " ")
        if (field ~ /^suites:/) {
          for (j = 2; j <= count; j++) if (word[j] ~ suites) wanted = 1
          line = "Suites: " release
        } else if (field ~ /^types:/) {
          line = "Types: deb"
        } else if (field ~ /^components:/) {
          for (j = 2; j <= count; j++) if (word[j] == "main") main = 1
        } else if (field ~ /^enabled: *no/) {
          off = 1
        }
        text = text line "\n"
      }
      if (wanted && main && !off) print text
    }'
}
