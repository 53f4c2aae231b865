#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures stackd beside perf: bench/run.sh [quick|full] [PROGRAM...]; see bench.py. Without
# PROGRAM, also runs cost.py, walk.py, report.py, lbr.py, import.py, tags, analysis.py, no_cfi.py,
# forget.sh and alloc_pair; full, also regions.py, waits.py, alloc_cost.py and overhead.py.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
[ "$(id -u)" = 0 ] || { echo "bench: needs root, for BPF" >&2; exit 4; }
./deps.sh build bench
make -s all walk-bench emulator build/bench/recipe_build build/bench/tags build/bench/tag_trie build/bench/tag_collide \
	build/bench/align_speed build/bench/bt build/bench/analysis_agree build/bench/forget build/bench/alloc_pair
[ $# -gt 0 ] || set -- full
status=0
python3 bench/bench.py "$@" || status=1
[ $# -gt 1 ] || python3 bench/cost.py here || status=1
[ $# -gt 1 ] || python3 bench/walk.py "$1" || status=1
[ $# -gt 1 ] || python3 bench/report.py "$1" || status=1
[ $# -gt 1 ] || python3 bench/lbr.py "$1" || status=1
[ $# -gt 1 ] || python3 bench/import.py "$1" || status=1
[ $# -gt 1 ] || python3 bench/tags.py "$1" || status=1
[ $# -gt 1 ] || python3 bench/tag_search.py "$1" || status=1
[ $# -gt 1 ] || python3 bench/align.py "$1" || status=1
[ $# -gt 1 ] || python3 bench/analysis.py || status=1
[ $# -gt 1 ] || python3 bench/no_cfi.py || status=1
[ $# -gt 1 ] || bench/forget.sh "$1" || status=1
[ $# -gt 1 ] || build/bench/alloc_pair || status=1
[ $# -gt 1 ] || [ "$1" = quick ] || python3 bench/regions.py || status=1
[ $# -gt 1 ] || [ "$1" = quick ] || python3 bench/waits.py switch || status=1
[ $# -gt 1 ] || [ "$1" = quick ] || python3 bench/alloc_cost.py attached programs || status=1
[ $# -gt 1 ] || [ "$1" = quick ] || python3 bench/overhead.py || status=1
exit $status
