#!/bin/sh
# SPDX-License-Identifier: MIT
# `make demo`: records a real program, the C++ compiler at work on a file full of templates, and
# shows where its time went, call paths and all. Works in a clean clone, as root, with or without
# sudo; what it makes, the recording too, stays below build/demo. `demo.sh --built` takes what is
# built as it is.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
build=${B:-build}
if [ "$(id -u)" != 0 ]; then
    echo "demo: needs root, for BPF: run it as root, or by sudo" >&2
    exit 4
fi

if [ "${1:-}" != --built ]; then
    make -s deps
    make -s -j"$(nproc)" B="$build" all
fi
demo=$build/demo
store=$demo/store.db
rm -rf "$demo"
mkdir -p "$demo"
trap 'exit 130' INT TERM

# If g++ is ccache, the cache is disabled, so that the compiler runs.
export CCACHE_DISABLE=1
show() {
    printf '\n\033[1m$ %s\033[0m\n' "$*"
    "$@"
}
show "$build/stackd" -o "$store" -- g++ -O2 -std=c++17 -c bench/templates.cc -o "$demo/templates.o"
printf "\n\033[1m$ %s\033[0m\n" "$build/stackctl report -i $store --percent-limit 5"
"$build/stackctl" report -i "$store" --percent-limit 5 >"$demo/report"
head -n 70 "$demo/report" | cut -c 1-150
lines=$(wc -l <"$demo/report")
[ "$lines" -le 70 ] || echo "... $((lines - 70)) more lines"
printf '\n\033[1m$ %s\033[0m\n' "$build/stackctl stats --json -i $store"
"$build/stackctl" stats --json -i "$store"
# Under sudo, the files are given to the user.
[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$build"
cat <<END

The recording is kept. Try, in $PWD:

    $build/stackctl report -i $store --view flat
    $build/stackctl flamegraph -i $store -o $demo/flamegraph.html
    $build/stackctl timeline -i $store
END
