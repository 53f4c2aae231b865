#!/bin/sh
# Measures stackd beside perf: bench/run.sh [quick|full] [PROGRAM...]; see bench.py.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
[ "$(id -u)" = 0 ] || { echo "bench: needs root, for BPF" >&2; exit 4; }
./deps.sh build bench
make -s all
[ $# -gt 0 ] || set -- full
exec python3 bench/bench.py "$@"
