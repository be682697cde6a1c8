#!/usr/bin/env bash
# Sets up and builds, injects the ready-made operators into three OCR models that many people run, and prints what that
# gave. Then lets `graft fuse` find by itself what ONNX Runtime leaves unfused in these and a classifier of files, with
# ready-made operators and with compiled ones, at one thread and two. The models are left in build/demo.
#
#   scripts/demo.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh
.venv/bin/python scripts/demo.py
echo
echo "graft fuse, all that ONNX Runtime leaves unfused (some minutes)"
.venv/bin/python bench/fuse_models.py --threads 1 2 --output build/demo "pp-*" magika
