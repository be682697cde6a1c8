#!/usr/bin/env bash
# Sets up and builds, installs Chromium where there is none, and looks at the page of `graft bench --html` in it: narrow and
# wide, light and dark. The screenshots are left in build/browser.
#
#   scripts/browser.sh [arguments for pytest]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
scripts/setup.sh
# shellcheck source=/dev/null
. scripts/setup/common.sh
. scripts/setup/packages.sh

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
  debian_packages=(chromium)
  install_packages
fi
GRAFT_BUILD=build/release exec .venv/bin/python -m pytest tests/browser/bench_page.py "$@"
