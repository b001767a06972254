#!/usr/bin/env bash
# Runs a target for so many seconds from its seeds and what was found before: ./run.sh TARGET [SECONDS] [OPTION...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=$1
seconds=${2:-60}
shift $(($# > 1 ? 2 : 1))

corpus=$here/corpus/$name
artifacts=$here/artifacts/$name
mkdir -p "$corpus" "$artifacts"
if [ -z "$(ls "$corpus")" ]; then "$here/seeds.sh" "$name" "$corpus"; fi

# Recordings are written and read again and again: in memory, where the system has such a folder.
place=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")")
trap 'rm -rf "$place"' EXIT
TMPDIR=$place RAYON_NUM_THREADS=1 "${CARGO_TARGET_DIR:-$here/target}/debug/$name" "$corpus" \
    -artifact_prefix="$artifacts/" -max_total_time="$seconds" -max_len=20000 \
    -rss_limit_mb=2048 -timeout="${TIMEOUT:-20}" -print_final_stats=1 "$@"
