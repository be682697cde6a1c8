#!/usr/bin/env bash
# Sets up and builds, injects the ready-made operators into three OCR models that many people run, and prints what that
# gave: one table. The injected models are left in build/demo.
#
#   scripts/demo.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh
exec .venv/bin/python scripts/demo.py
