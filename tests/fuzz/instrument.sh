#!/usr/bin/env bash
# A RUSTC_WRAPPER: the library and the targets count their branches for libFuzzer, their dependencies do not.
set -euo pipefail

rustc=$1
shift
case "${CARGO_PKG_NAME:-}" in
cotenant | cotenant-fuzz)
    exec "$rustc" "$@" \
        -Cpasses=sancov-module \
        -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
        -Cllvm-args=-sanitizer-coverage-pc-table \
        -Cllvm-args=-sanitizer-coverage-trace-compares \
        --cfg fuzzing
    ;;
*)
    exec "$rustc" "$@"
    ;;
esac
