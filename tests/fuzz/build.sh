#!/usr/bin/env bash
# Builds the fuzz targets with a stable compiler: all of them, or those that are named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

targets=()
for name in "$@"; do
    targets+=(--bin "$name")
done
RUSTC_WRAPPER="$PWD/instrument.sh" cargo build --locked "${targets[@]}"
