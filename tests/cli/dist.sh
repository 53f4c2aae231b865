#!/bin/bash
# SPDX-License-Identifier: MIT
# make dist: the tarball builds a stackd that records, without clang and bpftool; its prebuilt
# program is not used for other sources than its own.
# shellcheck disable=SC1091,SC2154,SC2016 # set by tests/cli/common; expanded by the shell of a test
. "$(dirname "$0")/common"

build=$(dirname "$(realpath "$stackctl")")
busy='i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
none=(CLANG=/nonexistent/clang BPFTOOL=/nonexistent/bpftool)
mkdir -p "$tmp/b"
cp -a "$build/gen" "$tmp/b/"

expect 0 make -s dist B="$tmp/b"
tarball=$(echo "$tmp"/b/stackd-*.tar.gz)
expect 0 tar -xzf "$tarball" -C "$tmp"
tree=$(echo "$tmp"/stackd-*/)
[ -e "$tree/bpf/prebuilt/stackd.skel.h" ] || fail "no skeleton in $tarball"
[ ! -e "$tree/build" ] || fail "what was built is in $tarball"
sum=$(sha256sum <"$tarball")
expect 0 make -s dist B="$tmp/b"
[ "$sum" = "$(sha256sum <"$tarball")" ] || fail "two tarballs of the same sources differ"

# Only objects that do not depend on the BPF program are copied from the existing build.
mkdir "$tree/build"
cp -a "$build"/{lib,libstackd.a} "$tree/build/"
mkdir "$tree/build/gen"
cp -a "$build"/gen/{pprof,flamegraph}* "$tree/build/gen/"
find "$tree" -path "$tree/build" -prune -o -type f -exec touch -d 2001-01-01 {} +
expect 0 make -s -j2 -C "$tree" DEBUG=1 "${none[@]}" build/stackd
cmp -s "$tree/build/gen/stackd.skel.h" "$tree/bpf/prebuilt/stackd.skel.h" ||
    fail "another program than the one that came was built in"
expect 0 "$tree/build/stackd" --version
if [ "$(id -u)" = 0 ] && "$build/stackd" -o "$tmp/first.db" -- sh -c "$busy" 2>/dev/null; then
    expect 0 "$tree/build/stackd" -o "$tmp/store.db" -- sh -c "$busy"
    expect 0 "$stackctl" report -i "$tmp/store.db" --view flat
    shows '% complete'
fi

# It is installed without them, too (the rest of what is installed depends on no program).
expect 0 make -n -C "$tree" "${none[@]}" install DESTDIR="$tmp/root"
grep -q /nonexistent "$tmp/out" && fail "make install wants clang or bpftool"

# Changed sources need a compiler.
echo '/* changed */' >>"$tree/bpf/walk.h"
expect 0 make -n -C "$tree" "${none[@]}" build/stackd
shows /nonexistent/clang
finish
