#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a tarball of the sources: packaging/dist.sh BUILD-FOLDER VERSION
#
# The tarball includes the compiled BPF program, bpf/prebuilt/stackd.skel.h, and checksums of its
# sources. While those are unchanged, everything is built without clang and bpftool, and stackd loads
# the same program on every distribution.
set -eu
cd "$(dirname "$0")/.."
build=$1 name=stackd-$2
stage=$build/dist/$name
epoch=${SOURCE_DATE_EPOCH:-$(date -r CHANGELOG.md +%s)}

make -s B="$build" "$build/gen/stackd.skel.h"
rm -rf "$build/dist" "$build"/stackd-*.tar.gz
mkdir -p "$stage/bpf/prebuilt"
packaging/sources.sh | tar -c -T - | tar -x --no-same-owner -C "$stage"
cp "$build/gen/stackd.skel.h" "$stage/bpf/prebuilt/"
(cd "$stage" && sha256sum bpf/*.[ch] arch/*.h arch/*/*.h >bpf/prebuilt/sources)
tar -c --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$epoch" \
    -C "$build/dist" "$name" | gzip -9n >"$build/$name.tar.gz"
rm -rf "$build/dist"
echo "$build/$name.tar.gz"
