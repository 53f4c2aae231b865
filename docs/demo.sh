#!/bin/sh
# SPDX-License-Identifier: MIT
# `make demo`: records a real program, the C++ compiler at work on a file full of templates, and
# shows where its time went, call paths and all. Works in a clean clone, as root; what it makes
# stays below build/ and its store is removed at the end.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
[ "$(id -u)" = 0 ] || { echo "demo: needs root, for BPF: sudo make demo" >&2; exit 4; }

./deps.sh build
make -s -j"$(nproc)" all
demo=build/demo
store=$demo/store.db
rm -rf "$demo"
mkdir -p "$demo"
trap 'rm -rf "$demo"' EXIT
trap 'exit 130' INT TERM

show() {
    printf '\n\033[1m$ %s\033[0m\n' "$*"
    "$@"
}
show build/stackd -o "$store" -- g++ -O2 -std=c++17 -c bench/templates.cc -o "$demo/templates.o"
printf "\n\033[1m$ %s\033[0m\n" "build/stackctl report -i $store --percent-limit 5"
build/stackctl report -i "$store" --percent-limit 5 >"$demo/report"
head -n 70 "$demo/report" | cut -c 1-150
lines=$(wc -l <"$demo/report")
[ "$lines" -le 70 ] || echo "... $((lines - 70)) more lines"
printf '\n\033[1m$ %s\033[0m\n' "build/stackctl stats --json -i $store"
build/stackctl stats --json -i "$store"
